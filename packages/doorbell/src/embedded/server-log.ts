// The file that initdb and the server write to. It is opened by us and inherited by them, so it may lie where the
// server's user could not create it. It is appended to; what an error quotes are the lines since it was opened.
import { closeSync, constants, fchownSync, fstatSync, openSync, readSync } from "node:fs";
import type { ServerUser } from "./os-user.ts";

export interface ServerLog {
  readonly fd: number;
  /** All that was written since `openServerLog`. */
  text(): string;
  /** An error that ends in the last lines of the log, where the server itself says what is wrong. */
  failure(message: string): Error;
  close(): void;
}

const quotedLinesMax = 20;

export function openServerLog(path: string, user: ServerUser): ServerLog {
  // Root may open it in a folder of another user, who must not be able to lead root to some other file.
  const flags = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW;
  const fd = openSync(path, flags, 0o600);
  if (user.uid !== undefined && user.gid !== undefined) fchownSync(fd, user.uid, user.gid);
  const start = fstatSync(fd).size;
  const text = () => {
    const bytes = Buffer.alloc(fstatSync(fd).size - start);
    // By descriptor, as the file may be gone with the temporary folder that it was in.
    readSync(fd, bytes, 0, bytes.length, start);
    return bytes.toString("utf8");
  };
  return {
    fd,
    text,
    failure: (message) => {
      const lines = text().trimEnd().split("\n").slice(-quotedLinesMax);
      return new Error([`embedded postgres: ${message}; from ${path}:`, ...lines].join("\n  "));
    },
    close: () => closeSync(fd),
  };
}
