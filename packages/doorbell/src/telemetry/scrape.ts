// Gauges that are read from the database when somebody scrapes, so that they are right for every process that is asked.
// Owns what happens when reading fails: the gauge is absent, never stale, and the rest of the page still comes.
import { Counter, Gauge, type Registry } from "prom-client";
import { labelCap, otherLabel } from "./label-cap.ts";

export interface GaugeFamily {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
}

export interface GaugeReading {
  readonly name: string;
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
}

/** Reads the values of the families, all of them, each time it is called. */
export type ReadGauges = () => Promise<readonly GaugeReading[]>;

const seriesMax = 200;
const readMaxMs = 5_000;

interface Source {
  readonly gauges: ReadonlyMap<string, Gauge>;
  readonly read: ReadGauges;
}

export interface Scraper {
  /** Adds families and their reader; the function returned takes both back. Throws if a name is taken. */
  add(families: readonly GaugeFamily[], read: ReadGauges): () => void;
  /** The page. Scrapes at the same time share one reading. */
  expose(): Promise<string>;
}

export function createScraper(registry: Registry): Scraper {
  const sources = new Set<Source>();
  const failures = new Counter({
    name: "doorbell_scrape_failures_total",
    help: "Readings of gauges from the database that failed or took longer than 5 seconds.",
    registers: [registry],
  });
  let running: Promise<string> | null = null;

  const refresh = async ({ gauges, read }: Source): Promise<void> => {
    for (const gauge of gauges.values()) gauge.reset();
    try {
      setAll(gauges, await withinTime(read()));
    } catch {
      for (const gauge of gauges.values()) gauge.reset();
      failures.inc();
    }
  };

  return {
    add(families, read) {
      const gauges = new Map<string, Gauge>();
      for (const { name, help, labels = [] } of families) {
        gauges.set(name, new Gauge({ name, help, labelNames: [...labels], registers: [registry] }));
      }
      const source: Source = { gauges, read };
      sources.add(source);
      return () => {
        sources.delete(source);
        for (const name of gauges.keys()) registry.removeSingleMetric(name);
      };
    },
    expose() {
      running ??= Promise.all([...sources].map(refresh))
        .then(() => registry.metrics())
        .finally(() => {
          running = null;
        });
      return running;
    },
  };
}

function setAll(gauges: ReadonlyMap<string, Gauge>, readings: readonly GaugeReading[]): void {
  const cap = labelCap(seriesMax);
  for (const { name, value, labels = {} } of readings) {
    const gauge = gauges.get(name);
    if (gauge === undefined) throw new Error(`a reading for ${name}, which is not one of its families`);
    const names = Object.keys(labels);
    const values = cap(...names.map((label) => labels[label] ?? ""));
    // Values cannot be added up here (they may be ages), so what is over the cap is not shown rather than shown wrong.
    if (names.length > 0 && values.every((shown) => shown === otherLabel)) continue;
    gauge.set(Object.fromEntries(names.map((label, index) => [label, values[index] ?? ""])), value);
  }
}

async function withinTime<T>(reading: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error("too late")), readMaxMs);
  });
  try {
    return await Promise.race([reading, late]);
  } finally {
    clearTimeout(timer);
  }
}
