// From how an SMTP session ended to what became of the mail: the table of docs/effects.md, as code.
// A server takes a mail with its answer to the last byte of it. Before the first byte nothing can have happened.
import { describeFailure } from "../../core/failure.ts";
import type { NotDone, Unknown } from "../transport-result.ts";

/** What nodemailer tells of a failure, beside the message. */
interface SmtpFacts {
  readonly code?: unknown;
  /** The server's answer, if it was one that ended the session. */
  readonly responseCode?: unknown;
  readonly command?: unknown;
}

/** Answers to these are about this mail; answers to others (greeting, login) are about the session. */
const aboutTheMail: ReadonlySet<unknown> = new Set(["MAIL FROM", "RCPT TO", "DATA"]);
/** Refused on our side, for what it is: no valid recipient, larger than the server takes. */
const refusedHere: ReadonlySet<unknown> = new Set(["EENVELOPE", "EMESSAGE"]);
/** "Bad sequence of commands" is about the session as well. */
const badSequence = 503;

/** `bodyBegun`: the server has asked for the mail's bytes, and the first were handed over. */
export function classifySmtpFailure(error: unknown, host: string, bodyBegun: boolean): NotDone | Unknown {
  const reason = `${host}: ${describeFailure(error).message}`;
  const { code, responseCode, command } = factsOf(error);
  if (typeof responseCode !== "number") {
    if (bodyBegun) return { outcome: "unknown", reason: `${reason} (after the mail was handed over)` };
    return refusedHere.has(code) ? { outcome: "not_done", reason, permanent: true } : { outcome: "not_done", reason };
  }
  const permanent = responseCode >= 500 && responseCode !== badSequence && aboutTheMail.has(command);
  return permanent ? { outcome: "not_done", reason, permanent: true } : { outcome: "not_done", reason };
}

function factsOf(error: unknown): SmtpFacts {
  return typeof error === "object" && error !== null ? error : {};
}
