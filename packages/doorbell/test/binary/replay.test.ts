// Running settled jobs again: by object key, in bulk, from the dead letters; and the story that tells of it.
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support.ts";
import { Desk, type TenantDesk } from "./desk.ts";
import { type Running, scratchFolder } from "./support.ts";

let desk: Desk;
let running: Running;

beforeAll(async () => {
  desk = await Desk.open();
  running = await desk.work();
});

afterAll(() => desk[Symbol.asyncDispose]());

interface Line {
  readonly attempt: number;
  readonly message: string;
}

async function storeInvoice({ run }: TenantDesk): Promise<string> {
  const file = `${scratchFolder()}/invoice.xml`;
  writeFileSync(file, "<invoice/>");
  return (await run("objects", "put", file)).trim();
}

test("replay by object key runs the newest job of each kind again, says which, and repeats no completed effect", async () => {
  const acme = desk.tenant("acme");
  const key = await storeInvoice(acme);
  const older = await acme.enqueue("greet", "--object-key", key);
  await desk.until(older, "done");
  const newer = await acme.enqueue("greet", "--object-key", key);
  await desk.until(newer, "done");
  const broken = await acme.enqueue("broken", "--object-key", key);
  await desk.until(broken, "failed");

  const planned = await acme.json("replay", "--object-key", key, "--dry-run");
  expect(planned).toEqual([
    { id: broken, kind: "broken", object_key: key, next_attempt: 2, answer: "would be replayed" },
    { id: newer, kind: "greet", object_key: key, next_attempt: 2, answer: "would be replayed" },
  ]);
  await desk.until(newer, "done", 1);
  expect(await acme.run("replay", "--object-key", key, "--kind", "greet")).toMatch(
    new RegExp(`^JOB .*\n${newer}  greet  2 +${key}  replayed\n$`),
  );
  await desk.until(newer, "done", 2);
  await desk.until(older, "done", 1);
  await desk.until(broken, "failed", 1);

  const story = await acme.json<Line[]>("logs", newer);
  const claims = story.filter((line) => / claimed$/.test(line.message));
  expect(claims.map((line) => line.attempt)).toEqual([1, 2]);
  expect(story.filter((line) => line.message === "effect hello begun")).toHaveLength(1);
  expect(await acme.json("jobs", "show", newer)).toMatchObject({
    job: { object_key: key, object_size: 10, result: { attempt: 2 } },
  });
});

test("the newest job is the one that was enqueued last, whatever ids their callers chose", async () => {
  const acme = desk.tenant("acme");
  const older = "ffffffff-ffff-4fff-bfff-ffffffffffff";
  await desk.database.query("select doorbell.enqueue($1, 'broken', id => $2::uuid, object_key => 'k')", [
    acme.tenant,
    older,
  ]);
  await desk.until(older, "failed");
  const newer = await acme.enqueue("broken", "--object-key", "k");
  await desk.until(newer, "failed");
  expect(await acme.json("replay", "--object-key", "k", "--dry-run")).toMatchObject([{ id: newer }]);
});

test("replay that finds nothing, or cannot tell what is meant, does nothing", async () => {
  const acme = desk.tenant("acme");
  const key = await storeInvoice(acme);
  const id = await acme.enqueue("greet", "--object-key", key, "--run-after", "1h");
  expect(await desk.tenant("other").attempt("replay", "--object-key", key)).toMatchObject({
    code: 1,
    stderr: `doorbell: no such job: none has object key ${key}\n`,
  });
  expect(await acme.attempt("replay")).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^doorbell: which jobs\? /),
  });
  expect(await acme.attempt("replay", id, "--kind", "greet")).toMatchObject({ code: 2 });
  expect(await acme.attempt("replay", "--kind", "greet")).toMatchObject({
    code: 0,
    stderr: "doorbell: no job matches: nothing is replayed\n",
  });
  expect(await acme.attempt("replay", id)).toMatchObject({
    code: 1,
    stderr: `doorbell: job ${id} has not settled yet: there is nothing to replay\n`,
  });
  expect(await acme.json("jobs", "show", id)).toMatchObject({ job: { state: "queued", attempts: 0 } });
});

test("the story of a job whose worker was killed tells both attempts, in order, with the killed one's lines", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("long");
  const said = async (times: number): Promise<Line[] | null> => {
    const story = await acme.json<Line[]>("logs", id);
    return story.filter((line) => line.message === "begun").length === times ? story : null;
  };
  await eventually("the line to be kept", () => said(1));
  running.kill("SIGKILL");
  await running.ended();
  running = await desk.work();
  const story = await eventually("the second attempt's line to be kept", () => said(2));
  expect(story.map(({ attempt, message }) => `#${attempt} ${message}`)).toEqual([
    "#0 enqueued",
    "#1 attempt 1 claimed",
    "#1 begun",
    "#1 attempt 1 ended: lost",
    "#2 attempt 2 claimed",
    "#2 begun",
  ]);
  await acme.run("jobs", "cancel", id);
});

test("dead letters are listed, shown with their error, grouped, and replayed one by one or in bulk", async () => {
  const acme = desk.tenant("acme");
  const one = await acme.enqueue("broken");
  await desk.until(one, "failed");
  const two = await acme.enqueue("broken");
  await desk.until(two, "failed");

  expect(await acme.json("dead-letters", "list")).toMatchObject([{ id: two, error_code: "broken" }, { id: one }]);
  expect(await desk.tenant("other").json("dead-letters", "list")).toEqual([]);
  const shown = await acme.run("jobs", "show", one);
  expect(shown).toMatch(/^error +PermanentError \[broken\]: document .* is broken$/m);
  expect(shown).toMatch(/^next +nothing by itself: doorbell dead-letters replay, or discard$/m);
  expect(shown).toMatch(/^the error of the last attempt:\n {2}PermanentError .*\n +at /m);

  const groups = await acme.json<{ fingerprint: string }[]>("dead-letters", "list", "--group");
  expect(groups).toMatchObject([{ kind: "broken", jobs: 2, error_code: "broken" }]);
  const group = ["--fingerprint", groups[0]?.fingerprint ?? ""];
  expect(await acme.json("dead-letters", "replay", ...group, "--dry-run")).toHaveLength(2);

  await acme.run("dead-letters", "replay", one);
  await desk.until(one, "failed", 2);
  await acme.run("replay", "--kind", "broken", "--state", "failed", "--since", "1h");
  await desk.until(one, "failed", 3);
  await desk.until(two, "failed", 2);
  const story = await acme.json<Line[]>("logs", one);
  expect(story.map(({ attempt, message }) => `#${attempt} ${message}`)).toEqual([
    "#0 enqueued",
    "#1 attempt 1 claimed",
    "#1 attempt 1 ended: failed",
    "#2 attempt 2 claimed",
    "#2 attempt 2 ended: failed",
    "#3 attempt 3 claimed",
    "#3 attempt 3 ended: failed",
    "#3 failed",
  ]);
});

test("dead letters are put aside with a reason, all that were named or none", async () => {
  const acme = desk.tenant("acme");
  const one = await acme.enqueue("broken");
  const two = await acme.enqueue("broken");
  await desk.until(one, "failed");
  await desk.until(two, "failed");
  const discard = ["dead-letters", "discard", one];
  expect(await acme.attempt(...discard)).toMatchObject({ code: 2 });
  expect(await acme.attempt(...discard, "--reason", " ")).toMatchObject({
    code: 2,
    stderr: "doorbell: option '--reason <text>': empty; see doorbell dead-letters discard --help\n",
  });
  expect(await acme.run(...discard, "--reason", "a test", "--actor", "anna")).toBe("discarded: 1\n");
  expect(await acme.json("jobs", "show", one)).toMatchObject({
    job: { state: "discarded", result: { reason: "a test", discarded_by: "anna" } },
  });
  expect(await acme.attempt(...discard, two, "--reason", "r")).toMatchObject({
    code: 1,
    stderr: `doorbell: no such dead letter: job ${one} is discarded\n`,
  });
  expect(await acme.json("dead-letters", "discard", "--all", "--reason", "r")).toEqual([two]);
  expect(await acme.json("dead-letters", "list")).toEqual([]);
});

test("with a canary one job is replayed first, and the others only when it is done; each says what became of it", async () => {
  const acme = desk.tenant("acme");
  for (const [kind, end] of [
    ["greet", "done"],
    ["broken", "failed"],
  ] as const) {
    for (let n = 0; n < 3; n += 1) await desk.until(await acme.enqueue(kind), end);
  }
  const greeted = await acme.json<{ answer: string }[]>("replay", "--kind", "greet", "--state", "done", "--canary");
  expect(greeted.map((one) => one.answer)).toEqual(["replayed", "replayed", "replayed"]);

  const broken = await acme.attempt("replay", "--kind", "broken", "--canary", "--json");
  expect(broken.code).toBe(1);
  const answers = JSON.parse(broken.stdout) as { id: string; answer: string }[];
  expect(answers.map((one) => one.answer)).toEqual(["replayed", "kept back", "kept back"]);
  expect(broken.stderr).toMatch(/the canary .* is failed \(PermanentError .*\): 2 jobs are kept back/);
  await desk.until(answers[0]?.id ?? "", "failed", 2);
  await desk.until(answers[1]?.id ?? "", "failed", 1);

  running.kill("SIGTERM");
  await running.ended();
  const slow = await acme.attempt("replay", "--kind", "broken", "--canary", "--canary-within", "1s", "--json");
  running = await desk.work();
  expect(slow).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/has not ended within 1 s .*: 2 jobs are kept back/),
  });
});

test("one completed effect is done again because a person says so, with who and why on record, and no other job is touched", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("greet");
  await desk.until(id, "done");
  const again = ["replay", id, "--refire", "hello"];
  expect(await acme.attempt(...again)).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/--refire wants --reason/),
  });
  expect(await acme.attempt("replay", id, "--refire", "fax", "--reason", "r")).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/has no completed effect "fax"/),
  });
  await desk.until(id, "done", 1);
  await acme.run(...again, "--reason", "the letter was lost", "--actor", "anna");
  await desk.until(id, "done", 2);
  const effects = await acme.json<object[]>("effects", "list", "--job", id);
  expect(effects).toMatchObject([
    { key: "hello", n: 3, attempt: 2, state: "completed", idempotency_key: `${id}:hello:again:2` },
  ]);
  const story = await acme.json<(Line & { fields: object })[]>("logs", id);
  expect(story.find((line) => line.message === "effect hello not done (says anna)")).toMatchObject({
    fields: { reason: "to be done again: the letter was lost" },
  });
});

test("a kind that fails alike for a tenant is paused for it: said in the log, in stats and of each job, until somebody closes it", async () => {
  const acme = desk.tenant("acme");
  for (let n = 0; n < 10; n += 1) await acme.enqueue("flaky");
  const line = await eventually("the log to say it", () =>
    running.log.find((one) => one["kind"] === "flaky" && String(one["message"]).startsWith("a kind is paused")),
  );
  expect(line).toMatchObject({
    level: "error",
    tenant_id: acme.tenant,
    error: expect.stringMatching(/^Error: the bank is away/),
    to_close: `doorbell breakers close flaky --tenant "${acme.tenant}"`,
  });
  const held = await acme.enqueue("flaky");
  const elsewhere = await desk.tenant("other").enqueue("flaky");
  await desk.until(elsewhere, "queued", 1);
  await desk.until(held, "queued", 0);
  expect(await acme.json("breakers", "list")).toMatchObject([{ kind: "flaky", times: 1 }]);
  expect(await desk.tenant("other").json("breakers", "list")).toEqual([]);
  expect(await acme.json("stats")).toMatchObject({ breakers: [{ kind: "flaky" }] });
  expect(await acme.run("stats")).toMatch(/^paused:$/m);
  expect(await acme.run("jobs", "show", held)).toMatch(/^next +attempt 1, when the pause of its kind is over/m);
  expect(await (await running.get("/metrics")).text()).toMatch(/^doorbell_breakers_opened_total\{kind="flaky"\} 1$/m);

  expect(await acme.run("breakers", "close", "flaky")).toBe("closed: flaky\n");
  await desk.until(held, "queued", 1);
  expect(await acme.attempt("breakers", "close", "flaky")).toMatchObject({ code: 1 });
});

test("a dead letter tells which version of the application failed it", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("broken");
  await desk.until(id, "failed");
  expect(await acme.run("jobs", "show", id)).toMatch(/^app version +7\.7\.7$/m);
  expect(await acme.json("dead-letters", "list")).toMatchObject([
    { app_version: "7.7.7", fingerprint: expect.any(String) },
  ]);
});
