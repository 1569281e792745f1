import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { afterEach, describe, expect, test, vi } from "vitest";
import { makeBill } from "../../../samples/bill.ts";
import { hybridPdf } from "../../../samples/hybrid-pdf.ts";
import { spinningPdf } from "../../../test/documents/pdf-with-content.ts";
import { resolveLimits } from "../limits.ts";
import { ParserChild, ParserChildError } from "./parser-child.ts";

const tsxUrl = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const children: ParserChild[] = [];

async function start(limits: Parameters<typeof resolveLimits>[0] = {}): Promise<ParserChild> {
  const child = await ParserChild.start(resolveLimits(limits));
  children.push(child);
  return child;
}

afterEach(() => {
  for (const child of children.splice(0)) child.kill();
});

/** Zombies count as ended: they wait for a parent that may be anybody. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = `/proc/${pid}/stat`;
  return !existsSync(stat) || !/\) Z/.test(readFileSync(stat, "latin1"));
}

describe("ParserChild", () => {
  test("reads one document after the other", async () => {
    const child = await start();
    for (const index of [1, 2]) {
      const bill = makeBill("acme", index);
      await expect(child.read(await hybridPdf(bill))).resolves.toMatchObject({
        type: "extraction",
        extraction: { outcome: "accepted", invoice: { number: bill.number } },
      });
    }
  });

  test("is killed when its time is over, and says that the document was the reason", async () => {
    const child = await start({ timeMs: 500 });
    await expect(child.read(spinningPdf())).resolves.toEqual({ type: "limit", code: "limit_time" });
    await vi.waitFor(() => expect(isRunning(child.pid ?? 0)).toBe(false));
  });

  test("is not blamed for time that its parent was frozen", async () => {
    const child = await start({ timeMs: 1000 });
    const reading = child.read(await hybridPdf(makeBill("acme", 1)));
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2500));
    await expect(reading).resolves.toMatchObject({ type: "extraction" });
    expect(child.isAlive).toBe(true);
  });

  test("is killed by an abort, with the reason of the abort", async () => {
    const child = await start();
    const controller = new AbortController();
    const reading = child.read(spinningPdf(), controller.signal);
    controller.abort(new Error("lease lost"));
    await expect(reading).rejects.toThrow("lease lost");
    await vi.waitFor(() => expect(isRunning(child.pid ?? 0)).toBe(false));
  });

  test("blames no document when something else kills it", async () => {
    const child = await start();
    const reading = child.read(spinningPdf());
    process.kill(child.pid ?? 0, "SIGKILL");
    await expect(reading).rejects.toThrow(ParserChildError);
    expect(child.isAlive).toBe(false);
  });

  test("fails a document that is handed to it after its end", async () => {
    const child = await start();
    child.kill();
    await expect(child.read(new Uint8Array(1))).rejects.toThrow(ParserChildError);
  });

  test.skipIf(!existsSync("/proc/self/environ"))("sees nothing of the environment of its parent", async () => {
    vi.stubEnv("DATABASE_URL", "postgres://secret");
    const child = await start();
    const environment = readFileSync(`/proc/${child.pid}/environ`, "latin1");
    vi.unstubAllEnvs();
    expect(environment).toContain("TZ=UTC");
    expect(environment).not.toContain("secret");
  });

  test("dies with its parent, although it is busy and the parent was killed with -9", async () => {
    const script = fileURLToPath(new URL("../../../test/documents/orphan-parent.ts", import.meta.url));
    const parent = spawn(process.execPath, ["--import", tsxUrl, script], { stdio: ["ignore", "pipe", "inherit"] });
    const [output] = (await once(parent.stdout, "data")) as [Buffer];
    const childPid = Number(output.toString());
    expect(isRunning(childPid)).toBe(true);
    parent.kill("SIGKILL");
    await vi.waitFor(() => expect(isRunning(childPid)).toBe(false), { timeout: 10_000 });
  });

  test("does not keep a parent alive that has nothing else to do", async () => {
    const module = new URL("../extract-document.ts", import.meta.url).href;
    const script = `const { extractDocument } = await import(${JSON.stringify(module)});
      const { outcome } = await extractDocument(new TextEncoder().encode("%PDF-"));
      const { kind } = await extractDocument(new TextEncoder().encode("<Invoice/>"));
      console.log(outcome, kind);`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", tsxUrl, "--input-type=module", "--eval", script],
      { timeout: 20_000 },
    );
    expect(stdout.trim()).toBe("rejected xml");
  });
});

describe("refuseNetwork", () => {
  test("leaves no way out", async () => {
    const module = new URL("./no-network.ts", import.meta.url).href;
    const script = `const { refuseNetwork } = await import(${JSON.stringify(module)});
      refuseNetwork();
      const { get } = await import("node:http");
      const tries = [fetch("http://127.0.0.1:8099"), new Promise((resolve) => resolve(get("http://127.0.0.1:8099")))];
      for (const { reason } of await Promise.allSettled(tries)) console.log(reason?.cause?.message ?? reason?.message);`;
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ["--import", tsxUrl, "--input-type=module", "--eval", script],
      { timeout: 20_000 },
    );
    expect(stdout.trim().split("\n")).toEqual(Array(2).fill("the document reader has no network"));
  });
});
