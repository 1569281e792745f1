// What is uploaded: the samples, made on the spot, or the files of a folder with a manifest of right answers.
import { type SampleAccount, sampleAccounts } from "../../apps/invoices/samples/bill.ts";
import { makeSamples, type Sample } from "../../apps/invoices/samples/make-samples.ts";
import type { DocumentView } from "../../apps/invoices/src/store/views.ts";
import type { ManifestEntry } from "../../apps/invoices/test/documents/score.ts";
import type { DemoAccount } from "./accounts.ts";
import { readManifest } from "./manifest.ts";

/** A file before the accounts of the run are there. */
interface SourceFile {
  /** Whose it will be. */
  readonly sampleAccount: SampleAccount;
  readonly name: string;
  readonly bytes: Uint8Array;
  /** What must become of it; null where that is the manifest's to say. */
  readonly expected: Sample["expected"] | null;
}

export interface DemoFile extends SourceFile {
  readonly account: DemoAccount;
}

export interface DemoFiles {
  /** In the order in which they are uploaded. */
  readonly files: readonly SourceFile[];
  /** Null: these are the samples, each of which knows itself what must become of it. */
  readonly manifest: readonly ManifestEntry[] | null;
}

/** `documents` is a folder with a manifest.json; null asks for the samples. Throws UsageError. */
export async function loadFiles(documents: string | null): Promise<DemoFiles> {
  if (documents === null) return { files: inTurns(await makeSamples()), manifest: null };
  const { files, entries } = await readManifest(documents);
  const spread = files.map((file, index): SourceFile => {
    const sampleAccount = sampleAccounts[index % sampleAccounts.length] ?? sampleAccounts[0];
    return { ...file, sampleAccount, expected: null };
  });
  const hostile = new Set(entries.filter(({ kind }) => kind === "hostile").map(({ file }) => file));
  const isHostile = ({ name }: SourceFile): number => (hostile.has(name) ? 1 : 0);
  // What is hostile comes first, where it is in the way of all others.
  return { files: spread.sort((a, b) => isHostile(b) - isHostile(a)), manifest: entries };
}

/** One of each account, and round again: that is how they arrive. */
function inTurns(samples: readonly Sample[]): readonly SourceFile[] {
  const lists = sampleAccounts.map((account) => samples.filter((sample) => sample.account === account));
  const longest = Math.max(...lists.map((list) => list.length));
  const turns = Array.from({ length: longest }, (_, turn) => lists.flatMap((list) => list.slice(turn, turn + 1)));
  return turns.flat().map(({ account, ...file }) => ({ ...file, sampleAccount: account }));
}

export function giveTo(accounts: readonly DemoAccount[], files: readonly SourceFile[]): readonly DemoFile[] {
  return files.flatMap((file) =>
    accounts
      .filter(({ sampleAccount }) => sampleAccount === file.sampleAccount)
      .map((account): DemoFile => ({ ...file, account })),
  );
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
