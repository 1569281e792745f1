// Programs that come from Debian and not from npm: installed where apt and root are there. Without one its suite is skipped,
// loudly; with CI=true that is a failure.
import { spawnSync } from "node:child_process";

/** Whether this program runs, after an attempt to install the package that has it. */
export function haveProgram(program: string, debianPackage: string): boolean {
  const runs = (): boolean => spawnSync(program, ["--version"], { stdio: "ignore" }).status === 0;
  if (runs()) return true;
  if (process.getuid?.() !== 0) return false;
  console.error(`installing ${debianPackage} …`);
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  const apt = (...args: readonly string[]): boolean =>
    spawnSync("apt-get", ["-y", "-qq", ...args], { env, stdio: "ignore" }).status === 0;
  const install = (): boolean => apt("install", "--no-install-recommends", debianPackage);
  if (!install()) {
    apt("update");
    install();
  }
  return runs();
}
