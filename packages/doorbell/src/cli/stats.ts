// `doorbell stats`: the state of the table per kind, and the processes that have said so in the last half minute.
import { setTimeout as delay } from "node:timers/promises";
import { Command, Option } from "commander";
import type { Client } from "../client/client.ts";
import { requireTenant } from "../core/tenant.ts";
import { type Breaker, listBreakers } from "../store/breakers.ts";
import { type KindStats, kindStats, listWorkers, type WorkerRow } from "../store/maintenance.ts";
import { forEveryTenant } from "../store/tenancy.ts";
import { jsonOption, parser } from "./arguments.ts";
import { breakerColumns } from "./breakers.ts";
import { withClient } from "./client.ts";
import { instant, note, print, printJson, printTable } from "./output.ts";
import type { Column } from "./table.ts";

const watchMs = 2_000;
/** Cursor home, and everything from there on erased. */
const clearScreen = "\u{1b}[H\u{1b}[J";

const kindColumns: readonly Column<KindStats>[] = [
  { title: "kind", value: (stats) => stats.kind, whole: true },
  { title: "due", value: (stats) => stats.due },
  {
    title: "oldest",
    value: (stats) => (stats.oldest_due_seconds === null ? null : `${Math.round(stats.oldest_due_seconds)} s`),
  },
  { title: "scheduled", value: (stats) => stats.scheduled },
  { title: "retrying", value: (stats) => stats.retrying },
  { title: "claimed", value: (stats) => stats.claimed },
  { title: "stuck", value: (stats) => stats.stuck },
  { title: "waiting", value: (stats) => stats.waiting },
  { title: "in doubt", value: (stats) => stats.in_doubt },
  { title: "dead letters", value: (stats) => stats.dead_letters },
  { title: "workers", value: (stats) => stats.workers },
];

const workerColumns: readonly Column<WorkerRow>[] = [
  { title: "process", value: (worker) => worker.id, whole: true },
  { title: "role", value: (worker) => worker.role },
  { title: "running", value: (worker) => (worker.slots === 0 ? null : `${worker.running}/${worker.slots}`) },
  { title: "draining", value: (worker) => (worker.draining ? "yes" : "no") },
  { title: "dropped", value: (worker) => worker.doorbells_dropped },
  { title: "seen", value: (worker) => instant(worker.seen_at) },
  { title: "lanes", value: (worker) => worker.lanes.join(" ") },
  { title: "kinds", value: (worker) => worker.kinds.join(" ") },
];

interface Stats {
  readonly kinds: readonly KindStats[];
  readonly workers: readonly WorkerRow[];
  /** Kinds that are paused for a tenant, for their jobs fail alike. */
  readonly breakers: readonly Breaker[];
  /** Kinds with queued jobs that no live worker knows. */
  readonly kinds_without_worker: readonly string[];
  /** By the live processes, since each began. */
  readonly doorbells_dropped: number;
}

interface Given {
  readonly tenant?: string;
  readonly watch?: boolean;
  readonly json?: boolean;
}

export function statsCommand(): Command {
  return new Command("stats")
    .description("what is due, claimed, stuck, waiting and dead, per kind, and who works")
    .addOption(new Option("--tenant <id>", "the jobs of one tenant only").argParser(parser(requireTenant)))
    .option("--watch", `again every ${watchMs / 1_000} s, until it is interrupted; with --json a document a line`)
    .addOption(jsonOption())
    .action(({ tenant, watch = false, json = false }: Given) =>
      withClient({}, async (client) => {
        const clears = watch && !json && process.stdout.isTTY;
        for (;;) {
          const stats = await look(client, tenant);
          if (clears) process.stdout.write(clearScreen);
          if (json) printJson(stats);
          else printStats(stats);
          if (!watch) return;
          await delay(watchMs);
        }
      }),
    );
}

async function look(client: Client, tenant: string | undefined): Promise<Stats> {
  const kinds = await (tenant === undefined
    ? forEveryTenant(client.database, client.tenancy, kindStats)
    : client.transaction(tenant, kindStats));
  const breakers = await (tenant === undefined
    ? forEveryTenant(client.database, client.tenancy, listBreakers)
    : client.transaction(tenant, listBreakers));
  const workers = await listWorkers(client.database);
  return {
    kinds,
    workers,
    breakers,
    kinds_without_worker: kinds.filter((one) => one.workers === 0 && queued(one) > 0).map((one) => one.kind),
    doorbells_dropped: workers.reduce((sum, worker) => sum + worker.doorbells_dropped, 0),
  };
}

function printStats({ kinds, workers, breakers, kinds_without_worker, doorbells_dropped }: Stats): void {
  if (kinds.length === 0) print("no jobs are open or dead");
  else printTable(kinds, kindColumns);
  print("");
  if (workers.length === 0) print("no process runs");
  else printTable(workers, workerColumns);
  if (breakers.length > 0) {
    print("\npaused:");
    printTable(breakers, breakerColumns);
  }
  print(`\ndoorbells dropped by these processes: ${doorbells_dropped}`);
  for (const stats of kinds) {
    if (!kinds_without_worker.includes(stats.kind)) continue;
    note(`no live worker knows kind ${stats.kind}: ${queued(stats)} queued, and no attempt is lost`);
  }
}

const queued = ({ due, scheduled }: KindStats): number => due + scheduled;
