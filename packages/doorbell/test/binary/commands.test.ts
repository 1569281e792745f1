// The commands, one after another as a person would use them, beside a process that works.
import { writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { eventually } from "../support.ts";
import { appFile, type Ended, type Environment, ownDatabase, Running, run, scratchFolder } from "./support.ts";

interface Desk {
  readonly env: Environment;
  /** Runs a command for a tenant, which must succeed; its standard output. */
  readonly as: (tenant: string, ...args: readonly string[]) => Promise<string>;
  readonly json: <T>(tenant: string, ...args: readonly string[]) => Promise<T>;
  /** Runs a command, however it ends. */
  readonly attempt: (...args: readonly string[]) => Promise<Ended>;
  readonly work: (env?: Environment) => Promise<Running>;
  /** Waits until the job is in this state. */
  readonly until: (id: string, state: string, attempts?: number) => Promise<void>;
}

async function openDesk(): Promise<Desk> {
  const database = await ownDatabase();
  const folder = scratchFolder();
  const env = { DATABASE_URL: database.appUrl, DOORBELL_OBJECTS: `file:${folder}/objects` };
  const as: Desk["as"] = async (tenant, ...args) => {
    const ended = await run([...args, "--tenant", tenant], env, folder);
    if (ended.code !== 0) throw new Error(`${args.join(" ")}: exit code ${ended.code}: ${ended.stderr}`);
    return ended.stdout;
  };
  return {
    env,
    as,
    json: async (tenant, ...args) => JSON.parse(await as(tenant, ...args, "--json")),
    attempt: (...args) => run(args, env, folder),
    work: (more = {}) => Running.start(["--app", appFile], { ...env, DOORBELL_LEASE: "1s", ...more }, folder),
    until: async (id, state, attempts = 1) => {
      await eventually(`job ${id} to be ${state} in attempt ${attempts}`, async () => {
        const [job] = await database.query<{ state: string; attempts: number }>(
          "select state, attempts from doorbell.all_jobs where id = $1",
          [id],
        );
        return job?.state === state && job.attempts === attempts;
      });
    },
  };
}

const nobodysJob = "01a22ffe-559a-7368-a7f2-d80e2da27449";

test("a job is enqueued, runs, and is shown in lists, alone and as a story; its payload only if asked for", async () => {
  const { as, json, work, until } = await openDesk();
  await work();
  const first = await json<{ id: string; created: boolean }>(
    "acme",
    "enqueue",
    "greet",
    "--key",
    "k",
    "--payload",
    '{"secret":7}',
  );
  expect(first.created).toBe(true);
  expect(await json("acme", "enqueue", "greet", "--key", "k")).toEqual({ id: first.id, created: false });
  await until(first.id, "done");

  const listed = await json<Record<string, unknown>[]>("acme", "jobs", "list", "--kind", "greet");
  expect(listed).toEqual([expect.objectContaining({ id: first.id, state: "done", result: { attempt: 1 } })]);
  expect(listed[0]).not.toHaveProperty("payload");
  expect(await as("acme", "jobs", "list")).toMatch(new RegExp(`^JOB +KIND +STATE.*\n${first.id}  greet +done +1/10 `));

  const shown = await as("acme", "jobs", "show", first.id);
  expect(shown).toMatch(/^state +done$/m);
  expect(shown).toMatch(/^hello +effect +completed /m);
  expect(shown).not.toContain("secret");
  expect(await as("acme", "jobs", "show", first.id, "--payload")).toMatch(/^payload +\{"secret":7\}$/m);

  const story = (await as("acme", "logs", first.id)).trimEnd().split("\n");
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
  const { as, attempt } = await openDesk();
  const id = (await as("acme", "enqueue", "greet")).trim();
  const asked = async (job: string): Promise<readonly unknown[]> => {
    const other = ["--tenant", "other"];
    const commands = [
      ["jobs", "show", job, ...other],
      ["jobs", "cancel", job, ...other],
      ["logs", job, ...other],
      ["replay", job, ...other],
      ["dead-letters", "replay", job, ...other],
      ["effects", "resolve", job, "hello", "--happened", "--reason", "r", ...other],
    ];
    const answers = await Promise.all(commands.map((command) => attempt(...command)));
    return answers.map((answer) => ({ ...answer, stderr: answer.stderr.replaceAll(job, "JOB") }));
  };
  const answers = await asked(id);
  expect(answers).toEqual(await asked(nobodysJob));
  expect(answers[0]).toEqual({ code: 1, stdout: "", stderr: "doorbell: no such job: JOB\n" });
});

test("replay by object key runs the newest job of each kind again, and repeats no completed effect", async () => {
  const { as, json, attempt, env, work, until } = await openDesk();
  await work();
  const file = `${scratchFolder()}/invoice.xml`;
  writeFileSync(file, "<invoice/>");
  const key = (await as("acme", "objects", "put", file)).trim();
  expect(await as("acme", "objects", "get", key)).toBe("<invoice/>");
  const older = (await as("acme", "enqueue", "greet", "--object-key", key)).trim();
  const newer = (await as("acme", "enqueue", "greet", "--object-key", key)).trim();
  await until(older, "done");
  await until(newer, "done");

  const planned = await json("acme", "replay", "--object-key", key, "--dry-run");
  expect(planned).toEqual([
    { id: newer, kind: "greet", object_key: key, next_attempt: 2, answer: "would be replayed" },
  ]);
  expect(await as("acme", "replay", "--object-key", key)).toContain(newer);
  await until(newer, "done", 2);
  await until(older, "done", 1);

  const story = await json<{ message: string; attempt: number }[]>("acme", "logs", newer);
  const claims = story.filter((line) => / claimed$/.test(line.message));
  expect(claims.map((line) => line.attempt)).toEqual([1, 2]);
  expect(story.filter((line) => line.message === "effect hello begun")).toHaveLength(1);
  const shown = await json<{ job: object }>("acme", "jobs", "show", newer);
  expect(shown.job).toMatchObject({ object_key: key, object_size: 10, result: { attempt: 2 } });

  expect(await attempt("replay", "--object-key", "none", "--tenant", "acme")).toMatchObject({ code: 1 });
  expect(await attempt("replay", "--tenant", "acme")).toMatchObject({ code: 2 });
  expect(env["DOORBELL_OBJECTS"]).toBeDefined();
});

test("the story of a job whose worker was killed tells both attempts, in order, with the killed one's lines", async () => {
  const { as, json, work } = await openDesk();
  const first = await work();
  const id = (await as("acme", "enqueue", "long")).trim();
  await eventually("the line to be kept", async () => {
    const story = await json<{ message: string }[]>("acme", "logs", id);
    return story.some((line) => line.message === "begun");
  });
  first.kill("SIGKILL");
  await first.ended();
  const second = await work({ DOORBELL_SWEEP_EVERY: "200ms" });
  await second.says("begun");
  const story = await eventually("the second attempt's line to be kept", async () => {
    const lines = await json<{ message: string; attempt: number }[]>("acme", "logs", id);
    return lines.filter((line) => line.message === "begun").length === 2 ? lines : null;
  });
  expect(story.map(({ attempt, message }) => `#${attempt} ${message}`)).toEqual([
    "#0 enqueued",
    "#1 attempt 1 claimed",
    "#1 begun",
    "#1 attempt 1 ended: lost",
    "#2 attempt 2 claimed",
    "#2 begun",
  ]);
});

test("an effect in doubt is shown, with what to do; a person's answer, on record, lets the job go on with it", async () => {
  const { as, json, attempt, work, until } = await openDesk();
  await work();
  const id = (await as("acme", "enqueue", "doubtful")).trim();
  await until(id, "waiting", 2);

  const shown = await as("acme", "jobs", "show", id);
  expect(shown).toMatch(/^charge card +effect +IN DOUBT /m);
  expect(shown).toContain(`doorbell effects resolve ${id} 'charge card' --tenant acme --happened`);
  expect(await json("acme", "effects", "list", "--in-doubt")).toMatchObject([{ job_id: id, state: "in_doubt" }]);
  expect(await json("acme", "stats")).toMatchObject({ kinds: [{ kind: "doubtful", waiting: 1, in_doubt: 1 }] });

  const resolve = ["effects", "resolve", id, "charge card", "--tenant", "acme"];
  expect(await attempt(...resolve, "--happened")).toMatchObject({ code: 2 });
  expect(await attempt(...resolve, "--reason", "r")).toMatchObject({ code: 2 });
  expect(await attempt(...resolve, "--happened", "--did-not-happen", "--reason", "r")).toMatchObject({ code: 2 });
  const answer = ["--happened", "--value", '{"charged":true}', "--reason", "the bank says so", "--actor", "anna"];
  expect(await attempt(...resolve, ...answer)).toMatchObject({ code: 0 });
  await until(id, "done", 3);

  const after = await json<{ job: object; effects: object[] }>("acme", "jobs", "show", id);
  expect(after.job).toMatchObject({ result: { charged: true } });
  expect(after.effects).toMatchObject([
    { key: "charge card", state: "completed", source: "person", actor: "anna", reason: "the bank says so" },
  ]);
  expect(await attempt(...resolve, "--did-not-happen", "--reason", "r")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("is not in doubt"),
  });
});

test("dead letters are listed, grouped, replayed, and put aside with a reason", async () => {
  const { as, json, attempt, work, until } = await openDesk();
  await work();
  const one = (await as("acme", "enqueue", "broken")).trim();
  const two = (await as("acme", "enqueue", "broken")).trim();
  await until(one, "failed");
  await until(two, "failed");

  expect(await json("acme", "dead-letters", "list")).toMatchObject([{ id: two, error_code: "broken" }, { id: one }]);
  const groups = await json<{ fingerprint: string }[]>("acme", "dead-letters", "list", "--group");
  expect(groups).toMatchObject([{ kind: "broken", jobs: 2, error_code: "broken" }]);
  expect(await json("other", "dead-letters", "list")).toEqual([]);

  const group = ["--fingerprint", groups[0]?.fingerprint ?? ""];
  expect(await json("acme", "dead-letters", "replay", ...group, "--dry-run")).toHaveLength(2);
  await as("acme", "dead-letters", "replay", one);
  await until(one, "failed", 2);
  await as("acme", "replay", "--kind", "broken");
  await until(one, "failed", 3);
  await until(two, "failed", 2);

  expect(await attempt("dead-letters", "discard", one, "--tenant", "acme")).toMatchObject({ code: 2 });
  expect(await as("acme", "dead-letters", "discard", one, "--reason", "a test")).toBe("discarded: 1\n");
  expect(await attempt("dead-letters", "discard", one, two, "--tenant", "acme", "--reason", "r")).toMatchObject({
    code: 1,
    stderr: `doorbell: no such dead letter: job ${one} is discarded\n`,
  });
  expect(await json("acme", "dead-letters", "discard", "--all", "--reason", "r")).toEqual([two]);
  expect(await json("acme", "dead-letters", "list")).toEqual([]);
});

test("open jobs are cancelled, and a kind that nobody knows waits, is told, and loses no attempt", async () => {
  const { as, json, attempt, work, until } = await openDesk();
  await work();
  const id = (await as("acme", "enqueue", "greet", "--run-after", "1h", "--priority", "-3")).trim();
  expect(await as("acme", "jobs", "list")).toMatch(/ scheduled +0\/10 /);
  expect(await as("acme", "jobs", "cancel", id, "--reason", "not wanted")).toBe(`cancelled: ${id}\n`);
  await until(id, "cancelled", 0);
  expect(await attempt("jobs", "cancel", id, "--tenant", "acme")).toMatchObject({
    code: 1,
    stderr: expect.stringContaining("has settled already"),
  });

  const strange = (await as("acme", "enqueue", "strange")).trim();
  const stats = await eventually("the worker to be seen", async () => {
    const { code, stdout, stderr } = await attempt("stats", "--json");
    if (code !== 0) throw new Error(stderr);
    const told = JSON.parse(stdout);
    return told.workers.length > 0 ? told : null;
  });
  expect(stats).toMatchObject({
    kinds: [{ kind: "strange", due: 1, workers: 0 }],
    kinds_without_worker: ["strange"],
    workers: [{ role: "all", slots: 20 }],
    doorbells_dropped: 0,
  });
  expect((await attempt("jobs", "show", strange, "--tenant", "acme")).stderr).toContain(
    "no live worker knows kind strange",
  );
  expect((await attempt("stats")).stderr).toContain("no live worker knows kind strange: 1 jobs wait");
  expect(await json("acme", "jobs", "list", "--kind", "strange")).toMatchObject([{ state: "queued", attempts: 0 }]);
  expect((await attempt("sweep", "--json")).stdout).toBe('{"expired":0,"dead":0,"rung":0}\n');
});

test("with the application at hand, a kind that it does not have is refused at the door", async () => {
  const { attempt } = await openDesk();
  const ended = await attempt("enqueue", "gret", "--tenant", "acme", "--app", appFile);
  expect(ended).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringMatching(/^doorbell: .*no kind gret; it has greet, /),
  });
});

test("the schema is checked, printed and made; who may not make it is told what to do", async () => {
  const database = await ownDatabase();
  const name = `${new URL(database.adminUrl).pathname.slice(1)}_empty`;
  await database.query(`create database ${name}`);
  const admin = { DATABASE_URL: database.adminUrl.replace(/[^/]+$/, name) };
  const app = { DATABASE_URL: database.appUrl.replace(/[^/]+$/, name) };
  try {
    expect(await run(["migrate", "--check"], admin)).toMatchObject({ code: 1, stdout: /behind: .*0001_tables\.sql/ });
    expect(await run(["migrate"], app)).toMatchObject({
      code: 1,
      stderr: /^doorbell: this login may not migrate: .*--sql/,
    });
    const refused = await run(["start", "--role", "web"], { ...app, DOORBELL_OBJECTS: "memory:" });
    expect(refused).toMatchObject({
      code: 78,
      stderr: expect.stringMatching(/no schema of Doorbell \(doorbell migrate/),
    });
    expect(await run(["migrate"], admin)).toMatchObject({ code: 0, stdout: /^applied: 0001_tables\.sql/ });
    expect(await run(["migrate"], admin)).toMatchObject({ code: 0, stdout: /already/ });
    expect(await run(["migrate", "--check"], app)).toMatchObject({ code: 0 });
    expect((await run(["migrate", "--sql"])).stdout).toMatch(
      /^begin;\n[\s\S]*create table doorbell\.jobs[\s\S]*commit;\n$/,
    );
  } finally {
    await database.query(`drop database ${name} with (force)`);
  }
});

test.each([
  ["no command", [], /^Usage: doorbell /],
  ["an unknown command", ["strat"], /^doorbell: unknown command 'strat' .*start/],
  ["an unknown option", ["stats", "--bogus"], /^doorbell: unknown option '--bogus'\n$/],
  ["no tenant", ["jobs", "list"], /^doorbell: required option '--tenant <id>' not specified\n$/],
  ["a tenant that is none", ["jobs", "list", "--tenant", "*"], /^doorbell: .*stands for all tenants\n$/],
  ["a job that is no id", ["jobs", "show", "7", "--tenant", "acme"], /^doorbell: .*not a UUID\n$/],
  [
    "a payload that is no JSON",
    ["enqueue", "greet", "--tenant", "acme", "--payload", "{a}"],
    /^doorbell: .*not JSON.*\n$/,
  ],
  ["a bad setting", ["start", "--role", "boss"], /^doorbell: --role is "boss"; choose web, worker, all\n$/],
])("%s is a usage error: exit code 2, and what is wrong", async (_, args, stderr) => {
  const ended = await run(args);
  expect(ended).toMatchObject({ code: 2, stdout: "" });
  expect(ended.stderr).toMatch(stderr);
});
