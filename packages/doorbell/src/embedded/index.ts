// Entry point `doorbell-jobs/embedded`: a real Postgres for demo, development, tests and benchmarks.
export { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from "./server.ts";
