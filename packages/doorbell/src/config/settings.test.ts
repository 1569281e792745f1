import { describe, expect, test } from "vitest";
import { ourRoleNames } from "../store/role-names.ts";
import { resolveSettings, unknownVariables } from "./settings.ts";

const local = "postgres://app@127.0.0.1:5432/app";
const remote = "postgres://app:hunter2@db.internal/app";

test("without a variable everything has a value", () => {
  expect(resolveSettings({})).toEqual({
    environment: "development",
    role: "all",
    app: null,
    appVersion: null,
    databaseUrl: null,
    directDatabaseUrl: null,
    databaseAllowPlaintext: false,
    pooler: null,
    queueUrl: "postgres:",
    objectsUrl: "file:./.doorbell/objects",
    port: 3000,
    host: "127.0.0.1",
    closeAfterMs: 0,
    concurrency: 20,
    lanes: null,
    leaseMs: 30_000,
    graceMs: 30_000,
    pollMs: 1_000,
    sweepEveryMs: 5_000,
    connectionsMax: 10,
    logLevel: "info",
    roleNames: ourRoleNames,
    tenancy: "plain",
    tenancySecrets: null,
    tenancyTokenMs: 300_000,
    pushSecret: null,
    smtpUrl: null,
    webhookAllowPrivate: false,
    secretKeys: null,
  });
});

test("an option wins over a variable, a variable over the default, and an empty variable is none", () => {
  const variables = { DOORBELL_PORT: "4000", DOORBELL_CONCURRENCY: "7", DOORBELL_LEASE: "" };
  expect(resolveSettings(variables, { port: "0" })).toMatchObject({ port: 0, concurrency: 7, leaseMs: 30_000 });
});

test("a worker has another port than the web, and production listens to everyone", () => {
  expect(resolveSettings({ DOORBELL_ROLE: "worker" }).port).toBe(3001);
  expect(resolveSettings({ DOORBELL_ENV: "production" })).toMatchObject({ host: "0.0.0.0", objectsUrl: "memory:" });
});

describe("what counts as production", () => {
  test.each([
    ["nothing is said, and there is no database", {}, "development"],
    ["the database is on loopback", { DATABASE_URL: local }, "development"],
    ["the database is on ::1", { DATABASE_URL: "postgres://[::1]/app" }, "development"],
    ["the database is behind a socket", { DATABASE_URL: "postgres:///app?host=/var/run/postgresql" }, "development"],
    ["the database is elsewhere", { DATABASE_URL: remote }, "production"],
    ["a query parameter says where it is", { DATABASE_URL: `${local}?host=db.internal` }, "production"],
    ["LISTEN goes elsewhere", { DATABASE_URL: local, DATABASE_DIRECT_URL: remote }, "production"],
    ["NODE_ENV says so", { NODE_ENV: "production" }, "production"],
    ["NODE_ENV has a word of its own", { NODE_ENV: "staging", DATABASE_URL: local }, "production"],
    ["NODE_ENV says development", { NODE_ENV: "development", DATABASE_URL: remote }, "development"],
    ["a test runs", { NODE_ENV: "test", DATABASE_URL: remote }, "development"],
    ["DOORBELL_ENV wins over NODE_ENV", { DOORBELL_ENV: "production", NODE_ENV: "development" }, "production"],
    ["DOORBELL_ENV says development", { DOORBELL_ENV: "development", DATABASE_URL: remote }, "development"],
  ])("%s", (_, variables, environment) => {
    expect(resolveSettings(variables).environment).toBe(environment);
  });
});

describe("a bad value", () => {
  test.each([
    ["DOORBELL_ROLE", "both", "web, worker, all"],
    ["DOORBELL_ENV", "prod", "production, development"],
    ["DOORBELL_PORT", "70000", "0 to 65535"],
    ["DOORBELL_PORT", "tcp://10.0.0.1:3000", "enableServiceLinks"],
    ["DOORBELL_CONCURRENCY", "0", "1 to 10000"],
    ["DOORBELL_CONCURRENCY", "1e3", "1 to 10000"],
    ["DOORBELL_LEASE", "30", "duration"],
    ["DOORBELL_LEASE", "500ms", "shorter than 1s"],
    ["DOORBELL_LANES", "a,,b", "commas"],
    ["DOORBELL_LANES", "default, Slow", "names the lane"],
    ["DOORBELL_QUEUE", "kafka://x", "postgres: or redis:"],
    ["DOORBELL_QUEUE", "postgres://db/app", "DATABASE_URL"],
    ["DOORBELL_OBJECTS", "gs://x", "file: or s3: or memory:"],
    ["DOORBELL_LOG_LEVEL", "loud", "debug"],
    ["DOORBELL_WEBHOOK_ALLOW_PRIVATE", "yes", "1, 0"],
    ["DOORBELL_DATABASE_ALLOW_PLAINTEXT", "yes", "1, 0"],
    ["DOORBELL_POOLER", "pgbouncer", "pgbouncer-1.25.2"],
    ["DOORBELL_POOLER", "PgBouncer 1.25", "pgbouncer-1.25.2"],
  ])("%s=%s is refused by name, with what may be there", (name, value, hint) => {
    expect(() => resolveSettings({ [name]: value })).toThrow(expect.objectContaining({ code: "option_invalid" }));
    expect(() => resolveSettings({ [name]: value })).toThrow(new RegExp(`^${name}.*${hint.replace(/[.+]/g, "\\$&")}`));
  });

  test("of an option is told with the option's name", () => {
    expect(() => resolveSettings({}, { role: "both" })).toThrow(/^--role /);
  });

  test("does not hide the next one", () => {
    const variables = { DOORBELL_ROLE: "both", DOORBELL_POLL: "x", DOORBELL_GRACE: "-1s" };
    expect(() => resolveSettings(variables)).toThrow(/DOORBELL_ROLE.*DOORBELL_GRACE.*DOORBELL_POLL/);
  });

  test.each(["DATABASE_URL", "DATABASE_DIRECT_URL"])("of %s is told before anything connects", (name) => {
    const secret = "postgres://app:hunter2@db:port/app";
    expect(() => resolveSettings({ [name]: secret })).toThrow(
      new RegExp(`^${name} cannot be read as a connection URL`),
    );
    expect(() => resolveSettings({ [name]: secret })).not.toThrow(/hunter2/);
  });

  test.each(["DATABASE_URL", "DATABASE_DIRECT_URL", "DOORBELL_QUEUE", "DOORBELL_SMTP_URL"])(
    "of %s is never shown",
    (name) => {
      const secret = "mysql://app:hunter2@db/app";
      expect(() => resolveSettings({ [name]: secret })).toThrow(new RegExp(`^${name} is not a URL`));
      expect(() => resolveSettings({ [name]: secret })).not.toThrow(/hunter2/);
    },
  );
});

test("a misspelt variable is told, and no other", () => {
  expect(unknownVariables({ DOORBELL_CONCURENCY: "5", DOORBELL_ROLE: "web", DATABASE_URL: local, HOME: "/" })).toEqual([
    "DOORBELL_CONCURENCY",
  ]);
});
