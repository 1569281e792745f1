// The built-in effect "usage": a counter in Postgres. Intent, count and outcome are one statement, so it is never in doubt.
import { DoorbellError } from "../core/errors.ts";
import { requestHash } from "../core/hash.ts";
import { assertStorableText } from "../core/json.ts";
import * as store from "../store/ledger.ts";
import type { EffectAttempt, Ledger } from "./ledger.ts";

export interface UsageOptions {
  /** The effect's key. Default: made of the meter. */
  readonly key?: string;
}

/** The effect's key. */
export function usageKey(meter: string, { key }: UsageOptions = {}): string {
  return key ?? `usage:${meter}`;
}

export async function countUsage(
  ledger: Ledger,
  attempt: EffectAttempt,
  meter: string,
  amount: number,
  options: UsageOptions = {},
): Promise<void> {
  assertStorableText(meter, { name: "meter", maxBytes: 200 });
  if (!Number.isSafeInteger(amount) || amount < 0) {
    throw new DoorbellError(
      "option_invalid",
      `usage of meter "${meter}" is ${amount}, not a whole number of 0 or more`,
    );
  }
  const key = usageKey(meter, options);
  ledger.takeKey(attempt, key);
  const request = { ...attempt.fence, key, requestHash: requestHash({ meter, amount }) };
  await ledger.reached("before_intent", request);
  const verdict = await store.countUsage(ledger.tx, { ...request, meter, amount });
  await ledger.reached("after_outcome", request);
  attempt.keys.set(key, "done");
  if (verdict === "lost") {
    attempt.loseLease();
    throw new DoorbellError(
      "lease_lost",
      `usage "${key}" of job ${attempt.fence.id} was not counted: attempt ${attempt.fence.attempt} has lost its lease`,
    );
  }
  if (verdict === "changed")
    attempt.log().warn(`usage "${key}" was counted before, with another amount; it stays`, { meter, amount });
}
