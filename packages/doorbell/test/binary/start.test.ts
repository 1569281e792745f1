// The life of a process: how it starts, what it serves, and every way in which it ends.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { createDoorbell, createLog, defineJob } from "../../src/index.ts";
import { eventually } from "../support.ts";
import { appFile, ownDatabase, run, runProcess, scratchFolder, started } from "./support.ts";

const inProduction = (folder: string) => ({ NODE_ENV: "production", DOORBELL_OBJECTS: `file:${folder}/objects` });

async function enqueue(databaseUrl: string, kind: string): Promise<string> {
  const doorbell = await createDoorbell({ databaseUrl, log: createLog({ level: "silent" }) });
  const { id } = await doorbell.enqueue(defineJob({ kind }), {}, { tenant: "acme" });
  await doorbell.close();
  return id;
}

test("production as the documented login: starts, is ready, serves the application, and ends with 0", async () => {
  const { appUrl } = await ownDatabase();
  const env = { ...inProduction(scratchFolder()), DATABASE_URL: appUrl };
  const running = await started(["--app", appFile, "--host", "127.0.0.1"], env);
  expect(await (await running.get("/readyz")).json()).toEqual({ ready: true, reasons: [] });
  expect((await running.get("/healthz")).status).toBe(200);
  expect(await (await running.get("/invoices")).text()).toMatch(/^\/invoices since \d{4}$/);
  expect((await running.get("/boom")).status).toBe(500);
  running.kill("SIGTERM");
  expect(await running.ended()).toBe(0);
  const said = running.log.map((line) => line["message"]);
  expect(said.slice(-4)).toEqual(["worker draining", "worker ended", "resources closed", "stopped"]);
  expect(running.log.filter((line) => line["level"] === "warn")).toEqual([]);
});

test("a login of doorbell_web alone serves, leaves sweeping to the workers, and signs off at the end", async () => {
  const { webUrl, query } = await ownDatabase();
  const env = { ...inProduction(scratchFolder()), DATABASE_URL: webUrl };
  const running = await started(["--role", "web", "--app", appFile, "--host", "127.0.0.1"], env);
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
  const running = await started(["--app", appFile], env);
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
  const running = await started(["--app", appFile], { DATABASE_URL: appUrl, DOORBELL_OBJECTS: "memory:" });
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
  const running = await started(["--app", appFile], { DATABASE_URL: appUrl, DOORBELL_OBJECTS: "memory:" });
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
  const running = await started(["--app", appFile], {}, folder);
  const served = "no DATABASE_URL: started a server for development, which ends with this process";
  expect(await running.says(served)).toMatchObject({ login: "doorbell_dev" });
  const enqueued = await run(["enqueue", "greet", "--tenant", "acme"], {}, folder);
  expect(enqueued).toMatchObject({ code: 0, stderr: "" });
  const id = enqueued.stdout.trim();
  await eventually("the job to be done", async () => {
    const { stdout } = await run(["jobs", "show", id, "--tenant", "acme", "--json"], {}, folder);
    return JSON.parse(stdout).job.state === "done";
  });
  const doctor = await run(["doctor", "--json"], {}, folder);
  expect(JSON.parse(doctor.stdout).map((finding: { code: string }) => finding.code)).toEqual(["embedded_server"]);
  expect(await run(["migrate"], {}, folder)).toMatchObject({ code: 0, stdout: expect.stringMatching(/already/) });
  running.kill("SIGTERM");
  expect(await running.ended()).toBe(0);
  expect((await run(["jobs", "list", "--tenant", "acme"], {}, folder)).code).toBe(2);
}, 60_000);

test("what keeps it from starting is told in one line, and by the log with what is needed to find it", async () => {
  const { appUrl } = await ownDatabase();
  const folder = scratchFolder();
  const env = { DATABASE_URL: appUrl, DOORBELL_OBJECTS: "memory:" };
  expect(await run(["start"], env, folder)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^doorbell: role all needs .*--app.*\n$/),
  });
  expect(await run(["start", "--app", "nowhere.js"], env, folder)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^doorbell: there is no .*nowhere\.js\n$/),
  });
  writeFileSync(`${folder}/throwing.mjs`, 'function connect() { throw new Error("no such host"); }\nconnect();\n');
  const throwing = await runProcess(["start", "--app", "throwing.mjs"], env, folder);
  expect(throwing).toMatchObject({ code: 1, stderr: "doorbell: no such host\n" });
  expect(throwing.stdout).toContain('"message":"the process could not start"');
  expect(throwing.stdout).toContain("throwing.mjs:1");
  writeFileSync(`${folder}/empty.mjs`, "export const application = {};\n");
  expect(await run(["start", "--app", "empty.mjs"], env, folder)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/empty\.mjs does not export `app`/),
  });
});

test("the limit on values that is set in the database holds in a process that starts after it", async () => {
  const { appUrl, query } = await ownDatabase();
  await query("update doorbell.settings set value = '10' where name = 'max_value_bytes'");
  await started(["--app", appFile], { DATABASE_URL: appUrl, DOORBELL_OBJECTS: "memory:" });
  const id = await enqueue(appUrl, "greet");
  const failed = await eventually("the dead letter", async () => {
    const [job] = await query<{ error_code: string; last_error: string }>(
      "select error_code, last_error from doorbell.dead_letters where id = $1",
      [id],
    );
    return job;
  });
  expect(failed).toMatchObject({
    error_code: "payload_too_large",
    last_error: expect.stringContaining("value is larger than 10 bytes"),
  });
});

test("a lane that no kind of the application is on is served, and told: it may be misspelt", async () => {
  const { appUrl } = await ownDatabase();
  const env = { DATABASE_URL: appUrl, DOORBELL_OBJECTS: "memory:" };
  const running = await started(["--role", "worker", "--lanes", "default,defualt", "--app", appFile], env);
  expect(await running.says("the worker serves lanes that no kind of the application is on")).toMatchObject({
    level: "warn",
    lanes: ["defualt"],
  });
});

test("a port that is taken keeps it from starting, and is told by number", async () => {
  const { appUrl } = await ownDatabase();
  const env = { DATABASE_URL: appUrl, DOORBELL_OBJECTS: "memory:" };
  const folder = scratchFolder();
  const running = await started(["--role", "web"], env, folder);
  const { port } = await running.says("listening");
  expect(await runProcess(["start", "--role", "web", "--port", String(port)], env, folder)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^doorbell: cannot serve HTTP .*EADDRINUSE.*\n$/),
  });
});
