// Sends one e-mail, once. Owns the connection, the deadline, and what is said of the end.
// It never retries and never throws: every end is one of the three outcomes. A mail that goes out twice has the same
// Message-ID, by which mail systems tell the repeat.
import { connect, type Socket } from "node:net";
import { Readable } from "node:stream";
import { toMs } from "../../core/duration.ts";
import { DoorbellError } from "../../core/errors.ts";
import { describeFailure } from "../../core/failure.ts";
import { startDeadline } from "../deadline.ts";
import type { NotDone, Unknown } from "../transport-result.ts";
import { classifySmtpFailure } from "./classify.ts";
import { type EmailMessage, messageFields } from "./message-fields.ts";
import { type ImportNodemailer, loadNodemailer, type MailTransport, type Nodemailer } from "./nodemailer.ts";

export type { EmailMessage } from "./message-fields.ts";

export interface EmailRequest {
  /** `smtp://` (upgraded to TLS where the server offers it) or `smtps://`, with user and password, and nodemailer's query options. */
  readonly smtpUrl: string;
  readonly message: EmailMessage;
  /** The same for every attempt at one mail: see stableMessageId. */
  readonly messageId: string;
  /** For all of it: connecting, TLS, login, and the mail. At most ten minutes. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
}

export interface Sent {
  readonly outcome: "completed";
  readonly messageId: string;
  /** The server took the mail for these. */
  readonly accepted: readonly string[];
  /** The server refused these, and took the mail for the others. */
  readonly rejected: readonly string[];
}

export type EmailResult = Sent | NotDone | Unknown;

export interface EmailParts {
  readonly importNodemailer?: ImportNodemailer;
}

/** Sends the mail and says what became of it. Completed means: the server took it for at least one recipient. */
export async function sendEmail(request: EmailRequest, parts: EmailParts = {}): Promise<EmailResult> {
  let nodemailer: Nodemailer;
  let server: URL;
  let deadlineMs: number;
  try {
    server = smtpServer(request.smtpUrl);
    deadlineMs = toMs(request.deadlineMs, "e-mail deadline");
    nodemailer = await loadNodemailer(parts.importNodemailer);
  } catch (error) {
    // Not for good: this is about the deployment, and it can be put right while the job waits.
    return { outcome: "not_done", reason: describeFailure(error).message };
  }
  let fields: object;
  try {
    fields = messageFields(request.message, request.messageId);
  } catch (error) {
    return { outcome: "not_done", reason: describeFailure(error).message, permanent: true };
  }
  const deadline = startDeadline(deadlineMs, request.signal);
  try {
    return await converse(nodemailer, server, fields, request, deadline.signal);
  } finally {
    deadline.stop();
  }
}

async function converse(
  nodemailer: Nodemailer,
  server: URL,
  fields: object,
  request: EmailRequest,
  signal: AbortSignal,
): Promise<EmailResult> {
  if (signal.aborted) return classifySmtpFailure(signal.reason, server.host, false);
  let bodyBegun = false;
  let socket: Socket | undefined;
  const transport = nodemailer.createTransport({
    url: server.href,
    // The socket is ours, so that giving up can end the session at any point, in every version of nodemailer.
    getSocket(_options: unknown, callback: GetSocketCallback) {
      socket = connectTo(server, callback);
    },
    disableFileAccess: true,
    disableUrlAccess: true,
    ...noTimeoutsOfItsOwn,
  });
  watchBody(transport, () => {
    bodyBegun = true;
  });
  try {
    const sent = await orAborted(transport.sendMail(fields), signal);
    socket?.destroySoon();
    return {
      outcome: "completed",
      messageId: request.messageId,
      accepted: (sent.accepted ?? []).map(String),
      rejected: (sent.rejected ?? []).map(String),
    };
  } catch (error) {
    socket?.destroy();
    return classifySmtpFailure(error, server.host, bodyBegun);
  }
}

/** The one deadline is ours. These only have to be longer than any. */
const longMs = 900_000;
const noTimeoutsOfItsOwn = {
  connectionTimeout: longMs,
  greetingTimeout: longMs,
  socketTimeout: longMs,
  dnsTimeout: longMs,
};

type GetSocketCallback = (error: Error | null, socket?: { readonly connection: Socket }) => void;

function connectTo(server: URL, callback: GetSocketCallback): Socket {
  const defaultPort = server.protocol === "smtps:" ? 465 : 587;
  const host = server.hostname.replace(/^\[|\]$/g, "");
  const socket = connect({ host, port: server.port === "" ? defaultPort : Number(server.port) });
  socket.once("error", callback);
  socket.once("connect", () => {
    socket.off("error", callback);
    callback(null, { connection: socket });
  });
  // The session listens for itself; this one is for what comes after it.
  socket.on("error", () => {});
  return socket;
}

/** Calls `begun` when the first byte of the mail is asked for, which a server does by its answer to DATA, not earlier. */
function watchBody(transport: MailTransport, begun: () => void): void {
  transport.use("stream", (mail, done) => {
    mail.message.processFunc((bytes) => Readable.from(announced(bytes, begun), { objectMode: false }));
    done();
  });
}

async function* announced(bytes: Readable, begun: () => void): AsyncGenerator<Uint8Array> {
  begun();
  yield* bytes as AsyncIterable<Uint8Array>;
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    work.then(resolve, reject);
  });
}

function smtpServer(text: string): URL {
  if (!URL.canParse(text)) throw new DoorbellError("option_invalid", "the SMTP URL is not a URL");
  const url = new URL(text);
  if ((url.protocol !== "smtp:" && url.protocol !== "smtps:") || url.hostname === "") {
    throw new DoorbellError("option_invalid", "the SMTP URL is not smtp://host or smtps://host");
  }
  return url;
}
