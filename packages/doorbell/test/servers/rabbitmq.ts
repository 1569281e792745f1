// A RabbitMQ of a test's own: one node on loopback, without plugins, in a private folder, with a port mapper of its own.
// Its start takes a few seconds.
import { randomBytes } from "node:crypto";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { chooseServerUser, giveToServer } from "../../src/embedded/os-user.ts";
import { type Daemon, freePort, startDaemon } from "./daemon.ts";
import { haveProgramFile } from "./debian.ts";

/** Debian's own wrapper insists on the system's user, folders and log: this is what it calls. */
const serverScript = "/usr/lib/rabbitmq/bin/rabbitmq-server";

export const haveRabbitmq = (): boolean => haveProgramFile(serverScript, "rabbitmq-server");

export interface RabbitmqServer extends Daemon {
  /** With a login of its own; the vhost is `/`. */
  readonly url: string;
  readonly password: string;
}

/**
 * The port mapper in front, and a watch that ends it with the node; after a restart the one before may be there for a
 * moment. The node takes the shell's place, so that a signal reaches it: with RUNNING_UNDER_SYSTEMD its script does the
 * same.
 */
const script = `
cd "$HOME"
while epmd -names >/dev/null 2>&1; do sleep 0.1; done
epmd &
mapper=$!
{ while kill -0 $$; do sleep 0.2; done; kill -KILL $mapper; } >/dev/null 2>&1 &
exec "$SERVER_SCRIPT"
`;

export async function startRabbitmq(): Promise<RabbitmqServer> {
  const [mapperPort, distributionPort] = [await freePort(), await freePort()];
  const [password, cookie] = [randomBytes(12).toString("hex"), randomBytes(16).toString("hex")];
  const daemon = await startDaemon({
    name: "rabbitmq",
    startWithinMs: 60_000,
    hello: "AMQP\u0000\u0000\u0009\u0001",
    answer: "PLAIN",
    command: (port, folder) => {
      putFile(folder, ".erlang.cookie", cookie);
      putFile(folder, "env.conf", "");
      putFile(folder, "enabled_plugins", "[].\n");
      putFile(
        folder,
        "rabbitmq.conf",
        `
listeners.tcp.1 = 127.0.0.1:${port}
default_user = doorbell
default_pass = ${password}
vm_memory_high_watermark.absolute = 256MB
disk_free_limit.absolute = 1MB
log.file = false
log.console = true
log.console.level = warning
`,
      );
      const environment = {
        HOME: folder,
        SERVER_SCRIPT: serverScript,
        RUNNING_UNDER_SYSTEMD: "true",
        ERL_EPMD_ADDRESS: "127.0.0.1",
        ERL_EPMD_PORT: mapperPort,
        // Otherwise every node would start a port mapper that outlives it.
        ERL_FLAGS: "-start_epmd false",
        RABBITMQ_NODENAME: `doorbell-${port}@localhost`,
        RABBITMQ_DIST_PORT: distributionPort,
        RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none",
        RABBITMQ_CONF_ENV_FILE: join(folder, "env.conf"),
        RABBITMQ_CONFIG_FILE: join(folder, "rabbitmq.conf"),
        RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, "enabled_plugins"),
        RABBITMQ_MNESIA_BASE: join(folder, "mnesia"),
        RABBITMQ_LOG_BASE: join(folder, "logs"),
        RABBITMQ_GENERATED_CONFIG_DIR: join(folder, "config"),
        RABBITMQ_SCHEMA_DIR: join(folder, "schema"),
        RABBITMQ_PID_FILE: join(folder, "pid"),
      };
      const assignments = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
      return ["env", ...assignments, "/bin/sh", "-c", script];
    },
  });
  return { ...daemon, password, url: `amqp://doorbell:${password}@127.0.0.1:${daemon.port}` };
}

/** Readable for the server alone, as it wants its cookie to be. A later start finds it as it was. */
function putFile(folder: string, name: string, text: string): void {
  const file = join(folder, name);
  if (existsSync(file)) return;
  writeFileSync(file, text, { mode: 0o600 });
  giveToServer(file, chooseServerUser(null));
}
