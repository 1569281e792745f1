// Runs a command that ends when this process does, also when this process is killed with SIGKILL. We hold one end of a
// pipe, the kernel closes it when we die, and a shell at the other end then ends the command and removes the folder it
// was given. The shell must not depend on Node, which the server's user may be unable to read.
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { type ServerUser, serverEnvironment } from "./os-user.ts";

export interface TetheredCommand {
  /** The process id of the command itself, not of the shell. */
  readonly pid: number;
  /** Resolves once the command has ended and the shell is done: the exit code, or null if the shell was killed. */
  readonly ended: Promise<number | null>;
  /** Ends the command: SIGINT, and what is stronger if that does not help within ten seconds. */
  cut(): Promise<number | null>;
  /** Lets this process exit although the command runs, which then ends with it. */
  unref(): void;
}

interface TetherOptions {
  readonly user: ServerUser;
  /** An open file descriptor for what the command prints. */
  readonly logFd: number;
  /** Removed after the line was cut, and not when the command ends by itself. Must belong to `user`. */
  readonly folder: string | null;
}

/**
 * Descriptor 3 is the line: nothing is ever written to it, so that `read` returns when it is cut. SIGINT is a fast
 * shutdown to Postgres and makes initdb clean up. It is repeated, because it is ignored until the command has installed
 * its handlers. The shell ignores what a process manager sends to a whole group, as the application drains first and then
 * cuts the line, and SIGPIPE, which it would die of when we are dead before we have read the process id.
 */
const script = `
trap '' HUP INT PIPE TERM
folder=$1
shift
"$@" 3<&- >&2 &
command=$!
{
  read -r _ <&3
  [ -z "$folder" ] || : >"$folder/abandoned"
  for signal in INT QUIT KILL; do
    tries=0
    while [ $tries -lt 100 ] && kill -$signal $command; do
      tries=$((tries + 1))
      sleep 0.1
    done
  done
} >/dev/null 2>&1 &
watcher=$!
echo $command
wait $command
status=$?
kill -KILL $watcher
[ -z "$folder" ] || [ ! -e "$folder/abandoned" ] || rm -rf "$folder"
exit $status
`;

/** Resolves when the command has started, and throws when the shell cannot become `user`. */
export async function tether(command: readonly string[], options: TetherOptions): Promise<TetheredCommand> {
  const shell = spawn("/bin/sh", ["-c", script, "sh", options.folder ?? "", ...command], {
    ...options.user,
    env: serverEnvironment(),
    cwd: "/",
    // A process group of its own, so that Ctrl-C in a terminal reaches the application only.
    detached: true,
    stdio: ["ignore", "pipe", options.logFd, "pipe"],
  });
  const line = shell.stdio[3] as Socket;
  const ended = new Promise<number | null>((resolve) => {
    shell.once("exit", (code) => {
      line.destroy();
      resolve(code);
    });
  });
  await once(shell, "spawn");
  const pid = await firstNumber(shell.stdio[1] as Socket);
  return {
    pid,
    ended,
    cut: () => {
      shell.ref();
      line.destroy();
      return ended;
    },
    unref: () => {
      shell.unref();
      line.unref();
    },
  };
}

async function firstNumber(output: Socket): Promise<number> {
  for await (const chunk of output) return Number(chunk);
  throw new Error("embedded postgres: the shell that starts the server was killed");
}
