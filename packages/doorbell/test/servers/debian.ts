// Programs that come from Debian and not from npm: installed where apt and root are there. Without one its suite is skipped,
// loudly; with CI=true that is a failure.
import { spawnSync } from "node:child_process";
import { existsSync, rmSync, writeFileSync } from "node:fs";

/** Whether this program runs, after an attempt to install the package that has it. */
export function haveProgram(program: string, debianPackage: string): boolean {
  return have(() => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0, debianPackage);
}

/** The same for a program that cannot be asked for its version without being started: whether its file is there. */
export function haveProgramFile(file: string, debianPackage: string): boolean {
  return have(() => existsSync(file), debianPackage);
}

function have(isThere: () => boolean, debianPackage: string): boolean {
  if (isThere()) return true;
  if (process.getuid?.() !== 0) return false;
  console.error(`installing ${debianPackage} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const apt = (...args: readonly string[]): boolean =>
    spawnSync("apt-get", ["-y", "-qq", ...args], { env, stdio: "ignore" }).status === 0;
  const install = (): boolean => apt("install", "--no-install-recommends", debianPackage);
  withoutServices(() => {
    if (!install()) {
      apt("update");
      install();
    }
  });
  return isThere();
}

/** Packages with a service would start it for the whole machine: Debian asks this file first, and 101 means no. */
function withoutServices(run: () => void): void {
  const policy = "/usr/sbin/policy-rc.d";
  const isOurs = !existsSync(policy);
  if (isOurs) writeFileSync(policy, "#!/bin/sh\nexit 101\n", { mode: 0o755 });
  try {
    run();
  } finally {
    if (isOurs) rmSync(policy, { force: true });
  }
}
