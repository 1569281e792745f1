import { expect, test } from "vitest";
import { signal } from "../../test/support.ts";
import type { GaugeReading, ReadGauges } from "../telemetry/metrics.ts";
import { createMetrics } from "../telemetry/metrics.ts";
import { exposeTable } from "./table-gauges.ts";

const row = {
  kind: "greet",
  due: 3,
  scheduled: 1,
  retrying: 0,
  claimed: 2,
  stuck: 1,
  waiting: 0,
  oldest_due_seconds: 12.5,
  dead_letters: 4,
  in_doubt: 0,
  workers: 0,
};

test("every gauge is filled from the row of its kind", async () => {
  const metrics = createMetrics();
  metrics.close();
  exposeTable(metrics, async () => [row]);
  const { body } = await metrics.expose();
  const shown = body.split("\n").filter((line) => line.includes('kind="greet"'));
  expect(shown.sort()).toEqual([
    'doorbell_backlog{kind="greet"} 3',
    'doorbell_claimed{kind="greet"} 2',
    'doorbell_dead_letters{kind="greet"} 4',
    'doorbell_in_doubt{kind="greet"} 0',
    'doorbell_jobs_without_worker{kind="greet"} 3',
    'doorbell_oldest_due_seconds{kind="greet"} 12.5',
    'doorbell_scheduled{kind="greet"} 1',
    'doorbell_stuck{kind="greet"} 1',
    'doorbell_waiting{kind="greet"} 0',
  ]);
});

test("a reading that has not come back is not asked for again", async () => {
  let queries = 0;
  const answer = signal();
  const readers: ReadGauges[] = [];
  const metrics = createMetrics();
  metrics.close();
  exposeTable(
    {
      ...metrics,
      onScrape: (_, read) => {
        readers.push(read);
        return () => {};
      },
    },
    async () => {
      queries += 1;
      await answer.promise;
      return [row];
    },
  );
  const [read] = readers;
  const readings: Promise<readonly GaugeReading[]>[] = [];
  for (let scrape = 0; scrape < 5; scrape += 1) readings.push(read?.() ?? Promise.resolve([]));
  answer.resolve();
  for (const reading of await Promise.all(readings)) expect(reading).toHaveLength(9);
  expect(queries).toBe(1);
});
