// The watch of one worker of the run-twice harness: keeps what its jobs come to, and lets the process "die" at one moment:
// from then on nothing of theirs goes on.
import type { EffectMoment } from "../effects/watch.ts";
import type { Fence, IntentRequest } from "../store/ledger.ts";
import type { ClaimedJob } from "../store/ticks.ts";
import type { WorkerWatch } from "../worker/watch.ts";
import type { OutsideCalls } from "./outside-calls.ts";

export interface Moment {
  readonly moment: EffectMoment | "before_settle";
  /** The effect's key; null before the settling. */
  readonly key: string | null;
  readonly attempt: number;
  readonly requestHash: string;
}

/** A call that returned: it has happened at the receiver. */
export interface MadeCall {
  readonly key: string;
  readonly idempotencyKey: string;
  /** Whether its receiver is trusted to tell a repeat by the idempotency key. */
  readonly policy: "retry" | "park";
  readonly value: unknown;
}

/** What became of one job, over all its attempts and workers. */
export interface JobRecord {
  readonly moments: Moment[];
  readonly calls: MadeCall[];
  /** Keys whose probe was asked. */
  readonly probed: Set<string>;
  /** Where its process died. */
  cut: Moment | null;
}

/** A moment that never passes. */
const forEver = (): Promise<never> => new Promise(() => {});

export class CutWatch implements WorkerWatch {
  readonly #records: ReadonlyMap<string, JobRecord>;
  readonly #outside: OutsideCalls;
  readonly #cutAt: number | null;
  #isDead = false;
  #calling = 0;

  /** `records`: by tenant and id, as `recordName` gives it. `cutAt`: which moment of each job is its last, from 0. */
  constructor(records: ReadonlyMap<string, JobRecord>, outside: OutsideCalls, cutAt: number | null) {
    this.#records = records;
    this.#outside = outside;
    this.#cutAt = cutAt;
  }

  /** From now on nothing goes on. */
  die(): void {
    this.#isDead = true;
  }

  /** Calls that are on their way. */
  get calling(): number {
    return this.#calling;
  }

  async reached(
    moment: EffectMoment,
    effect: Fence & { readonly key: string; readonly requestHash: string },
  ): Promise<void> {
    await this.#pass(effect, { moment, key: effect.key, attempt: effect.attempt, requestHash: effect.requestHash });
  }

  async settling({ tenant, id, attempt }: Pick<ClaimedJob, "tenant" | "id" | "attempt">): Promise<void> {
    await this.#pass({ tenant, id }, { moment: "before_settle", key: null, attempt, requestHash: "" });
  }

  async call<T>(effect: IntentRequest, how: "retry" | "park" | "probe", run: () => Promise<T>): Promise<T> {
    if (this.#isDead) await forEver();
    const record = this.#records.get(recordName(effect.tenant, effect.id));
    this.#calling += 1;
    try {
      const value = await this.#outside.inEffect(run);
      const { key, idempotencyKey } = effect;
      if (how === "probe") record?.probed.add(key);
      else record?.calls.push({ key, idempotencyKey, policy: how, value });
      return value;
    } finally {
      this.#calling -= 1;
    }
  }

  async #pass({ tenant, id }: { readonly tenant: string; readonly id: string }, moment: Moment): Promise<void> {
    const record = this.#records.get(recordName(tenant, id));
    if (this.#isDead || record?.cut) await forEver();
    if (record === undefined) return;
    record.moments.push(moment);
    if (this.#cutAt === null || record.moments.length <= this.#cutAt) return;
    record.cut = moment;
    await forEver();
  }
}

export function recordName(tenant: string, id: string): string {
  return `${tenant}\0${id}`;
}
