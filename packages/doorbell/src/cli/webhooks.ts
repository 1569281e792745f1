// `doorbell webhooks`: where a tenant's events are sent, with which secret, and what became of deliveries. A secret is shown
// once, by the command that makes it.
import { Command, Option } from "commander";
import type { Settings } from "../config/settings.ts";
import type { Duration } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { assertStorableText } from "../core/json.ts";
import { addEndpoint, defaultOverlap, type EndpointSecret, rotateSecret } from "../effects/webhooks/endpoints.ts";
import { requireSecretBox, type SecretBox } from "../effects/webhooks/secrets.ts";
import type { Tx } from "../store/database.ts";
import {
  getEndpoint,
  listDeliveries,
  listEndpoints,
  removeEndpoint,
  setEndpointState,
  type WebhookDelivery,
  type WebhookEndpoint,
} from "../store/webhooks.ts";
import {
  duration,
  endpointArgument,
  endpointOption,
  jobId,
  jsonOption,
  reasonOption,
  tenantOption,
  wholeNumber,
} from "./arguments.ts";
import { asTenant, withClient } from "./client.ts";
import { firstLine, instant, note, print, printJson, printList } from "./output.ts";
import type { Column } from "./table.ts";

interface Given {
  readonly tenant: string;
  readonly json?: boolean;
}

export function webhooksCommand(): Command {
  return new Command("webhooks")
    .description("endpoints that a tenant's events are sent to")
    .addCommand(listCommand())
    .addCommand(addCommand())
    .addCommand(removeCommand())
    .addCommand(rotateCommand())
    .addCommand(enableCommand())
    .addCommand(disableCommand())
    .addCommand(deliveriesCommand());
}

const endpointColumns: readonly Column<WebhookEndpoint>[] = [
  { title: "endpoint", value: (endpoint) => endpoint.id, whole: true },
  { title: "state", value: (endpoint) => endpoint.state, whole: true },
  { title: "events", value: (endpoint) => endpoint.events.join(",") },
  { title: "added", value: (endpoint) => instant(endpoint.created_at) },
  { title: "two secrets until", value: (endpoint) => instant(endpoint.old_secret_until) },
  { title: "disabled", value: (endpoint) => instant(endpoint.disabled_at) },
  { title: "url", value: (endpoint) => endpoint.url },
  { title: "reason", value: (endpoint) => firstLine(endpoint.disabled_reason) },
];

function listCommand(): Command {
  return new Command("list")
    .description("in the order in which they were added")
    .addOption(tenantOption())
    .addOption(jsonOption())
    .action(async ({ tenant, json = false }: Given) => {
      const endpoints = await asTenant(tenant, (tx) => listEndpoints(tx, tenant));
      printList(endpoints, endpointColumns, { json, empty: "no endpoints" });
    });
}

function addCommand(): Command {
  return new Command("add")
    .description("add an endpoint; its secret is shown now, and never again")
    .argument("<url>", "https, and public")
    .addOption(tenantOption())
    .addOption(new Option("--event <event...>", "types of events that it wants").default(["*"], "all"))
    .addOption(jsonOption())
    .action(async (url: string, { tenant, event: events, json = false }: Given & { readonly event: string[] }) => {
      const added = await asSealer(tenant, (tx, box, settings) =>
        addEndpoint(tx, { tenant, url, events, allowPrivate: settings.webhookAllowPrivate }, box),
      );
      showSecret(added, json);
    });
}

function rotateCommand(): Command {
  return new Command("rotate")
    .description("give an endpoint a new secret; for a while deliveries are signed with both")
    .addArgument(endpointArgument())
    .addOption(tenantOption())
    .addOption(
      new Option("--overlap <duration>", "how long the old secret stays valid, at most 30d")
        .default(defaultOverlap)
        .argParser(duration),
    )
    .addOption(jsonOption())
    .action(async (id: string, { tenant, overlap, json = false }: Given & { readonly overlap: Duration }) => {
      const rotated = await asSealer(tenant, (tx, box) => rotateSecret(tx, { tenant, id, overlap }, box));
      if (rotated === null) throw noSuchEndpoint(id);
      showSecret(rotated, json);
    });
}

function removeCommand(): Command {
  return new Command("remove")
    .description("remove an endpoint and its secrets; what was delivered stays on record")
    .addArgument(endpointArgument())
    .addOption(tenantOption())
    .addOption(jsonOption())
    .action(async (id: string, { tenant, json = false }: Given) => {
      if (!(await asTenant(tenant, (tx) => removeEndpoint(tx, tenant, id)))) throw noSuchEndpoint(id);
      if (json) printJson({ endpoint: id, answer: "removed" });
      else print(`removed: ${id}`);
    });
}

function enableCommand(): Command {
  return new Command("enable")
    .description("send to an endpoint again")
    .addArgument(endpointArgument())
    .addOption(tenantOption())
    .addOption(jsonOption())
    .action((id: string, given: Given) => setState(id, given, "active", null));
}

function disableCommand(): Command {
  return new Command("disable")
    .description("send nothing more to an endpoint")
    .addArgument(endpointArgument())
    .addOption(tenantOption())
    .addOption(reasonOption("why, for the record").makeOptionMandatory())
    .addOption(jsonOption())
    .action((id: string, given: Given & { readonly reason: string }) => setState(id, given, "disabled", given.reason));
}

async function setState(
  id: string,
  { tenant, json = false }: Given,
  state: WebhookEndpoint["state"],
  reason: string | null,
): Promise<void> {
  if (reason !== null) assertStorableText(reason, { name: "the reason", maxBytes: 1_000, code: "option_invalid" });
  const endpoint = await asTenant(tenant, async (tx) => {
    await setEndpointState(tx, { tenant, id }, state, reason);
    return await getEndpoint(tx, tenant, id);
  });
  if (endpoint === null) throw noSuchEndpoint(id);
  if (json) printJson(endpoint);
  else print(`${endpoint.state}: ${id}${endpoint.disabled_reason === null ? "" : ` (${endpoint.disabled_reason})`}`);
}

const deliveryColumns: readonly Column<WebhookDelivery>[] = [
  { title: "at", value: (delivery) => instant(delivery.at), whole: true },
  { title: "job", value: (delivery) => delivery.job_id, whole: true },
  { title: "attempt", value: (delivery) => delivery.attempt },
  { title: "endpoint", value: (delivery) => delivery.endpoint_id, whole: true },
  { title: "outcome", value: (delivery) => delivery.outcome.replace("_", " ") },
  { title: "status", value: (delivery) => delivery.status },
  { title: "ms", value: (delivery) => delivery.took_ms },
  { title: "reason", value: (delivery) => firstLine(delivery.reason) },
];

interface DeliveriesGiven extends Given {
  readonly endpoint?: string;
  readonly job?: string;
  readonly limit: number;
}

function deliveriesCommand(): Command {
  return new Command("deliveries")
    .description("what became of each attempt, the newest first")
    .addOption(tenantOption())
    .addOption(endpointOption("at this endpoint"))
    .addOption(new Option("--job <job>", "of this job").argParser(jobId))
    .addOption(new Option("--limit <number>", "at most 1000").argParser(wholeNumber(1, 1_000)).default(100))
    .addOption(jsonOption())
    .action(async ({ tenant, endpoint, job, limit, json = false }: DeliveriesGiven) => {
      const deliveries = await asTenant(tenant, (tx) =>
        listDeliveries(tx, tenant, { endpoint: endpoint ?? null, job: job ?? null, limit }),
      );
      printList(deliveries, deliveryColumns, { json, empty: "no deliveries" });
    });
}

/** In a transaction that is clamped to the tenant, with what seals secrets. Throws option_invalid without keys, before it. */
function asSealer<T>(tenant: string, use: (tx: Tx, box: SecretBox, settings: Settings) => Promise<T>): Promise<T> {
  return withClient({}, async (client, settings) => {
    const box = requireSecretBox(settings.secretKeys ?? []);
    return await client.transaction(tenant, (tx) => use(tx, box, settings));
  });
}

/** After the commit: a secret that was shown is one that is in force. */
function showSecret({ id, secret }: EndpointSecret, json: boolean): void {
  if (json) printJson({ endpoint: id, secret });
  else {
    print(`${id}\n${secret}`);
    note("the second line is the secret, for the receiver: it is not shown again");
  }
}

function noSuchEndpoint(id: string): DoorbellError {
  return new DoorbellError("endpoint_not_found", `no such endpoint: ${id}`);
}
