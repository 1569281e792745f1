// What the run-twice harness finds wrong, in words: each says what was seen, and what to change in the handler.
import type { JobRecord, Moment } from "./cut-watch.ts";

/** How a job of a run has ended. Texts have no ids and tenants of the run in them. */
export interface Ended {
  readonly state: string;
  /** Its result as JSON; the error's, where it is not done. */
  readonly result: string;
  readonly usage: string;
  /** What its receivers have; null where nobody counts. */
  readonly received: readonly string[] | null;
  readonly record: JobRecord;
}

/** Each once: the first of its kind about a thing, because one mistake shows at many moments. */
export class Findings {
  readonly #byName = new Map<string, string>();

  get all(): readonly string[] {
    return [...this.#byName.values()];
  }

  get isEmpty(): boolean {
    return this.#byName.size === 0;
  }

  add(name: string, message: string): void {
    if (!this.#byName.has(name)) this.#byName.set(name, message);
  }

  outside(call: string): void {
    this.add(
      `outside ${call}`,
      `effect outside the ledger: "${call}" was done while no effect was under way, so it is done again by every attempt. Do it inside job.effect, job.webhook or job.email; what only reads belongs into a GET`,
    );
  }

  stuck(timeoutMs: number, job: { readonly id: string } | undefined): void {
    this.add(
      "stuck",
      `job ${job?.id ?? ""} did not end within ${timeoutMs} ms: it waits for something that does not come (an event, a child without a handler in "others"), or a call ignores its signal`,
    );
  }

  crossed(tenant: string): void {
    this.add("crossed", `an effect of the job is on record under tenant "${tenant}", which it is not of`);
  }
}

const keysOf = ({ record }: Ended, when: (moment: Moment) => boolean = () => true): readonly string[] => [
  ...new Set(record.moments.flatMap((one) => (one.key !== null && when(one) ? [one.key] : []))),
];

const calledKeysOf = ({ record }: Ended): ReadonlySet<string> => new Set(record.calls.map(({ key }) => key));

/**
 * Two undisturbed runs. Keys are compared by their number alone: those of two tenants may differ (a hash of a URL), and
 * whether they are stable shows in the attempts of one job.
 */
export function compareUncut(findings: Findings, first: Ended | undefined, second: Ended | undefined): void {
  if (first === undefined || second === undefined) return;
  const [keys, others] = [keysOf(first), keysOf(second)];
  if (keys.length !== others.length) {
    const only = (these: readonly string[], those: readonly string[]) => these.find((key) => !those.includes(key));
    addKeys(findings, only(keys, others), only(others, keys));
  } else if (first.result !== second.result || first.state !== second.state) {
    addResult(findings, first, second, "two undisturbed runs");
  }
}

/** The same job undisturbed, and with a process that died. */
export function compareCut(findings: Findings, uncut: Ended | undefined, cut: Ended): void {
  const death = cut.record.cut;
  if (uncut === undefined || death === null) return;
  const at = `the process died ${death.moment.replace("_", " ")}${death.key === null ? "" : ` of "${death.key}"`}`;
  if (compareAttempts(findings, uncut, cut, death)) return;
  if (cut.state !== uncut.state || cut.result !== uncut.result) addResult(findings, uncut, cut, at);
  compareDeliveries(findings, uncut, cut, at);
  if (cut.usage !== uncut.usage) {
    findings.add("usage", `usage differs when ${at}: ${cut.usage} instead of ${uncut.usage}`);
  }
}

/** Whether the attempts of one job have asked for other things, which explains whatever else differs. */
function compareAttempts(findings: Findings, uncut: Ended, cut: Ended, death: Moment): boolean {
  const before = keysOf(cut, (one) => one.attempt <= death.attempt);
  const after = keysOf(cut, (one) => one.attempt > death.attempt);
  const fresh = after.find((key) => !before.includes(key));
  // A handler may skip what it knows to be done; it may not ask for more than one that nothing disturbs.
  if (keysOf(cut).length > keysOf(uncut).length) {
    addKeys(
      findings,
      before.find((key) => !after.includes(key)),
      fresh,
    );
    return true;
  }
  const hashes = new Map<string, string>();
  for (const { key, requestHash } of cut.record.moments) {
    if (key === null) continue;
    const known = hashes.get(key);
    if (known !== undefined && known !== requestHash) {
      findings.add(
        `request ${key}`,
        `request of effect "${key}" changes between two attempts of the same job, so a repeat would ask for something else. Make it of the payload, or of what job.step has stored; no time, random or counter`,
      );
      return true;
    }
    hashes.set(key, requestHash);
  }
  return false;
}

function compareDeliveries(findings: Findings, uncut: Ended, cut: Ended, at: string): void {
  const called = calledKeysOf(cut);
  if (called.size < calledKeysOf(uncut).size) {
    const begun = keysOf(cut, ({ moment }) => moment === "before_intent" || moment === "after_intent");
    const key =
      begun.find((one) => !called.has(one) && cut.record.probed.has(one)) ?? begun.find((one) => !called.has(one));
    const why = cut.record.probed.has(key ?? "")
      ? "its probe said that it had happened: let it say so only of what it has seen"
      : "no attempt made its call to the end, and the job ended all the same";
    findings.add(`delivery ${key}`, `effect "${key ?? "?"}" is lost when ${at}: ${why}`);
  }
  for (const key of called) {
    const calls = cut.record.calls.filter((call) => call.key === key);
    const probed = cut.record.probed.has(key);
    const sameId = new Set(calls.map((call) => call.idempotencyKey)).size === 1;
    if (calls.length === 1 || (sameId && !probed && calls.every((call) => call.policy === "retry"))) continue;
    const why = probed
      ? "its probe said that it had not happened: let it say so only of what cannot happen any more"
      : "the answer about it was wrong";
    findings.add(`delivery ${key}`, `effect "${key}" is delivered ${calls.length} times when ${at}: ${why}`);
  }
  if (uncut.received === null || cut.received === null) return;
  const [had, has] = [new Set(uncut.received).size, new Set(cut.received).size];
  if (had !== has) {
    findings.add(
      "received",
      `receivers have ${has} different deliveries instead of ${had} when ${at}: ${has > had ? "a repeat came under another id; give the receiver the effect's idempotencyKey" : "one never came"}`,
    );
  }
}

function addKeys(findings: Findings, one: string | undefined, other: string | undefined): void {
  findings.add(
    "keys",
    `effect keys differ between two runs: ${one === undefined ? "nothing" : `"${one}"`} became ${other === undefined ? "nothing" : `"${other}"`}. Make keys of the payload; no time, random, counter or state of the process`,
  );
}

function addResult(findings: Findings, expected: Ended, found: Ended, when: string): void {
  findings.add(
    "result",
    `result differs (${when}): ${short(expected)} became ${short(found)}. The handler depends on something that is not in its job: state of the process, a time, a random. Take it from the payload, from job.step, or from the database`,
  );
}

const shownMax = 200;

function short({ state, result }: Ended): string {
  return `${state} ${result.length > shownMax ? `${result.slice(0, shownMax)}…` : result}`;
}
