import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { SMTPServer, type SMTPServerOptions } from "smtp-server";
import { afterEach, expect, test } from "vitest";
import { type EmailRequest, sendEmail } from "./send.ts";

const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function listen(server: Server): Promise<number> {
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  return (server.address() as AddressInfo).port;
}

function smtpServer(options: SMTPServerOptions = {}): Promise<number> {
  const server = new SMTPServer({ disabledCommands: ["STARTTLS"], authOptional: true, logger: false, ...options });
  server.on("error", () => {});
  return listen(server.server);
}

/** A server that is told, line by line, what to answer; null means silence. */
function scripted(answer: (line: string, socket: Socket) => string | null): Promise<number> {
  return listen(
    createServer((socket) => {
      socket.on("error", () => {});
      const say = (line: string): void => {
        const reply = answer(line, socket);
        if (reply !== null) socket.write(`${reply}\r\n`);
      };
      socket.on("data", (chunk) => {
        for (const line of chunk.toString("latin1").split("\r\n")) if (line !== "") say(line);
      });
      say("(connected)");
    }),
  );
}

/** Agrees to everything up to the command at which the test takes over; "." is the end of the mail's bytes. */
function untilCommand(command: string, takeOver: (line: string, socket: Socket) => string | null) {
  let inMail = false;
  return scripted((line, socket) => {
    if (inMail && line !== ".") return null;
    if (line === command || line.startsWith(`${command} `)) return takeOver(line, socket);
    if (line === "(connected)") return "220 ready";
    inMail = line === "DATA";
    return inMail ? "354 go on" : "250 ok";
  });
}

function requestTo(port: number, changes: Partial<EmailRequest> = {}): EmailRequest {
  return {
    smtpUrl: `smtp://127.0.0.1:${port}`,
    message: { from: "Billing <billing@acme.example>", to: "anna@example.com", subject: "Invoice Æ-1", text: "Hello" },
    messageId: "<job-1@acme.example>",
    deadlineMs: 5_000,
    ...changes,
  };
}

const failure = (responseCode: number) => Object.assign(new Error("no"), { responseCode });

test("a mail arrives with its stable Message-ID, its text and its attachment", async () => {
  const mails: string[] = [];
  const recipients: string[] = [];
  const port = await smtpServer({
    async onData(stream, session, done) {
      recipients.push(...session.envelope.rcptTo.map(({ address }) => address));
      mails.push(await text(stream));
      done();
    },
  });
  const message = {
    from: "Billing <billing@acme.example>",
    to: ["anna@example.com", "Bo <bo@example.com>"],
    bcc: "archive@acme.example",
    subject: "Invoice",
    text: "Hello Anna",
    html: "<p>Hello Anna</p>",
    attachments: [{ filename: "invoice.xml", content: new TextEncoder().encode("<invoice/>") }],
  };
  expect(await sendEmail(requestTo(port, { message }))).toEqual({
    outcome: "completed",
    messageId: "<job-1@acme.example>",
    accepted: ["anna@example.com", "bo@example.com", "archive@acme.example"],
    rejected: [],
  });
  expect(recipients).toEqual(["anna@example.com", "bo@example.com", "archive@acme.example"]);
  expect(mails).toHaveLength(1);
  expect(mails[0]).toContain("Message-ID: <job-1@acme.example>");
  expect(mails[0]).toContain("Hello Anna");
  expect(mails[0]).toContain(Buffer.from("<invoice/>").toString("base64"));
  expect(mails[0]).not.toContain("archive@acme.example");
});

test("user and password of the URL are used, and appear in no reason", async () => {
  const options: SMTPServerOptions = {
    authOptional: false,
    onAuth: ({ username, password }, _session, done) =>
      password === "right" ? done(null, { user: username ?? "" }) : done(failure(535)),
    onData: (stream, _session, done) => {
      stream.resume();
      stream.on("end", () => done());
    },
  };
  const port = await smtpServer(options);
  const right = await sendEmail(requestTo(port, { smtpUrl: `smtp://app:right@127.0.0.1:${port}` }));
  expect(right).toMatchObject({ outcome: "completed" });
  const wrong = await sendEmail(requestTo(port, { smtpUrl: `smtp://app:hunter2@127.0.0.1:${port}` }));
  expect(wrong).toMatchObject({ outcome: "not_done", reason: expect.stringContaining("535") });
  expect(wrong).not.toHaveProperty("permanent");
  expect(JSON.stringify(wrong)).not.toContain("hunter2");
});

test("recipients that the server refuses beside others are told", async () => {
  const port = await smtpServer({
    onRcptTo: ({ address }, _session, done) => done(address.startsWith("bo") ? failure(550) : null),
  });
  const message = { ...requestTo(0).message, to: ["anna@example.com", "bo@example.com"] };
  expect(await sendEmail(requestTo(port, { message }))).toMatchObject({
    outcome: "completed",
    accepted: ["anna@example.com"],
    rejected: ["bo@example.com"],
  });
});

test.each<[string, SMTPServerOptions]>([
  ["the sender", { onMailFrom: (_address, _session, done) => done(failure(550)) }],
  ["every recipient", { onRcptTo: (_address, _session, done) => done(failure(551)) }],
  ["the mail itself", { onData: (stream, _session, done) => stream.resume().on("end", () => done(failure(554))) }],
])("a server that refuses %s with 5xx has not sent it, for good", async (_, options) => {
  expect(await sendEmail(requestTo(await smtpServer(options)))).toMatchObject({ outcome: "not_done", permanent: true });
});

test.each<[string, SMTPServerOptions]>([
  ["the sender", { onMailFrom: (_address, _session, done) => done(failure(451)) }],
  ["every recipient", { onRcptTo: (_address, _session, done) => done(failure(450)) }],
  ["the mail itself", { onData: (stream, _session, done) => stream.resume().on("end", () => done(failure(452))) }],
])("a server that refuses %s with 4xx has not sent it, for now", async (_, options) => {
  const result = await sendEmail(requestTo(await smtpServer(options)));
  expect(result).toMatchObject({ outcome: "not_done" });
  expect(result).not.toHaveProperty("permanent");
});

test.each(["554 no service here", "421 too busy"])(
  "a greeting of %j is about the server, not about the mail",
  async (greeting) => {
    const result = await sendEmail(requestTo(await scripted((line) => (line === "(connected)" ? greeting : null))));
    expect(result).toEqual({ outcome: "not_done", reason: expect.stringContaining(greeting.slice(0, 3)) });
  },
);

test("a refused connection is not done", async () => {
  const port = await smtpServer();
  for (const close of closing.splice(0)) await close();
  expect(await sendEmail(requestTo(port))).toEqual({
    outcome: "not_done",
    reason: expect.stringContaining("ECONNREFUSED"),
  });
});

test.each(["(connected)", "EHLO", "MAIL", "RCPT", "DATA"])(
  "silence from %s on ends at the deadline and is not done",
  async (command) => {
    const port = await untilCommand(command, () => null);
    const startedAtMs = performance.now();
    expect(await sendEmail(requestTo(port, { deadlineMs: 200 }))).toEqual({
      outcome: "not_done",
      reason: expect.stringContaining("no answer within 200 ms"),
    });
    expect(performance.now() - startedAtMs).toBeLessThan(2_000);
  },
);

test.each(["EHLO", "MAIL", "RCPT", "DATA"])("a connection that is reset at %s is not done", async (command) => {
  const port = await untilCommand(command, (_line, socket) => {
    socket.resetAndDestroy();
    return null;
  });
  expect(await sendEmail(requestTo(port))).toMatchObject({ outcome: "not_done" });
});

test("silence after the mail was handed over is unknown", async () => {
  const port = await untilCommand(".", () => null);
  expect(await sendEmail(requestTo(port, { deadlineMs: 300 }))).toMatchObject({
    outcome: "unknown",
    reason: expect.stringContaining("after the mail was handed over"),
  });
});

test("a connection that is reset after the mail was handed over is unknown", async () => {
  const port = await untilCommand(".", (_line, socket) => {
    socket.resetAndDestroy();
    return null;
  });
  expect(await sendEmail(requestTo(port))).toMatchObject({ outcome: "unknown" });
});

test("an attempt that ended while the mail was under way is unknown, one that ended before is not done", async () => {
  const controller = new AbortController();
  const port = await untilCommand(".", () => {
    controller.abort();
    return null;
  });
  expect(await sendEmail(requestTo(port, { signal: controller.signal }))).toMatchObject({ outcome: "unknown" });
  expect(await sendEmail(requestTo(port, { signal: controller.signal }))).toMatchObject({ outcome: "not_done" });
});

test("giving up closes the connection", async () => {
  let closed: Promise<unknown> | undefined;
  const port = await untilCommand(".", (_line, socket) => {
    closed = once(socket, "close");
    return null;
  });
  await sendEmail(requestTo(port, { deadlineMs: 200 }));
  expect(closed).toBeDefined();
  await closed;
});

test("TLS that fails is not done", async () => {
  const port = await smtpServer();
  expect(await sendEmail(requestTo(port, { smtpUrl: `smtps://127.0.0.1:${port}` }))).toMatchObject({
    outcome: "not_done",
  });
});

test("where nodemailer is missing, the reason says what to install, and the mail can wait for it", async () => {
  const result = await sendEmail(requestTo(1), { importNodemailer: () => Promise.reject(new Error("not found")) });
  expect(result).toEqual({ outcome: "not_done", reason: expect.stringContaining("npm install nodemailer") });
});

test.each(["http://example.com", "localhost:25", "", "smtp://"])(
  "an SMTP URL of %j is refused, but not for good",
  async (smtpUrl) => {
    expect(await sendEmail(requestTo(1, { smtpUrl }))).toEqual({ outcome: "not_done", reason: expect.any(String) });
  },
);

test.each<[string, Partial<EmailRequest>]>([
  ["no recipient", { message: { ...requestTo(0).message, to: [] } }],
  ["a recipient that is no address", { message: { ...requestTo(0).message, to: "nobody" } }],
  ["a text that names a file", { message: { ...requestTo(0).message, text: { path: "/etc/passwd" } as never } }],
  ["a NUL in the subject", { message: { ...requestTo(0).message, subject: "a\0" } }],
  [
    "an attachment that names a URL",
    {
      message: { ...requestTo(0).message, attachments: [{ filename: "x", href: "http://127.0.0.1/" } as never] },
    },
  ],
  ["a Message-ID with a line feed", { messageId: "<a@b>\r\nBcc: x@example.com" }],
])("%s is refused for good, and nothing is sent", async (_, changes) => {
  let mails = 0;
  const port = await smtpServer({
    onData: (stream, _session, done) => {
      mails += 1;
      stream.resume().on("end", () => done());
    },
  });
  expect(await sendEmail(requestTo(port, changes))).toMatchObject({ outcome: "not_done", permanent: true });
  expect(mails).toBe(0);
});

test("a subject and names with line feeds make no headers", async () => {
  let mail = "";
  const port = await smtpServer({
    async onData(stream, _session, done) {
      mail = await text(stream);
      done();
    },
  });
  const message = {
    ...requestTo(0).message,
    subject: "Hi\r\nBcc: victim@example.com",
    attachments: [{ filename: "a\r\nX-Evil: 1.txt", content: "x" }],
  };
  expect(await sendEmail(requestTo(port, { message }))).toMatchObject({ outcome: "completed" });
  expect(mail).not.toMatch(/^(Bcc|X-Evil):/m);
});
