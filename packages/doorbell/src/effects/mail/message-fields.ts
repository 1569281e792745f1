// What an e-mail consists of: a closed set of fields, copied one by one, because nodemailer would also take paths and
// URLs to read from. Refuses here what is no message, before a connection is opened.
import { DoorbellError } from "../../core/errors.ts";
import { sha256Hex } from "../../core/hash.ts";
import { assertStorableText } from "../../core/json.ts";

export interface EmailMessage {
  readonly from: string;
  readonly to: string | readonly string[];
  readonly cc?: string | readonly string[] | undefined;
  readonly bcc?: string | readonly string[] | undefined;
  readonly replyTo?: string | undefined;
  readonly subject: string;
  readonly text: string;
  readonly html?: string | undefined;
  readonly attachments?: readonly EmailAttachment[] | undefined;
}

export interface EmailAttachment {
  readonly filename: string;
  readonly content: Uint8Array | string;
  /** Default: from the name. */
  readonly contentType?: string | undefined;
}

/** The Message-ID that belongs to an idempotency key, in the domain of the sender's address. */
export function stableMessageId(idempotencyKey: string, from: string): string {
  const domain = /@([A-Za-z0-9.-]{1,200})>?\s*$/.exec(from)?.[1] ?? "doorbell.invalid";
  return `<${sha256Hex(idempotencyKey).slice(0, 40)}@${domain.toLowerCase()}>`;
}

const subjectMaxBytes = 2_000;
const bodyMaxBytes = 10 * 1_024 * 1_024;

/** The fields that nodemailer gets. Throws payload_invalid or key_invalid. */
export function messageFields(message: EmailMessage, messageId: string): object {
  if (!/^<[\x21-\x3b\x3d\x3f-\x7e]{1,300}>$/.test(messageId)) {
    throw new DoorbellError("key_invalid", "a Message-ID is <id@domain> in printable ASCII");
  }
  const { from, to, cc, bcc, replyTo, subject, text, html, attachments = [] } = message;
  assertText(subject, "subject", subjectMaxBytes);
  assertText(text, "text", bodyMaxBytes);
  if (html !== undefined) assertText(html, "html", bodyMaxBytes);
  return {
    messageId,
    from: addresses(from, "from"),
    to: addresses(to, "to"),
    ...(cc === undefined ? {} : { cc: addresses(cc, "cc") }),
    ...(bcc === undefined ? {} : { bcc: addresses(bcc, "bcc") }),
    ...(replyTo === undefined ? {} : { replyTo: addresses(replyTo, "replyTo") }),
    subject,
    text,
    ...(html === undefined ? {} : { html }),
    attachments: attachments.map(attachmentFields),
  };
}

function addresses(value: string | readonly string[], name: string): string[] {
  const list = typeof value === "string" ? [value] : [...value];
  for (const address of list) assertText(address, name, subjectMaxBytes);
  return list;
}

function attachmentFields({ filename, content, contentType }: EmailAttachment): object {
  assertText(filename, "attachment name", subjectMaxBytes);
  if (!(content instanceof Uint8Array)) assertText(content, `attachment ${filename}`, bodyMaxBytes);
  if (contentType !== undefined) assertText(contentType, "attachment type", subjectMaxBytes);
  return {
    filename,
    content: typeof content === "string" ? content : Buffer.from(content),
    ...(contentType === undefined ? {} : { contentType }),
  };
}

function assertText(value: unknown, name: string, maxBytes: number): asserts value is string {
  assertStorableText(value, { name: `e-mail ${name}`, maxBytes, code: "payload_invalid" });
}
