// The one place that knows nodemailer, an optional peer: loaded when the first mail is sent, from version 6 on.
// What we use of it is written down here, so that its types are no part of ours.
import type { Readable } from "node:stream";
import { DoorbellError } from "../../core/errors.ts";

export interface MailTransport {
  use(step: "stream", plugin: (mail: CompiledMail, done: (error?: Error | null) => void) => void): unknown;
  sendMail(message: object): Promise<SentMail>;
}

/** A message on its way: `processFunc` may replace the stream of its bytes. */
export interface CompiledMail {
  readonly message: { processFunc(replace: (bytes: Readable) => Readable): void };
}

export interface SentMail {
  readonly accepted?: readonly unknown[];
  readonly rejected?: readonly unknown[];
}

export interface Nodemailer {
  createTransport(options: object): MailTransport;
}

export type ImportNodemailer = () => Promise<unknown>;

/** Throws peer_missing, with the way out, where nodemailer is not installed. */
export async function loadNodemailer(importPeer: ImportNodemailer = () => import("nodemailer")): Promise<Nodemailer> {
  let loaded: unknown;
  try {
    loaded = await importPeer();
  } catch (cause) {
    throw new DoorbellError("peer_missing", "sending e-mail needs nodemailer: npm install nodemailer", { cause });
  }
  // Version 6 is CommonJS, whose exports are the default.
  const { createTransport, default: exports } = loaded as Partial<Nodemailer> & { default?: Partial<Nodemailer> };
  const create = createTransport ?? exports?.createTransport;
  if (create === undefined)
    throw new DoorbellError("peer_missing", "this nodemailer has no createTransport; install version 6 or newer");
  return { createTransport: create };
}
