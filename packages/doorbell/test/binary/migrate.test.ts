// Who may migrate: a login that may make roles; one that may not, once a DBA has given it what it lacks; and one that has
// nothing to do, because a DBA has run the SQL. On a server of the test's own, since roles are the server's.
import pg from "pg";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/embedded/index.ts";
import { run } from "./support.ts";

const roles = ["doorbell_owner", "doorbell_worker", "doorbell_web", "doorbell_producer", "doorbell_reader"];

let server: EmbeddedPostgres;

beforeAll(async () => {
  server = await startEmbeddedPostgres();
});
afterAll(() => server?.stop());

/** As the DBA, who is a superuser. Statement by statement, as psql runs a file. */
async function asDba(text: string, database = "shop"): Promise<void> {
  const client = new pg.Client(server.urlFor(database));
  await client.connect();
  try {
    await client.query(text);
  } finally {
    await client.end();
  }
}

beforeEach(async () => {
  await asDba("drop database if exists shop with (force)", "postgres");
  for (const role of [...roles, "deployer", "shop_app"]) await asDba(`drop role if exists ${role}`, "postgres");
  await asDba("create role deployer login", "postgres");
  await asDba("create database shop", "postgres");
  await asDba("alter database shop set doorbell.embedded = 'off'; revoke temporary on database shop from public");
});

const as = (login: string) => ({ DATABASE_URL: server.urlFor("shop", login) });

const makeRoles = roles.map((role) => `create role ${role} nologin`).join("; ");
const becomeOwner = "grant doorbell_owner to deployer with set true, inherit false";
const makeSchema = "create schema doorbell authorization doorbell_owner";

test.each<[string, string, string]>([
  ["nothing", "select", [makeRoles, becomeOwner, makeSchema].join("; ")],
  ["only the roles", makeRoles, [becomeOwner, makeSchema].join("; ")],
  ["the roles, one of them to the login", `${makeRoles}; ${becomeOwner}`, makeSchema],
  [
    "only a schema of the DBA's own",
    "create schema doorbell",
    [makeRoles, becomeOwner, "alter schema doorbell owner to doorbell_owner"].join("; "),
  ],
  ["the roles and the schema", `${makeRoles}; ${makeSchema}`, becomeOwner],
])(
  "where a DBA has made %s, a login without rights is told exactly what is missing, and migrates after that",
  async (_, made, missing) => {
    await asDba(made);
    const refused = await run(["migrate"], as("deployer"));
    expect(refused).toMatchObject({ code: 1, stdout: "" });
    const [, told] = /^doorbell: this login may not migrate: .*: ([^:]*);\n$/.exec(refused.stderr) ?? [];
    expect(told).toBe(missing);
    await asDba(told ?? "");
    expect(await run(["migrate"], as("deployer"))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^applied: 0001_tables\.sql/),
    });
  },
);

test.each<[string, string]>([
  ["everything, for a login with the owner's role", `${makeRoles}; ${becomeOwner}; ${makeSchema}`],
  [
    "the roles, for a login that may make a schema",
    `${makeRoles}; ${becomeOwner}; grant create on database shop to deployer`,
  ],
  [
    "nothing, for a login that may make both",
    "alter role deployer createrole; grant create on database shop to deployer",
  ],
])("where a DBA has made %s, it migrates", async (_, made) => {
  await asDba(made);
  expect(await run(["migrate"], as("deployer"))).toMatchObject({ code: 0, stderr: "" });
});

test("where a DBA has run the SQL, there is nothing to do, and a login without any right to make things says so", async () => {
  const { stdout: sql } = await run(["migrate", "--sql"]);
  await asDba(sql);
  await asDba("create role shop_app login; grant doorbell_web, doorbell_worker to shop_app");
  expect(await run(["migrate"], as("shop_app"))).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });
  expect(await run(["migrate", "--check"], as("shop_app"))).toMatchObject({ code: 0 });
  const doctor = { ...as("shop_app"), DOORBELL_ENV: "production", DOORBELL_OBJECTS: "file:/tmp" };
  expect(await run(["doctor", "--json"], doctor)).toMatchObject({ code: 0, stdout: "[]\n" });

  // One that may not even see the version is told the one right that it needs for that.
  const blind = await run(["migrate"], as("deployer"));
  expect(blind).toMatchObject({ code: 1, stderr: expect.stringMatching(/: grant doorbell_reader to deployer;\n$/) });
  await asDba("grant doorbell_reader to deployer");
  expect(await run(["migrate"], as("deployer"))).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });
});

test("roles by other names: migrated, examined and served with them; with ours the mistake is told", async () => {
  const names = {
    owner: "shop_owner",
    worker: "shop_worker",
    web: "shop_web",
    producer: "shop_producer",
    reader: "shop_reader",
  };
  const named = {
    DOORBELL_ROLE_NAMES: Object.entries(names)
      .map(([key, name]) => `${key}=${name}`)
      .join(","),
  };
  await asDba("alter role deployer createrole; grant create on database shop to deployer");
  expect(await run(["migrate"], { ...as("deployer"), ...named })).toMatchObject({ code: 0 });
  await asDba("create role shop_app login; grant shop_web, shop_worker to shop_app");
  const production = { DOORBELL_ENV: "production", DOORBELL_OBJECTS: "file:/tmp", ...as("shop_app"), ...named };
  const doctor = async () => {
    const { stdout } = await run(["doctor", "--json"], production);
    return (JSON.parse(stdout) as { code: string; mend: string }[]).map(({ code, mend }) => ({ code, mend }));
  };
  expect(await doctor()).toEqual([]);
  await asDba("revoke shop_worker from shop_app");
  expect(await doctor()).toEqual([{ code: "login_lacks_rights", mend: "grant shop_worker to shop_app" }]);
  await asDba("grant shop_worker to shop_app; alter policy our_functions on doorbell.jobs to shop_web");
  const [found] = await doctor();
  expect(found).toMatchObject({ code: "table_policies" });
  await asDba(`set role shop_owner; ${found?.mend}`);
  expect(await doctor()).toEqual([]);
  expect(await run(["enqueue", "greet", "--tenant", "acme"], production)).toMatchObject({ code: 0 });
  await asDba("update doorbell.migrations set checksum = 'x' where name = 'functions'");
  const mistaken = await run(["migrate"], as("deployer"));
  expect(mistaken).toMatchObject({ stderr: expect.stringContaining("the tables belong to shop_owner") });
  expect(mistaken.code).not.toBe(0);
  expect(await run(["migrate"], { ...as("deployer"), ...named })).toMatchObject({ code: 0 });
  await asDba("drop database shop with (force)", "postgres");
  for (const name of ["shop_app", ...Object.values(names)]) await asDba(`drop role ${name}`, "postgres");
  const { stdout } = await run(["migrate", "--sql"], named);
  expect(stdout).not.toMatch(/doorbell_(owner|worker|web|producer|reader)/);
});
