// Counts, when all is over: the effects that the ledger asked for against those that arrived, and the doorbells that came to
// nothing.
import { setTimeout as delay } from "node:timers/promises";
import { contactOf } from "./accounts.ts";
import { type Proof, prove } from "./proof.ts";
import type { Stand } from "./stand.ts";

/** Of this run alone: in a database that is kept, jobs of a run before may come to their end only now. */
export async function countEffects({ accounts, ledger, receiver, mailCatcher }: Stand): Promise<Proof> {
  const ids = new Set(accounts.map(({ id }) => id));
  const contacts = new Set(accounts.map(({ id }) => contactOf(id)));
  return prove(
    await Promise.all(accounts.map(({ id }) => ledger.count(id))),
    receiver.deliveries.filter(({ account }) => ids.has(account)),
    mailCatcher.mails.filter(({ to }) => contacts.has(to)),
  );
}

const lookEveryMs = 250;
/** Three times as long as from one heartbeat to the next. */
const heartbeatWithinMs = 6_000;

/** As the workers count them. Waits until those that live have said how many they dropped in the end. */
export async function countDoorbellsDropped({ workers, ledger }: Stand): Promise<number> {
  const ids = workers.map(({ workerId }) => workerId);
  const alive = workers.filter(({ process }) => process.isAlive).map(({ workerId }) => workerId);
  const before = new Map((await ledger.heartbeats(ids)).map(({ worker, at }) => [worker, at]));
  for (const until = Date.now() + heartbeatWithinMs; ; await delay(lookEveryMs)) {
    const heartbeats = await ledger.heartbeats(ids);
    const heard = heartbeats.filter(({ worker, at }) => at !== before.get(worker)).map(({ worker }) => worker);
    if (alive.every((worker) => heard.includes(worker)) || Date.now() > until) {
      return heartbeats.reduce((sum, heartbeat) => sum + heartbeat.doorbellsDropped, 0);
    }
  }
}
