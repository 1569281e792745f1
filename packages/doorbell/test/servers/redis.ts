// A Redis of a test's own, on loopback, with a password and an append-only file.
import { randomBytes } from "node:crypto";
import { type Daemon, startDaemon } from "./daemon.ts";
import { haveProgram } from "./debian.ts";

export const haveRedis = (): boolean => haveProgram("redis-server", "redis-server");

export interface RedisServer extends Daemon {
  readonly url: string;
  readonly password: string;
}

export async function startRedis(): Promise<RedisServer> {
  const password = randomBytes(12).toString("hex");
  const daemon = await startDaemon({
    name: "redis",
    command: (port, folder) => [
      ...["redis-server", "--port", String(port), "--bind", "127.0.0.1", "--dir", folder, "--requirepass", password],
      ...["--appendonly", "yes", "--save", ""],
    ],
    hello: `AUTH ${password}\r\nPING\r\n`,
    // Not before it has loaded its data.
    answer: "+PONG",
  });
  return { ...daemon, password, url: `redis://:${password}@127.0.0.1:${daemon.port}` };
}
