/**
 * Runs a command that ends when this process does, also when this process is killed with SIGKILL. We hold one end of a
 * pipe, the kernel closes it when we die, and a shell at the other end then ends the command and removes the folder it
 * was given. The shell must not depend on Node, which the server's user may be unable to read.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { type ServerUser, serverEnvironment } from "./os-user.ts";

export interface TetheredCommand {
  /** The process id of the command itself, not of the shell. */
  readonly pid: Promise<number>;
  /** Resolves with the exit code, null after a signal, once the command and the shell have ended; never rejects. */
  readonly ended: Promise<number | null>;
  /** Ends the command: SIGINT, and what is stronger if that does not help. Resolves with `ended`. */
  cut(): Promise<number | null>;
  /** Lets this process exit although the command runs; the command then ends with it. */
  unref(): void;
}

export interface TetherOptions {
  readonly user: ServerUser;
  /** An open file descriptor for what the command prints. */
  readonly logFd: number;
  /** Removed after the line was cut, and not when the command ends by itself. Must belong to `user`. */
  readonly folder: string | null;
}

/**
 * Descriptor 3 is the line: nothing is ever written to it, so that `read` returns when it is cut. SIGINT is a fast
 * shutdown to Postgres and makes initdb clean up. It is repeated, because it is ignored until the command has installed
 * its handlers. The shell ignores the signals that a process manager sends to a whole group: the application drains
 * first, then it cuts the line.
 */
const script = `
trap '' HUP INT TERM
folder=$1
shift
"$@" 3<&- >&2 &
command=$!
echo $command
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
wait $command
status=$?
kill -KILL $watcher
[ ! -e "$folder/abandoned" ] || rm -rf "$folder"
exit $status
`;

export function tether(command: readonly string[], { user, logFd, folder }: TetherOptions): TetheredCommand {
  const shell = spawn("/bin/sh", ["-c", script, "sh", folder ?? "", ...command], {
    ...user,
    env: serverEnvironment(),
    cwd: "/",
    // A process group of its own, so that Ctrl-C in a terminal reaches the application only.
    detached: true,
    stdio: ["ignore", "pipe", logFd, "pipe"],
  });
  const line = shell.stdio[3] as Socket;
  const ended = new Promise<number | null>((resolve) => {
    shell.once("exit", resolve);
    shell.once("error", () => resolve(null));
  });
  return {
    pid: Promise.race([once(shell.stdout, "data"), ended]).then(Number),
    ended,
    cut: () => {
      shell.ref();
      line.end();
      return ended;
    },
    unref: () => {
      shell.unref();
      line.unref();
      shell.stdout.unref();
    },
  };
}
