// The built-in effect "email": a mail with a stable Message-ID, under the ledger.
import { type Duration, toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";
import { requestHash, sha256Hex } from "../core/hash.ts";
import { PermanentError } from "../core/outcome.ts";
import { type EffectAttempt, EffectNotDone, type Ledger } from "./ledger.ts";
import { stableMessageId } from "./mail/message-fields.ts";
import { type EmailMessage, sendEmail } from "./mail/send.ts";

export interface EmailRequest extends EmailMessage {
  /** The effect's key. Default: made of recipients and subject. */
  readonly key?: string;
  /** For the whole conversation. Default 30 s. */
  readonly timeout?: Duration;
}

export interface EmailReceipt {
  readonly messageId: string;
  /** Recipients that the server refused while it took the mail for others. The mail has been sent: a retry would send it again. */
  readonly rejected: readonly string[];
}

/** In doubt means "send again": mail servers and programs recognise the Message-ID. */
export function performEmail(
  ledger: Ledger,
  attempt: EffectAttempt,
  request: EmailRequest,
  smtpUrl: string | null,
): Promise<EmailReceipt> {
  const { key: _, timeout, ...message } = request;
  return ledger.perform(attempt, "email", emailKey(request), {
    request: hashable(message),
    onDoubt: "retry",
    do: async ({ idempotencyKey, signal }) => {
      if (smtpUrl === null) {
        throw new EffectNotDone("no mail server is configured: set DOORBELL_SMTP_URL", {
          cause: new DoorbellError("option_invalid", "smtpUrl is not set"),
        });
      }
      const messageId = stableMessageId(idempotencyKey, message.from);
      const deadlineMs = toMs(timeout ?? "30s", "email timeout");
      const result = await sendEmail({ smtpUrl, message, messageId, deadlineMs, signal });
      if (result.outcome === "completed") return { messageId, rejected: result.rejected };
      const what = `mail "${message.subject}": ${result.reason}`;
      if (result.outcome === "unknown") throw new Error(what);
      const cause = new EffectNotDone(what);
      throw result.permanent ? new PermanentError("mail_refused", what, { cause }) : cause;
    },
  });
}

/** The effect's key. */
export function emailKey({ key, to, subject }: EmailRequest): string {
  return key ?? `email:${requestHash({ to, subject }).slice(0, 16)}`;
}

/** The message with its attachments by their hashes: what is compared with an earlier request. */
function hashable({ attachments = [], ...fields }: EmailMessage): object {
  return {
    ...fields,
    attachments: attachments.map(({ filename, content }) => ({ filename, sha256: sha256Hex(content) })),
  };
}
