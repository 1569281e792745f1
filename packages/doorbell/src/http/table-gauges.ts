// The gauges that are read from the table at each scrape: right for every process that is asked, over all tenants, and
// labelled by kind only. The numbers come from the rows, not from a queue's depth.
import type { KindStats } from "../store/maintenance.ts";
import type { GaugeFamily, GaugeReading, Metrics } from "../telemetry/metrics.ts";

interface TableGauge {
  readonly name: string;
  readonly help: string;
  readonly read: (stats: KindStats) => number;
}

const gauges: readonly TableGauge[] = [
  { name: "doorbell_backlog", help: "Jobs that are due and not claimed.", read: (stats) => stats.due },
  { name: "doorbell_scheduled", help: "Queued jobs that are not due yet.", read: (stats) => stats.scheduled },
  { name: "doorbell_claimed", help: "Jobs that a worker holds.", read: (stats) => stats.claimed },
  { name: "doorbell_stuck", help: "Claimed jobs whose lease has expired.", read: (stats) => stats.stuck },
  { name: "doorbell_waiting", help: "Jobs that wait for a person or an event.", read: (stats) => stats.waiting },
  {
    name: "doorbell_oldest_due_seconds",
    help: "For how long the oldest job of the backlog has been due; 0 for none.",
    read: (stats) => stats.oldest_due_seconds ?? 0,
  },
  {
    name: "doorbell_dead_letters",
    help: "Failed jobs that nobody has dealt with.",
    read: (stats) => stats.dead_letters,
  },
  { name: "doorbell_in_doubt", help: "Waiting jobs with an effect in doubt.", read: (stats) => stats.in_doubt },
  {
    name: "doorbell_jobs_without_worker",
    help: "Jobs of the backlog whose kind no live worker knows.",
    read: (stats) => (stats.workers === 0 ? stats.due : 0),
  },
];

const families: readonly GaugeFamily[] = gauges.map(({ name, help }) => ({ name, help, labels: ["kind"] }));

/**
 * Adds them to the page, as `readStats` gives them for all tenants; the function returned takes them off. One reading at a time, also where scrapes come faster than Postgres answers: they must not use up the connections.
 */
export function exposeTable(metrics: Metrics, readStats: () => Promise<readonly KindStats[]>): () => void {
  let running: Promise<readonly GaugeReading[]> | null = null;
  const read = async (): Promise<readonly GaugeReading[]> => (await readStats()).flatMap(readingsOf);
  return metrics.onScrape(families, () => {
    running ??= read().finally(() => {
      running = null;
    });
    return running;
  });
}

function readingsOf(stats: KindStats): readonly GaugeReading[] {
  return gauges.map(({ name, read }) => ({ name, value: read(stats), labels: { kind: stats.kind } }));
}
