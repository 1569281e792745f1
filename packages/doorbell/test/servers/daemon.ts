// A server program of a test's own that can be stopped and started again on the same port with the same data. It ends with
// this process, however that ends.
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { type TetheredCommand, tether } from "../../src/embedded/lifeline.ts";
import { chooseServerUser, giveToServer } from "../../src/embedded/os-user.ts";

export interface Daemon {
  readonly port: number;
  /** Stops answering, as a machine that hangs does, until `thaw`. */
  freeze(): void;
  thaw(): void;
  /** An orderly end, which keeps the data for the next `start`, on the same port. */
  stop(): Promise<void>;
  start(): Promise<void>;
  /** The end, of the data too. */
  close(): Promise<void>;
}

const lookEveryMs = 50;

/** `command`: for this port and this folder, which is private. Resolves when the port answers. */
export async function startDaemon(options: {
  readonly name: string;
  readonly command: (port: number, folder: string) => readonly string[];
  /** Sent to the port, where the server does not speak first, and what its answer contains. */
  readonly hello: string;
  readonly answer: string;
  /** Default 10 s. */
  readonly startWithinMs?: number;
}): Promise<Daemon> {
  const { name, hello, answer, startWithinMs = 10_000 } = options;
  const user = chooseServerUser(null);
  const folder = mkdtempSync(join(tmpdir(), `doorbell-${name}-`));
  const logFile = join(folder, "log");
  writeFileSync(logFile, "");
  for (const path of [folder, logFile]) giveToServer(path, user);
  const port = await freePort();
  let command: TetheredCommand | null = null;
  const start = async (): Promise<void> => {
    const logFd = openSync(logFile, "a");
    command = await tether(options.command(port, folder), { user, logFd, folder });
    closeSync(logFd);
    command.unref();
    for (let tries = 0; !(await speaks(port, hello, answer)); tries += 1) {
      if (tries * lookEveryMs >= startWithinMs)
        throw new Error(`${name} does not answer:\n${readFileSync(logFile, "utf8")}`);
      await delay(lookEveryMs);
    }
  };
  const signal = (name: "SIGSTOP" | "SIGCONT"): void => {
    if (command !== null) process.kill(command.pid, name);
  };
  await start();
  return {
    port,
    freeze: () => signal("SIGSTOP"),
    thaw: () => signal("SIGCONT"),
    start,
    stop: async () => {
      if (command === null) return;
      process.kill(command.pid, "SIGTERM");
      for (let isOver = false; !isOver; ) {
        // The line is unreferenced: something has to keep this process until it is over.
        isOver = await Promise.race([command.ended.then(() => true), delay(50, false)]);
      }
      command = null;
    },
    close: async () => {
      signal("SIGCONT");
      await command?.cut();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function speaks(port: number, hello: string, expected: string): Promise<boolean> {
  return new Promise((resolve) => {
    let heard = "";
    const socket = connect(port, "127.0.0.1", () => socket.write(hello));
    const end = (value: boolean) => () => {
      socket.destroy();
      resolve(value);
    };
    socket.setTimeout(1_000, end(false));
    socket.on("data", (chunk) => {
      heard += chunk.toString("latin1");
      if (heard.includes(expected)) end(true)();
    });
    socket.once("error", end(false)).once("end", end(false));
  });
}

export function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { readonly port: number };
      probe.close(() => resolve(port));
    });
  });
}
