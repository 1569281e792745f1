// Every setting there is: its names, its default and the reason for it. The command line, the resolving and docs/settings.md
// are made from this table, so a setting that is not here does not exist.
import type { Role } from "../app.ts";
import { objectSchemes } from "../objects/open.ts";
import { queueSchemes } from "../queue/open.ts";
import type { Environment, Settings } from "./settings.ts";
import {
  asLanes,
  asPooler,
  asPort,
  asPostgresUrl,
  asQueueUrl,
  asRoleNames,
  asSecret,
  asSecrets,
  asSwitch,
  asText,
  durationOf,
  oneOf,
  type Parse,
  urlOf,
  wholeNumber,
} from "./values.ts";

export interface Setting<Value> {
  readonly env: string;
  /** The option of `doorbell start`. Null: none, since a command line is seen by everyone on the machine. */
  readonly flag: string | null;
  /** What is to be written. */
  readonly unit: string;
  /** As it would be written; by environment or by role where it differs. Null: none, and the value is null. */
  readonly default: string | null | Readonly<Record<Environment, string>> | Readonly<Record<Role, string>>;
  readonly meaning: string;
  /** Why this default. */
  readonly reason: string;
  readonly parse: Parse<NonNullable<Value>>;
}

export const settingsTable: { readonly [Name in keyof Settings]: Setting<Settings[Name]> } = {
  environment: {
    env: "DOORBELL_ENV",
    flag: null,
    unit: "production or development",
    default: { production: "production", development: "development" },
    meaning:
      "What is at stake. Production refuses toys and roles that row-level security does not bind; development warns of them.",
    reason:
      "Without it NODE_ENV decides (only `development` and `test` are not production). With neither, a database that is not on loopback counts as production: a forgotten variable must not switch the checks off.",
    parse: oneOf("production", "development"),
  },
  role: {
    env: "DOORBELL_ROLE",
    flag: "--role",
    unit: "web, worker or all",
    default: "all",
    meaning: "What this process does: serve HTTP, run handlers, or both. Maintenance runs in each.",
    reason: "One process is the whole system until there is a reason for two.",
    parse: oneOf("web", "worker", "all"),
  },
  app: {
    env: "DOORBELL_APP",
    flag: "--app",
    unit: "file",
    default: null,
    meaning: "The module that exports `app`, made with defineApp. TypeScript where Node can load it.",
    reason:
      "Without it `doorbell.config.ts`, `.js` or `.mjs` in the working directory is taken. Role web can do without an application.",
    parse: asText,
  },
  appVersion: {
    env: "DOORBELL_APP_VERSION",
    flag: null,
    unit: "text",
    default: null,
    meaning: "Which version of the application runs here; wins over `defineApp({ version })`. Dead letters tell it.",
    reason: "Whoever looks at a failure asks first whether the code that failed is still the code that runs.",
    parse: asText,
  },
  databaseUrl: {
    env: "DATABASE_URL",
    flag: null,
    unit: "postgres: URL",
    default: null,
    meaning: "The database, and the login of this process: a member of doorbell_web, doorbell_worker or both.",
    reason: "Development brings its own server (`.doorbell/postgres`); production refuses to start without it.",
    parse: asPostgresUrl,
  },
  directDatabaseUrl: {
    env: "DATABASE_DIRECT_URL",
    flag: null,
    unit: "postgres: URL",
    default: null,
    meaning: "The same database with no pooler before it, for LISTEN.",
    reason: "Without it LISTEN is tried on DATABASE_URL; where a pooler swallows it, workers poll every 100 ms.",
    parse: asPostgresUrl,
  },
  databaseAllowPlaintext: {
    env: "DOORBELL_DATABASE_ALLOW_PLAINTEXT",
    flag: null,
    unit: "1 or 0",
    default: "0",
    meaning: "Lets connections to the database leave this machine without TLS. Without it production refuses that.",
    reason: "Rows of all tenants travel on them; set it only where nobody else is on the network.",
    parse: asSwitch,
  },
  pooler: {
    env: "DOORBELL_POOLER",
    flag: null,
    unit: "name and version: pgbouncer-1.25.2",
    default: null,
    meaning: "What stands before Postgres in DATABASE_URL. A PgBouncer older than 1.25.2 is refused in production.",
    reason: "A pooler cannot be asked through itself. Where there is one and this is not set, a warning is given.",
    parse: asPooler,
  },
  queueUrl: {
    env: "DOORBELL_QUEUE",
    flag: "--queue",
    unit: `a URL: ${queueSchemes.map((scheme) => `${scheme}:`).join(", ")}`,
    default: "postgres:",
    meaning:
      "What carries doorbells; docs/queues tells of each. `memory:` dies with the process, and production refuses it. A URL with a password belongs in the variable.",
    reason: "One dependency less: the line is in the database already.",
    parse: asQueueUrl,
  },
  objectsUrl: {
    env: "DOORBELL_OBJECTS",
    flag: "--objects",
    unit: "file:DIR, s3://BUCKET/PREFIX or memory:",
    default: { production: "memory:", development: "file:./.doorbell/objects" },
    meaning:
      "Where the inputs of jobs are kept; docs/objects tells which to choose. Every process must see the same place.",
    reason:
      "Production has to name one: `memory:` is refused there, and a directory of our choice would be lost with the container.",
    parse: urlOf(...objectSchemes),
  },
  port: {
    env: "DOORBELL_PORT",
    flag: "--port",
    unit: "port",
    default: { web: "3000", worker: "3001", all: "3000" },
    meaning:
      "Where HTTP is served: the application's, and /healthz, /readyz, /metrics. 0 is a free one; the log says which.",
    reason: "Workers are asked for their health too. Their port differs, so that one of each starts on one machine.",
    parse: asPort,
  },
  host: {
    env: "DOORBELL_HOST",
    flag: "--host",
    unit: "address",
    default: { production: "0.0.0.0", development: "127.0.0.1" },
    meaning: "The address that HTTP is served on.",
    reason:
      "In production a probe comes from outside the container; on a developer's machine nobody is to come from outside.",
    parse: asText,
  },
  closeAfterMs: {
    env: "DOORBELL_CLOSE_AFTER",
    flag: "--close-after",
    unit: "duration",
    default: "0s",
    meaning: "After SIGTERM: how long HTTP is still served while /readyz says no, before anything is taken down.",
    reason:
      "Behind a load balancer set it above the period of its probe. Without one it would only make stopping slow.",
    parse: durationOf(0),
  },
  concurrency: {
    env: "DOORBELL_CONCURRENCY",
    flag: "--concurrency",
    unit: "handlers",
    default: "20",
    meaning: "How many handlers run at once in this process.",
    reason: "Handlers mostly wait for others. Where they compute, the number of cores is right.",
    parse: wholeNumber(1, 10_000),
  },
  lanes: {
    env: "DOORBELL_LANES",
    flag: "--lanes",
    unit: "names, separated by commas",
    default: null,
    meaning: "The lanes that this worker serves.",
    reason: "Without it those of the application's handlers, so that no lane is forgotten.",
    parse: asLanes,
  },
  leaseMs: {
    env: "DOORBELL_LEASE",
    flag: "--lease",
    unit: "duration",
    default: "30s",
    meaning: "How long a claim lasts without being renewed. It is renewed at a third of it.",
    reason:
      "A job whose worker died waits for so long; a worker may lose Postgres for two thirds of it and keep its jobs.",
    parse: durationOf("1s"),
  },
  graceMs: {
    env: "DOORBELL_GRACE",
    flag: "--grace",
    unit: "duration",
    default: "30s",
    meaning: "After SIGTERM: how long handlers and requests may finish. Jobs that have not are given back, uncharged.",
    reason: "Kubernetes kills after 30 s as well: set its terminationGracePeriodSeconds a few seconds higher.",
    parse: durationOf(0),
  },
  pollMs: {
    env: "DOORBELL_POLL",
    flag: "--poll",
    unit: "duration",
    default: "1s",
    meaning: "A worker's look at the line without having been woken. At most 100 ms while LISTEN does not work.",
    reason: "A wake-up that was lost costs so long, and an idle worker one cheap query.",
    parse: durationOf("10ms"),
  },
  sweepEveryMs: {
    env: "DOORBELL_SWEEP_EVERY",
    flag: "--sweep-every",
    unit: "duration",
    default: "5s",
    meaning: "From one sweep for lost doorbells and expired leases to the next.",
    reason:
      "What was lost is found within two sweeps. Sweeps that take more than a twentieth of the time are made rarer, up to four times.",
    parse: durationOf("100ms"),
  },
  connectionsMax: {
    env: "DOORBELL_CONNECTIONS",
    flag: "--connections",
    unit: "connections",
    default: "10",
    meaning: "The client's pool: enqueueing, requests, maintenance. A worker has up to 29 more of its own.",
    reason: "Statements take about a millisecond, so ten carry thousands a second; Postgres allows 100 by default.",
    parse: wholeNumber(2, 1_000),
  },
  logLevel: {
    env: "DOORBELL_LOG_LEVEL",
    flag: "--log-level",
    unit: "debug, info, warn, error or silent",
    default: "info",
    meaning: "Lines below it are not written.",
    reason: "Says what starts, stops and fails. Jobs that simply succeed are in the metrics, not in the log.",
    parse: oneOf("debug", "info", "warn", "error", "silent"),
  },
  roleNames: {
    env: "DOORBELL_ROLE_NAMES",
    flag: null,
    unit: "KEY=NAME, separated by commas",
    default:
      "owner=doorbell_owner,worker=doorbell_worker,web=doorbell_web,producer=doorbell_producer,reader=doorbell_reader",
    meaning:
      "What the roles are called that `doorbell migrate` makes or finds: owner, worker, web, producer, reader. From the first migration on, and the same for `doctor` and `start`.",
    reason:
      "Those that are not named keep these names. Roles are the server's, and somebody may have rules for their names.",
    parse: asRoleNames,
  },
  tenancy: {
    env: "DOORBELL_TENANCY",
    flag: null,
    unit: "plain or signed",
    default: "plain",
    meaning:
      "What a transaction proves its tenant with. `signed`: a token that the database verifies, so that injected SQL cannot act for another tenant.",
    reason: "Signing wants a secret, and two logins for web and worker. See docs/tenancy.md.",
    parse: oneOf("plain", "signed"),
  },
  tenancySecrets: {
    env: "DOORBELL_TENANCY_SECRETS",
    flag: null,
    unit: "secrets of 32 characters or more, separated by commas",
    default: null,
    meaning:
      "What tokens are signed with: the first. `doorbell migrate` makes the database accept all of them, and no other.",
    reason: "Two of them, the new one first, are for changing from one to the other.",
    parse: asSecrets,
  },
  tenancyTokenMs: {
    env: "DOORBELL_TENANCY_TOKEN",
    flag: null,
    unit: "duration",
    default: "5m",
    meaning:
      "How long a token is good for, by the clock of the database: the longest transaction that is clamped once.",
    reason: "Longer than any transaction should be; short for whoever has read one from a log.",
    parse: durationOf("1s"),
  },
  pushSecret: {
    env: "DOORBELL_PUSH_SECRET",
    flag: null,
    unit: "a secret of 32 characters or more",
    default: null,
    meaning:
      "Lets a queue push doorbells to POST /v1/push, with this as bearer token or as `?token=`. For roles with a worker.",
    reason: "Without it the path is not there: who may push can keep workers busy with doorbells that come to nothing.",
    parse: asSecret,
  },
  smtpUrl: {
    env: "DOORBELL_SMTP_URL",
    flag: null,
    unit: "smtp: or smtps: URL",
    default: null,
    meaning: "The mail server of `job.email`.",
    reason: "Without it such a job fails, and says so: mail is never dropped silently.",
    parse: urlOf("smtp", "smtps"),
  },
  webhookAllowPrivate: {
    env: "DOORBELL_WEBHOOK_ALLOW_PRIVATE",
    flag: null,
    unit: "1 or 0",
    default: "0",
    meaning: "Lets webhooks reach private and loopback addresses. Production refuses it.",
    reason: "The URL comes from a tenant: it must not reach what only we can reach.",
    parse: asSwitch,
  },
  secretKeys: {
    env: "DOORBELL_SECRET_KEYS",
    flag: null,
    unit: "secrets of 32 characters or more, separated by commas",
    default: null,
    meaning:
      "What the secrets of webhook endpoints are sealed with in the database: the first seals, all of them open. For workers, and for `doorbell webhooks`.",
    reason:
      "Two of them, the new one first, are for changing from one to the other. Without it nothing is sent to endpoints: production refuses where there are some.",
    parse: asSecrets,
  },
};
