// `doorbell breakers`: kinds that are paused for a tenant because their jobs fail alike, and a person's word to go on.
import { Command, Option } from "commander";
import { DoorbellError } from "../core/errors.ts";
import { requireTenant } from "../core/tenant.ts";
import { type Breaker, closeBreaker, listBreakers } from "../store/breakers.ts";
import { listWorkers } from "../store/maintenance.ts";
import { forEveryTenant } from "../store/tenancy.ts";
import { jsonOption, parser, tenantOption } from "./arguments.ts";
import { withClient } from "./client.ts";
import { firstLine, instant, print, printJson, printList } from "./output.ts";
import type { Column } from "./table.ts";

export const breakerColumns: readonly Column<Breaker>[] = [
  { title: "tenant", value: (one) => one.tenant_id, whole: true },
  { title: "kind", value: (one) => one.kind, whole: true },
  { title: "since", value: (one) => instant(one.opened_at) },
  { title: "until", value: (one) => instant(one.held_until) },
  { title: "pauses", value: (one) => one.times },
  { title: "fingerprint", value: (one) => one.fingerprint },
  { title: "error", value: (one) => firstLine(one.error) },
];

export function breakersCommand(): Command {
  return new Command("breakers")
    .description("kinds that are paused for a tenant, because their jobs fail alike")
    .addCommand(listCommand())
    .addCommand(closeCommand());
}

function listCommand(): Command {
  return new Command("list")
    .description("the oldest first")
    .addOption(new Option("--tenant <id>", "of one tenant only").argParser(parser(requireTenant)))
    .addOption(jsonOption())
    .action(async ({ tenant, json = false }: { readonly tenant?: string; readonly json?: boolean }) => {
      const breakers = await withClient({}, (client) =>
        tenant === undefined
          ? forEveryTenant(client.database, client.tenancy, listBreakers)
          : client.transaction(tenant, listBreakers),
      );
      printList(breakers, breakerColumns, { json, empty: "nothing is paused" });
    });
}

function closeCommand(): Command {
  return new Command("close")
    .description("its jobs run now; should they fail alike again, they are paused again")
    .argument("<kind>", "the kind")
    .addOption(tenantOption())
    .addOption(jsonOption())
    .action(async (kind: string, { tenant, json = false }: { readonly tenant: string; readonly json?: boolean }) => {
      const closed = await withClient({}, async (client) => {
        const answer = await client.transaction(tenant, (tx) => closeBreaker(tx, tenant, kind));
        const serving = (await listWorkers(client.database)).filter((worker) => worker.kinds.includes(kind));
        for (const lane of new Set(serving.flatMap((worker) => worker.lanes))) client.waker.wake(lane);
        return answer;
      });
      if (!closed) throw new DoorbellError("job_not_found", `kind ${kind} is not paused for this tenant`);
      if (json) printJson({ kind, closed });
      else print(`closed: ${kind}`);
    });
}
