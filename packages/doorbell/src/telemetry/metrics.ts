// What a process counts about itself, and the page that Prometheus reads. One registry per createMetrics, never the
// global one of the library. Owns every name under `doorbell_` that is not read from the database (scrape.ts).
// No label holds a tenant, an id or a message; kinds and stages are capped.
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { labelCap } from "./label-cap.ts";
import { createScraper, type GaugeFamily, type ReadGauges } from "./scrape.ts";

export type { GaugeFamily, GaugeReading, ReadGauges } from "./scrape.ts";

/** Counts and durations of one process. Durations are in seconds. No method ever throws. */
export interface Metrics {
  jobsClaimed(kind: string, count?: number): void;
  jobSettled(kind: string, outcome: string): void;
  doorbellsDropped(reason: string, count?: number): void;
  leaseLost(): void;
  breakerOpened(kind: string): void;
  stageTook(kind: string, stage: string, seconds: number): void;
  handlerTook(kind: string, seconds: number): void;
  effectEnded(type: string, outcome: string): void;
  sweeperRung(count: number): void;
  sweeperExpired(count: number): void;
  sweeperDead(count: number): void;
  sweeperTook(seconds: number): void;
  /** How many handlers run on after their attempt has ended: those that ignore their signal. */
  setLeakedHandlers(count: number): void;

  /** Adds gauges that `read` fills at every scrape; the function returned takes them back. */
  onScrape(families: readonly GaugeFamily[], read: ReadGauges): () => void;
  /** The page in the Prometheus text format. */
  expose(): Promise<{ readonly contentType: string; readonly body: string }>;
  /** Stops the measurement of the event loop. */
  close(): void;
}

const kindsMax = 200;
/** Pairs of kind and stage. */
const stagesMax = 200;
const reasonsMax = 50;

/** From a database round trip to a long document. Few, because each is a series per kind. */
const bucketsSeconds = [0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300];

export function createMetrics(): Metrics {
  const registry = new Registry();
  const registers = [registry];
  const scraper = createScraper(registry);

  const counter = <L extends string>(name: string, help: string, ...labelNames: L[]): Counter<L> =>
    new Counter({ name, help, labelNames, registers });
  const histogram = <L extends string>(name: string, help: string, ...labelNames: L[]): Histogram<L> =>
    new Histogram({ name, help, labelNames, registers, buckets: bucketsSeconds });

  const claimed = counter("doorbell_jobs_claimed_total", "Jobs this process has claimed.", "kind");
  const settled = counter("doorbell_jobs_settled_total", "Attempts this process has settled.", "kind", "outcome");
  const dropped = counter("doorbell_doorbells_dropped_total", "Doorbells that led to no claim.", "reason");
  const leaseLost = counter("doorbell_lease_lost_total", "Attempts that went on after their lease was lost.");
  const breakers = counter(
    "doorbell_breakers_opened_total",
    "Pauses that begun: a kind failed alike for a tenant.",
    "kind",
  );
  const stage = histogram("doorbell_stage_seconds", "Duration of stages of handlers.", "kind", "stage");
  const handler = histogram("doorbell_handler_seconds", "Duration of handlers.", "kind");
  const effects = counter("doorbell_effects_total", "Effects by their outcome.", "type", "outcome");
  const rung = counter("doorbell_sweeper_rung_total", "Jobs the sweeper rang because their doorbell was lost.");
  const expired = counter("doorbell_sweeper_expired_total", "Leases the sweeper found expired.");
  const dead = counter("doorbell_sweeper_dead_total", "Jobs the sweeper moved to the dead letters.");
  const sweep = histogram("doorbell_sweeper_seconds", "Duration of passes of the sweeper.");
  const leaked = new Gauge({
    name: "doorbell_leaked_handlers",
    help: "Handlers that run on after their attempt has ended.",
    registers,
  });

  const kinds = labelCap(kindsMax);
  const stages = labelCap(stagesMax);
  const reasons = labelCap(reasonsMax);
  const capKind = (kind: string): string => kinds(kind)[0] ?? "";
  const capReason = (reason: string): string => reasons(reason)[0] ?? "";

  const eventLoop = monitorEventLoopDelay({ resolution: lagResolutionMs });
  eventLoop.enable();
  registerEventLoopLag(registry, eventLoop);

  return {
    jobsClaimed: (kind, count = 1) => claimed.inc({ kind: capKind(kind) }, counted(count)),
    jobSettled: (kind, outcome) => settled.inc({ kind: capKind(kind), outcome: capReason(outcome) }),
    doorbellsDropped: (reason, count = 1) => dropped.inc({ reason: capReason(reason) }, counted(count)),
    leaseLost: () => leaseLost.inc(),
    breakerOpened: (kind) => breakers.inc({ kind: capKind(kind) }),
    stageTook(kind, name, seconds) {
      const [cappedKind = "", cappedStage = ""] = stages(kind, name);
      stage.observe({ kind: cappedKind, stage: cappedStage }, counted(seconds));
    },
    handlerTook: (kind, seconds) => handler.observe({ kind: capKind(kind) }, counted(seconds)),
    effectEnded: (type, outcome) => effects.inc({ type: capReason(type), outcome: capReason(outcome) }),
    sweeperRung: (count) => rung.inc(counted(count)),
    sweeperExpired: (count) => expired.inc(counted(count)),
    sweeperDead: (count) => dead.inc(counted(count)),
    sweeperTook: (seconds) => sweep.observe(counted(seconds)),
    setLeakedHandlers: (count) => leaked.set(counted(count)),
    onScrape: (families, read) => scraper.add(families, read),
    expose: async () => ({ contentType: registry.contentType, body: await scraper.expose() }),
    close: () => {
      eventLoop.disable();
    },
  };
}

const lagResolutionMs = 20;

function registerEventLoopLag(registry: Registry, eventLoop: IntervalHistogram): void {
  const gauge = new Gauge({
    name: "doorbell_event_loop_lag_seconds",
    help: "How much later than due the event loop came round, since the scrape before.",
    labelNames: ["quantile"],
    registers: [registry],
    collect() {
      for (const quantile of [0.5, 0.99, 1]) {
        // The histogram holds whole intervals between two looks: the interval itself is no lag.
        const lagSeconds = eventLoop.percentile(quantile * 100) / 1e9 - lagResolutionMs / 1e3;
        gauge.set({ quantile: String(quantile) }, eventLoop.count === 0 ? 0 : Math.max(0, lagSeconds));
      }
      eventLoop.reset();
    },
  });
}

/** The library throws for what a counter cannot count; a measurement must not fail what it measures. */
function counted(value: number): number {
  return Number.isFinite(value) && value > 0 ? value : 0;
}
