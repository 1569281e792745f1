// A PgBouncer before a test server, in transaction mode unless another is asked for. It ends with this process, however that ends.
import { mkdtempSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { tether } from "../../src/embedded/lifeline.ts";
import { chooseServerUser, giveToServer } from "../../src/embedded/os-user.ts";
import { haveProgram } from "./debian.ts";

export const havePgBouncer = (): boolean => haveProgram("pgbouncer", "pgbouncer");

/** `poolSize` connections per database and login. Resolves with a URL like the server's, and how to stop it. */
export async function startPgBouncer(
  serverUrl: string,
  poolSize: number,
  mode: "transaction" | "statement" = "transaction",
): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = new URL(serverUrl);
  const user = chooseServerUser(null);
  const folder = mkdtempSync(join(tmpdir(), "doorbell-pgbouncer-"));
  giveToServer(folder, user);
  const port = await freePort();
  const files = {
    "pgbouncer.ini": `
[databases]
* = host=${server.hostname} port=${server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
pool_mode = ${mode}
default_pool_size = ${poolSize}
max_client_conn = 1000
auth_type = trust
auth_file = ${folder}/users.txt
auth_user = ${server.username}
auth_query = select usename, '' from pg_shadow where usename = $1
ignore_startup_parameters = extra_float_digits
query_wait_timeout = 30
server_idle_timeout = 5
server_login_retry = 1
`,
    "users.txt": `"${server.username}" ""\n`,
    log: "",
  };
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
    giveToServer(join(folder, name), user);
  }
  const command = await tether(["pgbouncer", join(folder, "pgbouncer.ini")], {
    user,
    logFd: openSync(join(folder, "log"), "a"),
    folder,
  });
  command.unref();
  for (let tries = 0; !(await accepts(port)); tries += 1) {
    if (tries === 100) throw new Error(`pgbouncer does not listen:\n${readFileSync(join(folder, "log"), "utf8")}`);
    await delay(50);
  }
  const url = new URL(server);
  url.port = String(port);
  return { url: url.href, stop: async () => void (await command.cut()) };
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const answer = (value: boolean) => () => {
      socket.destroy();
      resolve(value);
    };
    socket.once("connect", answer(true)).once("error", answer(false));
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { readonly port: number };
      probe.close(() => resolve(port));
    });
  });
}
