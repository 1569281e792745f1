// The OS user that the embedded server runs as. Postgres refuses to run as root, so root hands the server to somebody
// else; everybody else runs it as themselves. Permissions are found out by trying, never by reading mode bits: access
// lists, mount options and user namespaces have a say that mode bits do not show.
import { spawnSync } from "node:child_process";
import { chownSync, statSync } from "node:fs";

/** Empty when the server runs as the current user. Spread it into the options of `spawn`. */
export interface ServerUser {
  readonly uid?: number;
  readonly gid?: number;
}

/** All that a command of the server may inherit: no `LANG`, no `PG*`, no `LD_*` of the caller changes what it does. */
export function serverEnvironment(): Record<string, string> {
  return { PATH: process.env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin", LC_ALL: "C", TZ: "UTC" };
}

/**
 * For root the owner of the cluster that exists in `clusterDir`, so that it keeps working whoever made it, and else
 * `postgres` or `nobody`. Throws when root can become neither.
 */
export function chooseServerUser(clusterDir: string | null): ServerUser {
  if (process.getuid?.() !== 0) return {};
  const owner = clusterDir === null ? undefined : statSync(clusterDir, { throwIfNoEntry: false });
  if (owner !== undefined && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid };
  for (const name of ["postgres", "nobody"]) {
    const user = lookUp(name);
    if (user !== null && succeeds(user, "true")) return user;
  }
  throw new Error(
    "embedded postgres: Postgres does not run as root, and root can become neither OS user postgres nor nobody; " +
      "run this as an ordinary user, or point DATABASE_URL at another Postgres",
  );
}

/** Whether the server could open files below `folder`, which an ancestor with mode 0700 prevents. */
export function canEnter(folder: string, user: ServerUser): boolean {
  return succeeds(user, "/bin/sh", "-c", 'cd "$1"', "sh", folder);
}

/** Makes the server's user the owner of one file or folder, not of what is inside. */
export function giveToServer(path: string, user: ServerUser): void {
  if (user.uid !== undefined && user.gid !== undefined) chownSync(path, user.uid, user.gid);
}

function lookUp(name: string): Required<ServerUser> | null {
  const [uid, gid] = ["-u", "-g"].map((flag) => spawnSync("id", [flag, name], { encoding: "utf8" }));
  if (uid?.status !== 0 || gid?.status !== 0) return null;
  return { uid: Number(uid.stdout), gid: Number(gid.stdout) };
}

function succeeds(user: ServerUser, command: string, ...args: readonly string[]): boolean {
  return spawnSync(command, args, { ...user, env: serverEnvironment(), cwd: "/", stdio: "ignore" }).status === 0;
}
