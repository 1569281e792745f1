// Boot and end of a process, by the binary itself.
import { expect, test } from "vitest";
import { createDoorbell, createLog, defineJob } from "../../src/index.ts";
import { eventually } from "../support.ts";
import { appFile, ownDatabase, Running, run, scratchFolder } from "./support.ts";

const inProduction = (folder: string) => ({ NODE_ENV: "production", DOORBELL_OBJECTS: `file:${folder}/objects` });

async function enqueue(databaseUrl: string, kind: string): Promise<string> {
  const doorbell = await createDoorbell({ databaseUrl, log: createLog({ level: "silent" }) });
  const { id } = await doorbell.enqueue(defineJob({ kind }), {}, { tenant: "acme" });
  await doorbell.close();
  return id;
}

const reasonsOf = (stderr: string): readonly string[] => stderr.trimEnd().split("\n");

test("production without a database, and with queue and objects in memory: exit code 78, and each reason on its line", async () => {
  const { code, stdout, stderr } = await run(["start"], {
    NODE_ENV: "production",
    DOORBELL_QUEUE: "memory:",
    DOORBELL_OBJECTS: "memory:",
  });
  expect(code).toBe(78);
  expect(stdout).toBe("");
  expect(reasonsOf(stderr)).toEqual([
    expect.stringMatching(/^doorbell: refused to start in production: DATABASE_URL is not set/),
    expect.stringMatching(/^doorbell: refused to start in production: queue memory: is in memory/),
    expect.stringMatching(/^doorbell: refused to start in production: objects are in memory/),
  ]);
});

test("production as superuser on the embedded server: exit code 78, and both reasons", async () => {
  const database = await ownDatabase();
  const name = new URL(database.adminUrl).pathname.slice(1);
  await database.query(`alter database ${name} reset doorbell.embedded`);
  const env = { ...inProduction(scratchFolder()), DATABASE_URL: database.adminUrl };
  const { code, stderr } = await run(["start", "--role", "worker", "--app", appFile], env);
  expect(code).toBe(78);
  expect(reasonsOf(stderr)).toEqual([
    expect.stringContaining("the server is the embedded one"),
    expect.stringContaining("login postgres is a superuser"),
  ]);
});

test("production as the documented login: starts, is ready, serves the application, and ends with 0", async () => {
  const { appUrl } = await ownDatabase();
  const env = { ...inProduction(scratchFolder()), DATABASE_URL: appUrl };
  const running = await Running.start(["--app", appFile, "--host", "127.0.0.1"], env);
  expect(await (await running.get("/readyz")).json()).toEqual({ ready: true, reasons: [] });
  expect((await running.get("/healthz")).status).toBe(200);
  expect(await (await running.get("/invoices")).text()).toMatch(/^\/invoices since \d{4}$/);
  expect((await running.get("/boom")).status).toBe(500);

  await enqueue(appUrl, "broken");
  await enqueue(appUrl, "unknown to all");
  await eventually("the dead letter in the metrics", async () => {
    const page = await (await running.get("/metrics")).text();
    return (
      page.includes('doorbell_dead_letters{kind="broken"} 1') &&
      page.includes('doorbell_jobs_without_worker{kind="unknown to all"} 1')
    );
  });

  running.kill("SIGTERM");
  expect(await running.ended()).toBe(0);
  const said = running.log.map((line) => line["message"]);
  expect(said.slice(-4)).toEqual(["worker draining", "worker ended", "resources closed", "stopped"]);
  expect(running.log.filter((line) => line["level"] === "warn")).toEqual([]);
});

test("the schema of another version: exit code 78 in development too, with what to run", async () => {
  const database = await ownDatabase();
  await database.query("insert into doorbell.migrations (name, checksum) values ('9999_later.sql', 'x')");
  const { code, stderr } = await run(
    ["start", "--role", "web"],
    { NODE_ENV: "test", DATABASE_URL: database.appUrl },
    scratchFolder(),
  );
  expect(code).toBe(78);
  expect(stderr).toMatch(/^doorbell: refused to start in development: .*does not know 9999_later\.sql .*newer/);
});

test("no database where DATABASE_URL points: exit code 78 in development too", async () => {
  const env = { NODE_ENV: "test", DATABASE_URL: "postgres://app@127.0.0.1:1/app" };
  const { code, stderr } = await run(["start", "--role", "web"], env, scratchFolder());
  expect(code).toBe(78);
  expect(reasonsOf(stderr)).toEqual([expect.stringMatching(/ECONNREFUSED 127\.0\.0\.1:1 \(start Postgres/)]);
});

test("a login of doorbell_web alone serves, leaves sweeping to the workers, and signs off at the end", async () => {
  const { webUrl, query } = await ownDatabase();
  const env = { ...inProduction(scratchFolder()), DATABASE_URL: webUrl };
  const running = await Running.start(["--role", "web", "--app", appFile, "--host", "127.0.0.1"], env);
  await running.says("this login may not sweep: that is left to the workers");
  const processes = () => query<{ role: string }>("select role from doorbell.workers");
  await eventually("the heartbeat", async () => (await processes()).length === 1);
  expect(await processes()).toEqual([{ role: "web" }]);
  expect((await running.get("/readyz")).status).toBe(200);
  running.kill("SIGINT");
  expect(await running.ended()).toBe(0);
  expect(await processes()).toEqual([]);
  expect(running.log.filter((line) => line["level"] !== "info")).toEqual([]);
});

test("while it drains, readiness is red and HTTP is still there; what does not end in the grace is given back", async () => {
  const { appUrl, query } = await ownDatabase();
  const env = { DATABASE_URL: appUrl, DOORBELL_GRACE: "1s", DOORBELL_OBJECTS: "memory:" };
  const running = await Running.start(["--app", appFile], env);
  const id = await enqueue(appUrl, "long");
  await running.says("begun");
  running.kill("SIGTERM");
  await running.says("worker draining");
  const answer = await running.get("/readyz");
  expect(answer.status).toBe(503);
  expect(await answer.json()).toEqual({ ready: false, reasons: ["the process is stopping"] });
  expect((await running.get("/x")).status).toBe(200);
  expect(await running.ended()).toBe(0);
  expect(await query("select state, attempts, max_attempts from doorbell.jobs where id = $1", [id])).toEqual([
    { state: "queued", attempts: 1, max_attempts: 11 },
  ]);
});

test("a second signal ends the process at once", async () => {
  const { appUrl } = await ownDatabase();
  const running = await Running.start(["--app", appFile], { DATABASE_URL: appUrl, DOORBELL_OBJECTS: "memory:" });
  await enqueue(appUrl, "long");
  await running.says("begun");
  running.kill("SIGTERM");
  await running.says("worker draining");
  const startedAtMs = performance.now();
  running.kill("SIGINT");
  expect(await running.ended()).toBe(1);
  expect(performance.now() - startedAtMs).toBeLessThan(5_000);
});

test("a rejection that nobody handles is told, and the process goes on; an exception that nobody catches ends it with 1", async () => {
  const { appUrl } = await ownDatabase();
  const running = await Running.start(["--app", appFile], { DATABASE_URL: appUrl, DOORBELL_OBJECTS: "memory:" });
  await enqueue(appUrl, "careless");
  expect(await running.says("a promise was rejected, and nobody handled it")).toMatchObject({
    level: "error",
    rejections: 1,
  });
  expect((await running.get("/readyz")).status).toBe(200);
  await enqueue(appUrl, "crashing");
  expect(await running.says("an exception was not caught: stopping")).toMatchObject({
    error: { message: "nobody catches this" },
  });
  expect(await running.ended()).toBe(1);
  expect(running.log.at(-1)).toMatchObject({ message: "stopped", exit_code: 1 });
});

test("development without DATABASE_URL brings a server along, which the other commands of the folder find", async () => {
  const folder = scratchFolder();
  const running = await Running.start(["--app", appFile], {}, folder);
  expect(
    await running.says("no DATABASE_URL: started a server for development, which ends with this process"),
  ).toMatchObject({
    login: "doorbell_dev",
  });
  const enqueued = await run(["enqueue", "greet", "--tenant", "acme"], {}, folder);
  expect(enqueued).toMatchObject({ code: 0, stderr: "" });
  const id = enqueued.stdout.trim();
  await eventually("the job to be done", async () => {
    const { stdout } = await run(["jobs", "show", id, "--tenant", "acme", "--json"], {}, folder);
    return JSON.parse(stdout).job.state === "done";
  });
  const doctor = await run(["doctor", "--json"], {}, folder);
  expect(JSON.parse(doctor.stdout).map((finding: { code: string }) => finding.code)).toEqual(["embedded_server"]);
  running.kill("SIGTERM");
  expect(await running.ended()).toBe(0);
  expect((await run(["jobs", "list", "--tenant", "acme"], {}, folder)).code).toBe(2);
}, 60_000);

test("what cannot be started for is told in one line: no application, a file that is none, a port that is taken", async () => {
  const { appUrl } = await ownDatabase();
  const folder = scratchFolder();
  const env = { DATABASE_URL: appUrl, DOORBELL_OBJECTS: "memory:" };
  const noApp = await run(["start"], env, folder);
  expect(noApp).toMatchObject({ code: 2, stderr: expect.stringMatching(/^doorbell: role all needs .*--app.*\n$/) });
  const notThere = await run(["start", "--app", "nowhere.js"], env, folder);
  expect(notThere).toMatchObject({ code: 2, stderr: expect.stringMatching(/^doorbell: there is no .*nowhere\.js\n$/) });
  const running = await Running.start(["--role", "web"], env, folder);
  const { port } = await running.says("listening");
  const taken = await run(["start", "--role", "web", "--port", String(port)], env, folder);
  expect(taken).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^doorbell: cannot serve HTTP .*EADDRINUSE.*\n$/),
  });
});
