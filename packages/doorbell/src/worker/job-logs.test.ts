import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createLog, type JobLogSink } from "../telemetry/log.ts";
import { JobLogs } from "./job-logs.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("lines that come while others are being written are kept as well, without another line after them", async () => {
  const kept: number[] = [];
  let answer: () => void = () => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const query = async (_: string, params: readonly unknown[] = []): Promise<readonly never[]> => {
    kept.push((params[0] as readonly unknown[]).length);
    if (kept.length === 1) await answered;
    return [];
  };
  const logs = new JobLogs({ query }, createLog({ level: "silent" }));
  const sink = logs.sink({ tenant: "acme", id: "a job", attempt: 1 } as Parameters<JobLogs["sink"]>[0]);
  const line = { at: new Date(), level: "info", stage: null, message: "…", fields: {} };
  const say = (): void => sink.append(line as Parameters<JobLogSink["append"]>[0]);
  say();
  await vi.advanceTimersByTimeAsync(500);
  say();
  await vi.advanceTimersByTimeAsync(1_000);
  answer();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(kept).toEqual([1, 1]);
});
