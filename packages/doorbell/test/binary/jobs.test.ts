// Enqueueing, listing, showing, cancelling and telling the story of jobs.
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support.ts";
import { Desk } from "./desk.ts";
import { appFile } from "./support.ts";

let desk: Desk;

beforeAll(async () => {
  desk = await Desk.open();
  await desk.work();
});

afterAll(() => desk[Symbol.asyncDispose]());

const nobodysJob = "01a22ffe-559a-7368-a7f2-d80e2da27449";

interface JobJson {
  readonly id: string;
  readonly [column: string]: unknown;
}

test("a job is enqueued, runs, and is shown in lists and alone; its payload only if asked for", async () => {
  const acme = desk.tenant("acme");
  const enqueue = ["enqueue", "greet", "--key", "k", "--payload", '{"secret":7}'];
  const first = await acme.json<{ id: string }>(...enqueue);
  expect(first).toEqual({ id: expect.any(String), created: true });
  expect(await acme.json("enqueue", "greet", "--key", "k")).toEqual({ id: first.id, created: false });
  await desk.until(first.id, "done");

  const listed = await acme.json<JobJson[]>("jobs", "list", "--kind", "greet");
  expect(listed).toEqual([
    expect.objectContaining({ id: first.id, state: "done", result: { attempt: 1 }, workers: 1 }),
  ]);
  expect(listed[0]).not.toHaveProperty("payload");
  expect(await acme.run("jobs", "list")).toMatch(new RegExp(`^JOB +KIND +STATE.*\n${first.id}  greet +done +1/10 `));

  const shown = await acme.run("jobs", "show", first.id);
  expect(shown).toMatch(/^state +done$/m);
  expect(shown).toMatch(/^hello +effect +completed /m);
  expect(shown).not.toContain("secret");
  expect(await acme.run("jobs", "show", first.id, "--payload")).toMatch(/^payload +\{"secret":7\}$/m);
});

test("the story of a job tells what happened to it, what its handler said, and its effects, in order", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("greet");
  await desk.until(id, "done");
  const story = await eventually("the lines to be kept", async () => {
    const lines = (await acme.run("logs", id)).trimEnd().split("\n");
    return lines.length === 7 ? lines : null;
  });
  expect(story.map((line) => line.replace(/^\S+Z /, "").replace(/ \w+=.*/, ""))).toEqual([
    "#0 info  enqueued",
    "#1 info  attempt 1 claimed",
    "#1 info  effect hello begun",
    "#1 info  effect hello completed",
    "#1 info  [speak] hello",
    "#1 info  [speak] stage speak done",
    "#1 info  done",
  ]);
});

test("another tenant's job is answered like one that never was", async () => {
  const id = await desk.tenant("acme").enqueue("greet", "--run-after", "1h");
  const other = desk.tenant("other");
  const asked = async (job: string): Promise<readonly unknown[]> => {
    const commands = [
      ["jobs", "show", job],
      ["jobs", "cancel", job],
      ["logs", job],
      ["replay", job],
      ["replay", job, "--dry-run"],
      ["dead-letters", "replay", job],
      ["dead-letters", "discard", job, "--reason", "r"],
      ["effects", "list", "--job", job],
      ["effects", "resolve", job, "hello", "--happened", "--reason", "r"],
    ];
    const answers = await Promise.all(commands.map((command) => other.attempt(...command)));
    return answers.map((answer) => ({ ...answer, stderr: answer.stderr.replaceAll(job, "JOB") }));
  };
  const answers = await asked(id);
  expect(answers).toEqual(await asked(nobodysJob));
  expect(answers[0]).toEqual({ code: 1, stdout: "", stderr: "doorbell: no such job: JOB\n" });
});

test("a list is read page by page, with every job once", async () => {
  const acme = desk.tenant("acme");
  const ids: string[] = [];
  for (let n = 0; n < 5; n += 1) ids.unshift(await acme.enqueue("greet", "--run-after", "1h"));
  const listed: string[] = [];
  for (let more = true; more; ) {
    const last = listed.at(-1);
    const page = await acme.json<JobJson[]>("jobs", "list", "--limit", "2", ...(last ? ["--before", last] : []));
    listed.push(...page.map((job) => job.id));
    more = page.length === 2;
  }
  expect(listed).toEqual(ids);
  expect((await acme.attempt("jobs", "list", "--limit", "2")).stderr).toBe(
    `doorbell: there may be more: --before ${ids[1]}\n`,
  );
  expect(await acme.json("jobs", "list", "--state", "done")).toEqual([]);
  expect(await acme.json("jobs", "list", "--since", "1h")).toHaveLength(5);
  expect(await acme.json("jobs", "list", "--since", "2126-01-01")).toEqual([]);
});

test("an open job is cancelled, once, with the reason on record", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("greet", "--run-after", "1h", "--priority", "-3");
  expect(await acme.run("jobs", "list")).toMatch(/ scheduled +0\/10 /);
  expect(await acme.run("jobs", "show", id)).toMatch(/^next +attempt 1, not before 2\d{3}-/m);
  expect(await acme.run("jobs", "cancel", id, "--reason", "not wanted")).toBe(`cancelled: ${id}\n`);
  expect(await acme.json("jobs", "show", id)).toMatchObject({
    job: { state: "cancelled", attempts: 0, priority: -3, last_error: "not wanted", next: null },
  });
  expect(await acme.attempt("jobs", "cancel", id)).toMatchObject({
    code: 1,
    stderr: `doorbell: job ${id} has settled already: there is nothing to cancel\n`,
  });
});

test("a kind that no worker knows waits, is shown as such everywhere, and loses no attempt", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("strange");
  const told = await eventually("the worker to be seen", async () => {
    const stats = await acme.json<{ workers: unknown[] }>("stats");
    return stats.workers.length === 1 ? stats : null;
  });
  expect(told).toMatchObject({
    kinds: [{ kind: "strange", due: 1, workers: 0 }],
    kinds_without_worker: ["strange"],
    workers: [{ role: "all", slots: 20 }],
    doorbells_dropped: expect.any(Number),
  });
  expect((await acme.attempt("stats")).stderr).toMatch(/^doorbell: no live worker knows kind strange: 1 queued/);

  const listed = await acme.attempt("jobs", "list");
  expect(listed.stdout).toMatch(/ strange +no worker +0\/10 /);
  expect(listed.stderr).toMatch(/^doorbell: no live worker knows kind strange on lane default: .*lose no attempt\n$/);
  expect(await acme.json("jobs", "list")).toMatchObject([{ state: "queued", attempts: 0, workers: 0 }]);
  const shown = await acme.run("jobs", "show", id);
  expect(shown).toMatch(/^state +no worker$/m);
  expect(shown).toMatch(/^next +attempt 1, by a worker that knows its kind and serves its lane: none runs now$/m);
});

test("one sweep tells what it did", async () => {
  expect((await desk.attempt("sweep", "--json")).stdout).toBe('{"expired":0,"dead":0,"rung":0}\n');
  expect((await desk.attempt("sweep")).stdout).toBe("leases expired: 0, dead letters: 0, doorbells rung: 0\n");
});

test("with the application at hand, a kind that it does not have is refused at the door, unless its lane is named", async () => {
  const acme = desk.tenant("acme");
  expect(await acme.attempt("enqueue", "gret", "--app", appFile)).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^doorbell: the application has no kind gret; it has greet, /),
  });
  await acme.enqueue("gret", "--app", appFile, "--lane", "default", "--run-after", "1h");
  expect(await acme.json("jobs", "list")).toMatchObject([{ kind: "gret", lane: "default" }]);
});

test.each([
  ["a payload that is no JSON", ["--payload", "{a}"], /option '--payload <json>': not JSON: /],
  [
    "a payload over 64 KB",
    ["--payload", `"${"x".repeat(70_000)}"`],
    /: the payload .* has 70002 bytes as JSON; at most 65536 /,
  ],
  ["a payload with a NUL", ["--payload", '{"a":{"b":"x\\u0000y"}}'], /: payload\.a\.b contains a NUL character\n/],
  ["a payload with half a character", ["--payload", '["\\ud800"]'], /: payload\[0\] contains a lone surrogate\n/],
  ["a priority beyond 8", ["--priority", "9"], /option '--priority <number>': not a whole number from -8 to 8; see/],
  ["a lane that is none", ["--lane", "Slow lane"], /option '--lane <name>': not made of a-z/],
  ["a time that is none", ["--run-after", "tomorrow"], /option '--run-after <time>': neither a duration/],
])("%s is refused at the door, in one line without the value", async (_, args, refusal) => {
  const acme = desk.tenant("acme");
  const { code, stdout, stderr } = await acme.attempt("enqueue", "greet", ...args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(refusal);
  expect(stderr.length).toBeLessThan(250);
  expect(await acme.json("jobs", "list")).toEqual([]);
});

test("the limit on payloads is the one that is set in the database, for commands too", async () => {
  const acme = desk.tenant("acme");
  const payload = ["--payload", `"${"x".repeat(70_000)}"`];
  await desk.database.query("update doorbell.settings set value = '80000' where name = 'max_value_bytes'");
  try {
    await acme.enqueue("greet", ...payload, "--run-after", "1h");
  } finally {
    await desk.database.query("update doorbell.settings set value = '65536' where name = 'max_value_bytes'");
  }
  expect(await acme.attempt("enqueue", "greet", ...payload)).toMatchObject({ code: 2 });
});
