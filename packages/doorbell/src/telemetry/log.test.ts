import { expect, test } from "vitest";
import { createLog, type JobLogContext, type JobLogLine, jobLog, type LogLevel } from "./log.ts";

const job: JobLogContext = {
  tenant_id: "acme",
  job_id: "0198c1de-1111-7000-8000-000000000001",
  kind: "invoice.extract",
  attempt: 2,
  object_key: null,
};

function capture(level: LogLevel = "debug", base?: object) {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  const log = createLog({ level, destination, ...(base === undefined ? {} : { base }) });
  return { log, lines, parsed: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

test("a line is one JSON object with level, time, base, message and fields", () => {
  const { log, lines, parsed } = capture("info", { role: "worker" });
  log.info("started", { lanes: ["default"], slots: 20 });
  expect(lines[0]?.endsWith("}\n")).toBe(true);
  expect(parsed()).toEqual([
    { level: "info", time: expect.any(String), role: "worker", lanes: ["default"], slots: 20, message: "started" },
  ]);
  expect(new Date(parsed()[0]?.["time"] as string).toISOString()).toBe(parsed()[0]?.["time"]);
});

test("lines below the level are not written", () => {
  const { log, parsed } = capture("warn");
  log.debug("no");
  log.info("no");
  log.warn("yes");
  log.error("yes");
  expect(parsed().map(({ level }) => level)).toEqual(["warn", "error"]);
});

test("every line of a job says whose it is, in a stage and outside of one", () => {
  const { log, parsed } = capture();
  const bound = jobLog(log, { ...job, object_key: "sha256/abc" });
  bound.info("outside");
  bound.withStage("extract").debug("inside", { pages: 3 });
  const { object_key: _, ...rest } = job;
  expect(parsed()).toEqual([
    expect.objectContaining({ ...rest, object_key: "sha256/abc", stage: null, message: "outside" }),
    expect.objectContaining({ ...rest, object_key: "sha256/abc", stage: "extract", message: "inside", pages: 3 }),
  ]);
});

test("no field of a caller replaces what the line says about itself", () => {
  const { log, lines, parsed } = capture("info", { role: "worker" });
  log.info("mine", { role: "forged", level: "error", message: "forged", time: 0 });
  jobLog(log, job).info("mine", { tenant_id: "other", job_id: "x", stage: "x", attempt: 9, level: "x" });
  expect(parsed()[0]).toMatchObject({ role: "worker", level: "info", message: "mine", field_role: "forged" });
  expect(parsed()[1]).toMatchObject({ ...job, stage: null, level: "info", field_tenant_id: "other", field_attempt: 9 });
  for (const line of lines) {
    const names = [...line.matchAll(/"(\w+)":/g)].map((match) => match[1]);
    expect(new Set(names).size).toBe(names.length);
  }
});

test("lines of interleaved jobs, stages side by side and late lines are never another job's", async () => {
  const { log, parsed } = capture();
  const jobs = Array.from({ length: 50 }, (_, index) => ({
    ...job,
    tenant_id: `t${index % 2}`,
    job_id: `job-${index}`,
  }));
  const late: Promise<void>[] = [];
  await Promise.all(
    jobs.map(async (context) => {
      const bound = jobLog(log, context);
      const stages = ["fetch", "extract"].map(async (stage) => {
        const staged = bound.withStage(stage);
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 5));
        staged.info("in a stage", { expected: context.job_id, expectedStage: stage });
        late.push(
          Promise.resolve().then(() => staged.info("late", { expected: context.job_id, expectedStage: stage })),
        );
      });
      await Promise.all(stages);
    }),
  );
  await Promise.all(late);
  expect(parsed()).toHaveLength(200);
  for (const line of parsed()) {
    expect(line["job_id"]).toBe(line["expected"]);
    expect(line["stage"]).toBe(line["expectedStage"]);
    expect(line["tenant_id"]).toBe(jobs[Number(String(line["job_id"]).slice(4))]?.tenant_id);
  }
});

test("the same lines are offered to the sink, in order, from its level on", () => {
  const { log, parsed } = capture();
  const kept: JobLogLine[] = [];
  const bound = jobLog(log, job, { append: (line) => void kept.push(line) });
  bound.debug("too small");
  bound.info("one", { token: "hunter2" });
  bound.withStage("persist").error("two");
  expect(parsed().map(({ message }) => message)).toEqual(["too small", "one", "two"]);
  expect(kept).toEqual([
    { ...job, stage: null, at: expect.any(Date), level: "info", message: "one", fields: { token: "[redacted]" } },
    { ...job, stage: "persist", at: expect.any(Date), level: "error", message: "two", fields: {} },
  ]);
});

test("a sink or a destination that throws does not fail the handler", () => {
  const { log, parsed } = capture();
  const broken = jobLog(log, job, {
    append() {
      throw new Error("the buffer is full");
    },
  });
  broken.info("still here");
  expect(parsed().map(({ message }) => message)).toEqual(["still here", "a line of a job could not be kept"]);
  const gone = createLog({
    destination: {
      write() {
        throw new Error("EPIPE");
      },
    },
  });
  expect(() => gone.info("x")).not.toThrow();
});

test("a line is at most 8 KB whatever is put into it, and still says whose it is", () => {
  const { log, lines, parsed } = capture("info", { role: "worker" });
  const longest = { ...job, tenant_id: "\t".repeat(200), object_key: '"'.repeat(1_024), kind: "k".repeat(200) };
  const fields = { a: "\u{1}".repeat(1_900), b: "x".repeat(100_000), c: Array(1_000).fill('"'.repeat(50)), d: 1 };
  jobLog(log, longest).error('"\u{1b}'.repeat(50_000), fields);
  log.error("\n".repeat(50_000), fields);
  for (const line of lines) expect(Buffer.byteLength(line)).toBeLessThanOrEqual(8_192);
  expect(parsed()[0]).toMatchObject({ job_id: job.job_id, object_key: longest.object_key });
  expect(parsed()[0]?.["message"]).toMatch(/\[cut\]$/);
});

test("an error keeps its name, message and the top of its stack", () => {
  const { log, parsed } = capture();
  jobLog(log, job).error("failed", { error: new TypeError("x".repeat(20_000), { cause: new Error("y") }) });
  jobLog(log, job).error("failed", new RangeError("as the fields"));
  expect(parsed()[0]).toMatchObject({ error: { name: "TypeError", stack: expect.stringContaining("log.test.ts") } });
  expect(parsed()[1]).toMatchObject({ name: "RangeError", field_message: "as the fields", message: "failed" });
});

test("a message that is no string does not fail", () => {
  const { log, parsed } = capture();
  for (const message of [undefined, null, 1, {}, Symbol("x")]) log.info(message as string);
  expect(parsed()).toHaveLength(5);
});

test("secrets appear nowhere in a line", () => {
  const { log, lines } = capture();
  const canary = "kA9x7Qz";
  log.error(`GET https://u:${canary}@h.example/?token=${canary}`, {
    config: { headers: { Authorization: `Bearer ${canary}`, "x-api-key": canary } },
    url: new URL(`https://u:${canary}@h.example/`),
    error: new Error(`password=${canary}`),
    list: [[`secret: ${canary}`]],
  });
  expect(lines.join("")).not.toContain(canary);
  expect(lines.join("")).toContain("h.example");
});
