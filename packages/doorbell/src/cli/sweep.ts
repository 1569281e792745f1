// `doorbell sweep`: one pass of the sweeper, now.
import { Command } from "commander";
import { sweepOnce } from "../maintenance/sweeper.ts";
import { jsonOption } from "./arguments.ts";
import { withClient } from "./client.ts";
import { print, printJson } from "./output.ts";

export function sweepCommand(): Command {
  return new Command("sweep")
    .description("ring jobs whose doorbell was lost, and take back expired leases; for a member of doorbell_worker")
    .addOption(jsonOption())
    .action(async ({ json = false }: { readonly json?: boolean }) => {
      const report = await withClient({}, (client) => sweepOnce(client.database));
      if (json) printJson(report);
      else print(`leases expired: ${report.expired}, dead letters: ${report.dead}, doorbells rung: ${report.rung}`);
    });
}
