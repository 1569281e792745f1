// Kills a worker with -9 while it works. It is frozen first, and looked at through the ledger: an effect under way, whose
// outcome it could not record any more, would be in doubt, and be sent again with the same id. That would be no fault, and
// there is a test for it; but where it can be had, the demo takes a moment in which it can promise that nothing comes twice.
import { setTimeout as delay } from "node:timers/promises";
import type { Stand } from "./stand.ts";

const tryEveryMs = 60;
/** What a frozen process had sent is done by then. */
const settleMs = 40;
const jobsInHandMin = 2;

export interface KillingOptions {
  /** From then on any moment will do in which it works: a busy machine may have no better one. */
  readonly isLate: () => boolean;
  readonly signal: AbortSignal;
}

/** Resolves with how many jobs the worker had in hand when it was killed; null when the signal came first. */
export async function killAtWork(
  { accounts, ledger, workers: [victim] }: Stand,
  { isLate, signal }: KillingOptions,
): Promise<number | null> {
  for (; !signal.aborted; await delay(tryEveryMs)) {
    victim.process.freeze();
    await delay(settleMs);
    const work = await Promise.all(accounts.map(({ id }) => ledger.workOf(victim.workerId, id)));
    const jobs = work.reduce((sum, { running }) => sum + running, 0);
    const isQuiet = work.every(({ effectsUnderWay }) => effectsUnderWay === 0);
    if ((jobs >= jobsInHandMin && isQuiet) || (jobs > 0 && isLate())) {
      await victim.process.kill();
      return jobs;
    }
    victim.process.thaw();
  }
  return null;
}
