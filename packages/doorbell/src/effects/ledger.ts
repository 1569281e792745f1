// The ledger: a side effect is asked for, begun, called, and known, in this order, each committed before the next. It
// decides whether to call; how to call, and what an error of the call proves, is the effect's own knowledge.
import { createBatcher } from "../core/batcher.ts";
import { hasBrand, putBrand } from "../core/brand.ts";
import { DoorbellError } from "../core/errors.ts";
import { describeFailure, failureText } from "../core/failure.ts";
import { requestHash } from "../core/hash.ts";
import { assertStorableText, toStorableJson } from "../core/json.ts";
import { isDatabaseTrouble, type Tx } from "../store/database.ts";
import * as store from "../store/ledger.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { EffectMoment, EffectWatch } from "./watch.ts";

export interface EffectContext {
  /** Stable over attempts and replays: give it to the receiver, which can then tell a second call from a second effect. */
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly signal: AbortSignal;
}

/** What asking the outside about an effect in doubt came to: it happened (with this value), it did not, or it cannot tell. */
export type ProbeAnswer<T> =
  | { readonly happened: true; readonly value: T }
  | { readonly happened: false }
  | "cannot_tell";

export interface EffectOptions<T> {
  /**
   * The call. What it returns is stored as JSON (at most 64 KB), and that is what the handler gets, on the first run as on
   * any later one. Throwing EffectNotDone proves that it did not happen; a refused connection and a name that does not
   * resolve prove it too. Any other error leaves it in doubt.
   */
  do(context: EffectContext): Promise<T> | T;
  /** What is asked for, as JSON: hashed, so that the same key with another request is noticed. */
  readonly request?: unknown;
  /** Asks the outside whether an effect in doubt happened. It may be called more than once. */
  probe?(context: EffectContext): Promise<ProbeAnswer<T>> | ProbeAnswer<T>;
  /**
   * When it stays in doubt: "retry" calls again, with the same idempotency key, for receivers that recognise it; "park"
   * (the default) lets the job wait for a person's answer.
   */
  readonly onDoubt?: "retry" | "park";
  /** A completed effect is asked for with another request: "skip" (default) gives the stored value and warns, "fail" throws. */
  readonly onChanged?: "skip" | "fail";
}

const notDoneBrand = "effect-not-done";
const parkedBrand = "parked";

/** Thrown by an effect's call: it is certain that the effect did not happen, so it may be begun again. */
export class EffectNotDone extends Error {
  static {
    putBrand(EffectNotDone.prototype, notDoneBrand);
    EffectNotDone.prototype.name = "EffectNotDone";
  }
}

/** Ends an attempt whose job has to wait for a person. Thrown by the ledger, for the executor. */
class Parked extends Error {
  static {
    putBrand(Parked.prototype, parkedBrand);
  }
}

export function isParked(thrown: unknown): thrown is Error {
  return hasBrand(thrown, parkedBrand);
}

/** The attempt for which effects are performed. */
export interface EffectAttempt {
  readonly fence: store.Fence;
  readonly signal: () => AbortSignal;
  readonly log: () => Log;
  /** The ledger has found that the lease is gone. */
  readonly loseLease: () => void;
  /** Keys that this attempt has used: a key that is used twice would be two effects taken for one. */
  readonly keys: Map<string, "under_way" | "done" | "not_done">;
}

const keyMaxBytes = 500;
const batchMax = 200;
const finishTries = 4;
const finishPauseMs = 250;

export class Ledger {
  readonly #begin: (request: store.IntentRequest) => Promise<store.IntentAnswer>;
  readonly #finish: (record: store.OutcomeRecord) => Promise<boolean>;
  readonly #valueMaxBytes: number;
  readonly #metrics: Metrics;
  readonly #watch: EffectWatch | null;
  readonly tx: Tx;

  constructor(
    tx: Tx,
    options: { readonly valueMaxBytes: number; readonly metrics: Metrics },
    watch: EffectWatch | null = null,
  ) {
    this.tx = tx;
    this.#watch = watch;
    this.#valueMaxBytes = options.valueMaxBytes;
    this.#metrics = options.metrics;
    const sharing = { batchMax, inFlightMax: 2, splits: (error: unknown) => !isDatabaseTrouble(error) };
    this.#begin = createBatcher({
      ...sharing,
      run: (requests: readonly store.IntentRequest[]) => store.beginEffects(tx, requests),
    });
    this.#finish = createBatcher({
      ...sharing,
      run: (records: readonly store.OutcomeRecord[]) => store.finishEffects(tx, records),
    });
  }

  /**
   * Performs an effect, or gives what came of it before. Throws DoorbellError lease_lost, effect_conflict (the key was used
   * before in this attempt, or with another request), value_not_storable, database_unavailable, and what the call threw.
   */
  async perform<T>(attempt: EffectAttempt, type: store.EffectType, key: string, options: EffectOptions<T>): Promise<T> {
    this.takeKey(attempt, key);
    try {
      const value = await this.#decide(attempt, type, key, options);
      attempt.keys.set(key, "done");
      return value;
    } catch (error) {
      if (attempt.keys.get(key) === "under_way") attempt.keys.set(key, "done");
      throw error;
    }
  }

  /** Marks a key as used by this attempt. Only a call that proved not to have happened may use it again. */
  takeKey(attempt: EffectAttempt, key: string): void {
    assertStorableText(key, { name: "effect key", maxBytes: keyMaxBytes, code: "key_invalid" });
    if (key === "") throw new DoorbellError("key_invalid", "an effect's key is empty");
    const used = attempt.keys.get(key);
    if (used === "under_way" || used === "done") {
      throw new DoorbellError(
        "effect_conflict",
        `effect "${key}" of job ${attempt.fence.id} was asked for twice in attempt ${attempt.fence.attempt}: give each effect a key of its own`,
      );
    }
    attempt.keys.set(key, "under_way");
  }

  /** Tells the watch, if there is one, and waits for it. */
  async reached(
    moment: EffectMoment,
    effect: store.Fence & { readonly key: string; readonly requestHash: string },
  ): Promise<void> {
    if (this.#watch !== null) await this.#watch.reached(moment, effect);
  }

  async #decide<T>(attempt: EffectAttempt, type: store.EffectType, key: string, options: EffectOptions<T>): Promise<T> {
    const request: store.IntentRequest = {
      ...attempt.fence,
      key,
      type,
      idempotencyKey: `${attempt.fence.id}:${key}`,
      requestHash: options.request === undefined ? "" : requestHash(options.request),
      overDoubt: false,
    };
    if (this.#watch !== null) await this.#watch.reached("before_intent", request);
    let answer = await this.#begin(request);
    if (answer.verdict === "in_doubt") {
      const probed = await this.#probe(attempt, request, answer, options);
      if (probed?.happened) return probed.value;
      if (probed === null && (options.onDoubt ?? "park") === "park") {
        throw new Parked(
          `effect "${key}" is in doubt: an earlier attempt began it and nobody knows whether it happened; a person has to answer`,
        );
      }
      answer = await this.#begin({ ...request, overDoubt: true });
    }
    switch (answer.verdict) {
      case "go":
        return await this.#call(attempt, request, answer, options);
      case "completed":
        this.#metrics.effectEnded(type, "skipped");
        return answer.value as T;
      case "changed":
        return this.#changed(attempt, request, answer, options);
      case "lost":
        attempt.loseLease();
        throw new DoorbellError(
          "lease_lost",
          `effect "${key}" of job ${request.id} was not begun: attempt ${request.attempt} has lost its lease`,
        );
      case "in_doubt":
        throw new DoorbellError("effect_in_doubt", `effect "${key}" of job ${request.id} is in doubt`);
    }
  }

  async #probe<T>(
    attempt: EffectAttempt,
    request: store.IntentRequest,
    doubt: store.IntentAnswer,
    options: EffectOptions<T>,
  ): Promise<Exclude<ProbeAnswer<T>, "cannot_tell"> | null> {
    if (options.probe === undefined) return null;
    const ask = async () => await options.probe?.(this.#context(attempt, doubt));
    const found = await (this.#watch === null ? ask() : this.#watch.call(request, "probe", ask));
    if (found === undefined) return null;
    if (found === "cannot_tell") return null;
    const stored = found.happened ? this.#normalise(found.value) : null;
    await this.#record(request, doubt, "probe", found.happened ? "completed" : "not_done", stored?.text ?? null, null);
    return stored === null ? { happened: false } : { happened: true, value: stored.value as T };
  }

  async #call<T>(
    attempt: EffectAttempt,
    request: store.IntentRequest,
    intent: store.IntentAnswer,
    options: EffectOptions<T>,
  ): Promise<T> {
    let value: T;
    if (this.#watch !== null) await this.#watch.reached("after_intent", request);
    try {
      const call = async () => await options.do(this.#context(attempt, intent));
      value = await (this.#watch === null ? call() : this.#watch.call(request, options.onDoubt ?? "park", call));
    } catch (error) {
      const outcome = provesNotDone(error) ? "not_done" : "unknown";
      await this.#record(request, intent, "call", outcome, null, failureText(describeFailure(error)));
      if (outcome === "not_done") attempt.keys.set(request.key, "not_done");
      throw error;
    }
    if (this.#watch !== null) await this.#watch.reached("after_call", request);
    let stored: { readonly text: string | null; readonly value: unknown };
    try {
      stored = this.#normalise(value);
    } catch (error) {
      // It has happened, whatever becomes of its value.
      await this.#record(
        request,
        intent,
        "call",
        "completed",
        null,
        `its value was refused: ${(error as Error).message}`,
      );
      throw error;
    }
    await this.#record(request, intent, "call", "completed", stored.text, null);
    return stored.value as T;
  }

  #changed<T>(
    attempt: EffectAttempt,
    request: store.IntentRequest,
    answer: store.IntentAnswer,
    options: EffectOptions<T>,
  ): T {
    const what = `effect "${request.key}" of job ${request.id} is completed, and was now asked for with another request`;
    if (options.onChanged === "fail") throw new DoorbellError("effect_conflict", what);
    attempt.log().warn(`${what}; it was skipped`, { effect: request.key });
    this.#metrics.effectEnded(request.type, "skipped");
    return answer.value as T;
  }

  #context(attempt: EffectAttempt, intent: store.IntentAnswer): EffectContext {
    return {
      idempotencyKey: intent.idempotencyKey,
      attempt: attempt.fence.attempt,
      get signal() {
        return attempt.signal();
      },
    };
  }

  /** The value as it is stored and as it is given, so that the first run and a later one cannot differ. */
  #normalise(value: unknown): { readonly text: string | null; readonly value: unknown } {
    if (value === undefined) return { text: null, value: null };
    const { text } = toStorableJson(value, { path: "value", maxBytes: this.#valueMaxBytes });
    return { text, value: JSON.parse(text) };
  }

  /** An outcome that cannot be written leaves the effect in doubt, so a database that is away for a moment is waited for. */
  async #record(
    request: store.IntentRequest,
    intent: store.IntentAnswer,
    source: "call" | "probe",
    outcome: store.EffectOutcome,
    value: string | null,
    reason: string | null,
  ): Promise<void> {
    const { tenant, id, key, type } = request;
    if (this.#watch !== null) await this.#watch.reached("before_outcome", request);
    for (let tries = 1; ; tries += 1) {
      try {
        await this.#finish({ tenant, id, key, intent: intent.intent as number, source, outcome, value, reason });
        this.#metrics.effectEnded(type, outcome);
        if (this.#watch !== null) await this.#watch.reached("after_outcome", request);
        return;
      } catch (error) {
        if (tries === finishTries || !isDatabaseTrouble(error)) throw error;
        await new Promise((resolve) => setTimeout(resolve, finishPauseMs * tries));
      }
    }
  }
}

/** Errors that can only come before anything was sent. Looks through causes, as fetch hides them there. */
export function provesNotDone(error: unknown): boolean {
  for (let depth = 0, cause: unknown = error; depth < 5 && cause !== null && cause !== undefined; depth += 1) {
    if (hasBrand(cause, notDoneBrand)) return true;
    const { code } = cause as { code?: unknown };
    if (code === "ECONNREFUSED" || code === "ENOTFOUND" || code === "EAI_AGAIN") return true;
    cause = (cause as { cause?: unknown }).cause;
  }
  return false;
}
