// What is uploaded: the samples, made on the spot, or the files of a folder with a manifest of right answers.
import { readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeSamples, type Sample } from "../../apps/invoices/samples/make-samples.ts";
import type { ManifestEntry } from "../../apps/invoices/src/documents/score.ts";
import type { DocumentView } from "../../apps/invoices/src/store/views.ts";
import type { DemoAccount } from "./accounts.ts";

export interface DemoFile {
  readonly account: DemoAccount;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** What must become of it, where that is known beforehand. */
  readonly expected: Sample["expected"] | null;
}

export interface DemoFiles {
  readonly files: readonly DemoFile[];
  readonly manifest: readonly ManifestEntry[] | null;
}

export async function loadFiles(documents: string | null, accounts: readonly DemoAccount[]): Promise<DemoFiles> {
  return documents === null ? await samples(accounts) : await manifestFiles(resolve(documents), accounts);
}

async function samples(accounts: readonly DemoAccount[]): Promise<DemoFiles> {
  const made = await makeSamples();
  const byAccount = accounts.map((account) =>
    made
      .filter((sample) => sample.account === account.sampleAccount)
      .map(({ name, bytes, expected }) => ({ account, name, bytes, expected })),
  );
  return { files: inTurns(byAccount), manifest: null };
}

/** Spread over the accounts in the order of the manifest. */
async function manifestFiles(folder: string, accounts: readonly DemoAccount[]): Promise<DemoFiles> {
  const manifest = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as readonly ManifestEntry[];
  const files = await Promise.all(
    manifest.map(async ({ file }, index) => ({
      account: accounts[index % accounts.length] as DemoAccount,
      name: file,
      bytes: new Uint8Array(await readFile(join(folder, file))),
      expected: null,
    })),
  );
  return { files, manifest };
}

/** How a document ended against what its sample says it must; nothing where that is not known, or is so. */
export function sampleProblems({ name, account, expected }: DemoFile, shown: DocumentView): readonly string[] {
  if (expected === null) return [];
  const { outcome, reason, fields } = expected;
  const { state, reasons, invoice } = shown;
  const codes = reasons.map(({ code }) => code);
  const problems: string[] = [];
  if (state !== outcome) problems.push(`is ${state}, not ${outcome} (${codes.join(", ")})`);
  if (reason !== null && !codes.includes(reason)) problems.push(`is not said to be ${reason}`);
  for (const [field, value] of Object.entries(fields ?? {})) {
    const read = invoice?.[field as keyof NonNullable<typeof fields>];
    if (read !== value) problems.push(`has ${field} ${read}, not ${value}`);
  }
  return problems.map((problem) => `${name} of ${account.id} ${problem}`);
}

/** One of each, and round again: that is how they arrive. */
function inTurns<T>(lists: readonly (readonly T[])[]): readonly T[] {
  const longest = Math.max(0, ...lists.map((list) => list.length));
  return Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1))).flat();
}
