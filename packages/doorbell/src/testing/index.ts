// Entry point `doorbell-jobs/testing`: a database for a test, and queues as they are on bad days.
export { createTestDatabase, type TestDatabase } from "./database.ts";
export { type UnreliableQueueOptions, unreliableQueue } from "./unreliable-queue.ts";
