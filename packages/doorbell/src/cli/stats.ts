// `doorbell stats`: the state of the table per kind, and the processes that have said so in the last half minute.
import { Command, Option } from "commander";
import { requireTenant } from "../core/tenant.ts";
import { type KindStats, kindStats, listWorkers, type WorkerRow } from "../store/maintenance.ts";
import { jsonOption } from "./arguments.ts";
import { withClient } from "./client.ts";
import { instant, note, print, printJson, printTable } from "./output.ts";
import type { Column } from "./table.ts";

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

export function statsCommand(): Command {
  return new Command("stats")
    .description("what is due, claimed, stuck, waiting and dead, per kind, and who works")
    .addOption(new Option("--tenant <id>", "of one tenant only").argParser(requireTenant))
    .addOption(jsonOption())
    .action(async ({ tenant, json = false }: { readonly tenant?: string; readonly json?: boolean }) => {
      const { kinds, workers } = await withClient({}, async (client) => ({
        kinds: await (tenant === undefined ? kindStats(client.database) : client.transaction(tenant, kindStats)),
        workers: await listWorkers(client.database),
      }));
      const unhandled = kinds.filter((stats) => stats.workers === 0 && stats.due + stats.scheduled > 0);
      const doorbellsDropped = workers.reduce((sum, worker) => sum + worker.doorbells_dropped, 0);
      if (json) {
        printJson({
          kinds,
          workers,
          kinds_without_worker: unhandled.map((stats) => stats.kind),
          doorbells_dropped: doorbellsDropped,
        });
        return;
      }
      if (kinds.length === 0) note("no jobs are open or dead");
      else printTable(kinds, kindColumns);
      print("");
      if (workers.length === 0) note("no process runs");
      else printTable(workers, workerColumns);
      print(`\ndoorbells dropped by these processes: ${doorbellsDropped}`);
      for (const { kind, due, scheduled } of unhandled) {
        note(`no live worker knows kind ${kind}: ${due + scheduled} jobs wait, and lose no attempt`);
      }
    });
}
