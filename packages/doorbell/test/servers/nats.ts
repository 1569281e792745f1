// A NATS server of a test's own, on loopback, with a login and JetStream.
import { randomBytes } from "node:crypto";
import { type Daemon, startDaemon } from "./daemon.ts";
import { haveProgram } from "./debian.ts";

export const haveNats = (): boolean => haveProgram("nats-server", "nats-server");

export interface NatsServer extends Daemon {
  readonly url: string;
  readonly password: string;
}

export async function startNats(): Promise<NatsServer> {
  const password = randomBytes(12).toString("hex");
  const daemon = await startDaemon({
    name: "nats",
    command: (port, folder) => [
      ...["nats-server", "--addr", "127.0.0.1", "--port", String(port), "--jetstream", "--store_dir", folder],
      ...["--user", "doorbell", "--pass", password],
    ],
    hello: `CONNECT {"user":"doorbell","pass":"${password}","verbose":false}\r\nPING\r\n`,
    answer: "PONG",
  });
  return { ...daemon, password, url: `nats://doorbell:${password}@127.0.0.1:${daemon.port}` };
}
