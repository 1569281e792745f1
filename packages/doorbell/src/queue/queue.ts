// The queue as everything else sees it: a concrete class over a thin driver. What comes in is untrusted: junk is
// acknowledged, counted and logged once a kind of junk, and never reaches the claim.
import { DoorbellError } from "../core/errors.ts";
import { isUuid } from "../core/ids.ts";
import { tenantMaxBytes } from "../core/tenant.ts";
import { unstorablePart, utf8Bytes } from "../core/text.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { Doorbell, QueueCapabilities, QueueDriver, ReceiveRequest } from "./driver.ts";

/** Doorbells that were received, and how to acknowledge them. */
export interface Received {
  readonly doorbells: readonly Doorbell[];
  ack(): Promise<void>;
}

export class Queue {
  readonly #driver: QueueDriver;
  readonly #metrics: Metrics;
  readonly #log: Log;
  readonly #logged = new Set<string>();
  #closed = false;

  constructor(driver: QueueDriver, telemetry: { readonly metrics: Metrics; readonly log: Log }) {
    this.#driver = driver;
    this.#metrics = telemetry.metrics;
    this.#log = telemetry.log;
  }

  get name(): string {
    return this.#driver.name;
  }

  get capabilities(): QueueCapabilities {
    return this.#driver.capabilities;
  }

  async send(lane: string, doorbells: readonly Doorbell[]): Promise<void> {
    this.#requireOpen();
    if (doorbells.length > 0) await this.#driver.send(lane, doorbells);
  }

  /** Junk among the deliveries is acknowledged here. Throws queue_unavailable. */
  async receive(request: ReceiveRequest): Promise<Received> {
    this.#requireOpen();
    const deliveries = await this.#driver.receive(request).catch((error: unknown) => {
      throw new DoorbellError(
        "queue_unavailable",
        `queue ${this.name} gave nothing: ${String((error as Error)?.message ?? error)}`,
        {
          cause: error,
        },
      );
    });
    const doorbells: Doorbell[] = [];
    const good: (typeof deliveries)[number][] = [];
    const junk: (typeof deliveries)[number][] = [];
    for (const delivery of deliveries) {
      const doorbell = asDoorbell(delivery.body);
      if (doorbell === null) junk.push(delivery);
      else {
        doorbells.push(doorbell);
        good.push(delivery);
      }
    }
    if (junk.length > 0) await this.#dropJunk(junk);
    return { doorbells, ack: () => (good.length > 0 ? this.#driver.ack(good) : Promise.resolve()) };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#driver.close();
  }

  async #dropJunk(junk: Parameters<QueueDriver["ack"]>[0]): Promise<void> {
    this.#metrics.doorbellsDropped("junk", junk.length);
    const shape = junkShape(junk[0]?.body);
    if (!this.#logged.has(shape) && this.#logged.size < 100) {
      this.#logged.add(shape);
      this.#log.warn("dropped a message that is no doorbell; more of this shape are counted, not logged", {
        queue: this.name,
        shape,
      });
    }
    await this.#driver.ack(junk);
  }

  #requireOpen(): void {
    if (this.#closed) throw new DoorbellError("closed", `queue ${this.name} is closed`);
  }
}

/** The message, if it is exactly what we send; null for everything else. Members that we do not know are ignored. */
export function asDoorbell(body: unknown): Doorbell | null {
  if (typeof body !== "object" || body === null) return null;
  const { job_id, tenant_id } = body as { job_id?: unknown; tenant_id?: unknown };
  if (!isUuid(job_id) || typeof tenant_id !== "string" || tenant_id === "" || tenant_id === "*") return null;
  if (tenant_id.length > tenantMaxBytes || utf8Bytes(tenant_id) > tenantMaxBytes || unstorablePart(tenant_id) !== null)
    return null;
  return { job_id, tenant_id };
}

function junkShape(body: unknown): string {
  if (typeof body !== "object" || body === null) return body === null ? "null" : typeof body;
  return `an object with ${Object.keys(body).sort().slice(0, 5).join(", ").slice(0, 200) || "no members"}`;
}
