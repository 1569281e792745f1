import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMetrics, type Metrics } from "./metrics.ts";

let metrics: Metrics;

beforeEach(() => {
  metrics = createMetrics();
});

afterEach(() => {
  metrics.close();
  vi.useRealTimers();
});

async function page(): Promise<string> {
  return (await metrics.expose()).body;
}

async function seriesOf(name: string): Promise<string[]> {
  return (await page()).split("\n").filter((line) => line.startsWith(name));
}

test("what is counted is on the page", async () => {
  metrics.jobsClaimed("invoice.extract", 3);
  metrics.jobSettled("invoice.extract", "completed");
  metrics.doorbellsDropped("not_claimable", 2);
  metrics.leaseLost();
  metrics.effectEnded("webhook", "unknown");
  metrics.sweeperRung(4);
  metrics.sweeperExpired(5);
  metrics.sweeperDead(6);
  metrics.sweeperTook(0.01);
  metrics.handlerTook("invoice.extract", 0.2);
  metrics.stageTook("invoice.extract", "fetch", 0.1);
  metrics.setLeakedHandlers(1);
  const body = await page();
  for (const line of [
    'doorbell_jobs_claimed_total{kind="invoice.extract"} 3',
    'doorbell_jobs_settled_total{kind="invoice.extract",outcome="completed"} 1',
    'doorbell_doorbells_dropped_total{reason="not_claimable"} 2',
    "doorbell_lease_lost_total 1",
    'doorbell_effects_total{type="webhook",outcome="unknown"} 1',
    "doorbell_sweeper_rung_total 4",
    "doorbell_sweeper_expired_total 5",
    "doorbell_sweeper_dead_total 6",
    "doorbell_sweeper_seconds_count 1",
    'doorbell_handler_seconds_count{kind="invoice.extract"} 1',
    'doorbell_stage_seconds_count{kind="invoice.extract",stage="fetch"} 1',
    "doorbell_leaked_handlers 1",
  ]) {
    expect(body).toContain(`\n${line}\n`);
  }
});

test("what has not happened yet is on the page as zero, so that an alert can tell it from a missing process", async () => {
  const body = await page();
  for (const name of ["lease_lost", "sweeper_rung", "sweeper_expired", "sweeper_dead", "scrape_failures"]) {
    expect(body).toContain(`\ndoorbell_${name}_total 0\n`);
  }
});

test("two processes' worth of metrics in one process do not mix", async () => {
  const other = createMetrics();
  other.leaseLost();
  other.close();
  expect(await page()).toContain("doorbell_lease_lost_total 0");
});

test("the first 200 kinds have series of their own, all others share one", async () => {
  for (let count = 0; count < 1_000; count += 1) metrics.jobsClaimed(`kind-${count}`);
  metrics.jobsClaimed("kind-0");
  const series = await seriesOf("doorbell_jobs_claimed_total");
  expect(series).toHaveLength(201);
  expect(series).toContain('doorbell_jobs_claimed_total{kind="kind-0"} 2');
  expect(series).toContain('doorbell_jobs_claimed_total{kind="other"} 800');
});

test("stages, reasons and label texts are bounded too", async () => {
  for (let count = 0; count < 5_000; count += 1) {
    metrics.stageTook(`kind-${count % 300}`, `stage-${count}`, 1);
    metrics.doorbellsDropped(`reason ${count} ${"x".repeat(1_000)}`);
  }
  expect(await seriesOf("doorbell_stage_seconds_count")).toHaveLength(201);
  const dropped = await seriesOf("doorbell_doorbells_dropped_total");
  expect(dropped).toHaveLength(51);
  for (const line of dropped) expect(line.length).toBeLessThan(200);
});

test.each(['"', "\\", "\n", "\0", "\u{d800}", "{}", "é日本"])(
  "a kind of %j makes a page that can be read",
  async (kind) => {
    metrics.jobsClaimed(kind);
    const lines = (await page()).trimEnd().split("\n");
    for (const line of lines) expect(line).toMatch(/^(# (HELP|TYPE) |[a-z_]+(\{.*\})? [\d.e+-]+$|$)/);
  },
);

test.each([Number.NaN, Infinity, -1])("a value of %s is counted as nothing and does not throw", async (value) => {
  metrics.jobsClaimed("k", value);
  metrics.handlerTook("k", value);
  metrics.setLeakedHandlers(value);
  expect(await page()).toContain('doorbell_jobs_claimed_total{kind="k"} 0');
});

const backlog = { name: "doorbell_backlog", help: "Queued jobs.", labels: ["lane"] };

test("gauges from the database are read at every scrape, and vanish with what they counted", async () => {
  let lanes = ["default", "slow"];
  metrics.onScrape([backlog], async () =>
    lanes.map((lane, index) => ({ name: "doorbell_backlog", value: index + 1, labels: { lane } })),
  );
  expect(await seriesOf("doorbell_backlog")).toEqual([
    'doorbell_backlog{lane="default"} 1',
    'doorbell_backlog{lane="slow"} 2',
  ]);
  lanes = ["slow"];
  expect(await seriesOf("doorbell_backlog")).toEqual(['doorbell_backlog{lane="slow"} 1']);
});

test("a reading that fails leaves no stale gauge behind, is counted, and does not take the page with it", async () => {
  let fail = false;
  metrics.onScrape([backlog], async () => {
    if (fail) throw new Error("connection refused");
    return [{ name: "doorbell_backlog", value: 7, labels: { lane: "default" } }];
  });
  expect(await seriesOf("doorbell_backlog")).toHaveLength(1);
  fail = true;
  expect(await seriesOf("doorbell_backlog")).toHaveLength(0);
  expect(await page()).toContain("doorbell_scrape_failures_total 2");
  expect(await page()).toContain("doorbell_lease_lost_total 0");
});

test("a reading that never ends is given up after five seconds", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  metrics.onScrape([backlog], () => new Promise(() => {}));
  const scrape = page();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(await scrape).toContain("doorbell_scrape_failures_total 1");
});

test("scrapes at the same time share one reading", async () => {
  let readings = 0;
  metrics.onScrape([backlog], async () => {
    readings += 1;
    return [];
  });
  await Promise.all([page(), page(), page()]);
  expect(readings).toBe(1);
  await page();
  expect(readings).toBe(2);
});

test("a reading has at most 200 series", async () => {
  metrics.onScrape([backlog], async () =>
    Array.from({ length: 2_000 }, (_, index) => ({
      name: "doorbell_backlog",
      value: 1,
      labels: { lane: `l${index}` },
    })),
  );
  expect(await seriesOf("doorbell_backlog")).toHaveLength(200);
});

test("gauges that are taken back are gone, and their name is free", async () => {
  const remove = metrics.onScrape([backlog], async () => [
    { name: "doorbell_backlog", value: 1, labels: { lane: "x" } },
  ]);
  remove();
  expect(await page()).not.toContain("doorbell_backlog");
  metrics.onScrape([backlog], async () => []);
});

test("a blocked event loop shows as lag, and only until the next scrape", async () => {
  const worstSeconds = async (): Promise<number> => {
    const [line = ""] = await seriesOf('doorbell_event_loop_lag_seconds{quantile="1"}');
    return Number(line.split(" ")[1]);
  };
  await worstSeconds();
  // The measurement needs one look before the block and one after it.
  await new Promise((resolve) => setTimeout(resolve, 60));
  const untilMs = performance.now() + 200;
  while (performance.now() < untilMs);
  await new Promise((resolve) => setTimeout(resolve, 60));
  const blockedSeconds = await worstSeconds();
  expect(blockedSeconds).toBeGreaterThan(0.1);
  expect(await worstSeconds()).toBeLessThan(blockedSeconds);
});
