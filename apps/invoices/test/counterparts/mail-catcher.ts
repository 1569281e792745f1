// The mail server that everyone wishes for: it takes every mail, keeps what matters of it, and sends none on.
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import PostalMime from "postal-mime";
import { SMTPServer } from "smtp-server";

export interface CaughtMail {
  readonly messageId: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface MailCatcher extends AsyncDisposable {
  /** `smtp://…`, for DOORBELL_SMTP_URL. */
  readonly url: string;
  /** In the order of their arrival. A mail that comes twice is here twice. */
  readonly mails: readonly CaughtMail[];
}

/** Listens on a free port of 127.0.0.1. */
export async function startMailCatcher(): Promise<MailCatcher> {
  const mails: CaughtMail[] = [];
  const smtp = new SMTPServer({
    authOptional: true,
    disabledCommands: ["STARTTLS", "AUTH"],
    onData: (stream, _session, done) => {
      parseMail(stream).then(
        (mail) => {
          mails.push(mail);
          done();
        },
        (error: Error) => done(error),
      );
    },
  });
  // A client that breaks off is no reason to end.
  smtp.on("error", () => {});
  const server = smtp.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    [Symbol.asyncDispose]: () => new Promise((resolve) => smtp.close(() => resolve())),
  };
}

async function parseMail(stream: AsyncIterable<Uint8Array>): Promise<CaughtMail> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of stream) chunks.push(chunk);
  const { messageId = "", to = [], subject = "", text = "" } = await PostalMime.parse(Buffer.concat(chunks));
  return { messageId, to: to.map(({ address }) => address ?? "").join(", "), subject, text: text.trim() };
}
