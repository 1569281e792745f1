// Where a process may die in the middle of an effect, for harnesses that let it die there. Production has no watch.
import type { Fence, IntentRequest } from "../store/ledger.ts";

/** Between two of them at most one thing is committed or called. Usage has only the first and the last: it is one statement. */
export type EffectMoment = "before_intent" | "after_intent" | "after_call" | "before_outcome" | "after_outcome";

export interface EffectWatch {
  /** Waited for. One that does not resolve holds the effect there for ever. */
  reached(moment: EffectMoment, effect: Fence & { readonly key: string; readonly requestHash: string }): Promise<void>;
  /** Makes the call of an effect whose doubt is settled by `how`, or asks its probe. Resolves and rejects as `run` does. */
  call<T>(effect: IntentRequest, how: "retry" | "park" | "probe", run: () => Promise<T>): Promise<T>;
}
