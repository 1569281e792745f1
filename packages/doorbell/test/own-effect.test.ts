// "Write your own effect" of docs/effects.md: its example is the fixture, it type-checks, and it charges once.
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { pay, paying } from "./fixtures/charge.ts";
import { eventually, Stage } from "./support.ts";

const pathOf = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));
const fixture = readFileSync(pathOf("fixtures/charge.ts"), "utf8");
/** Without the line that says what the file is for, and as an application imports. */
const example = fixture.slice(fixture.indexOf("\n") + 1).replace("../../src/index.ts", "doorbell-jobs");

test("the page has the example word for word", () => {
  const blocks = [...readFileSync(pathOf("../../../docs/effects.md"), "utf8").matchAll(/^```ts\n(.*?)^```$/gms)];
  expect(blocks.map(([, text]) => text)).toEqual([example]);
});

test("the example type-checks, and would not if a probe forgot the value", () => {
  expect(typeErrors(example)).toBe("");
  const broken = example.replace(", value: (await response.json()) as Charge", "");
  expect(broken).not.toBe(example);
  expect(typeErrors(broken)).toContain("TS2322");
}, 60_000);

/** What the compiler says of a module with this text, under the settings of this package. */
function typeErrors(text: string): string {
  const folder = mkdtempSync(join(tmpdir(), "doorbell-types-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(folder, "charge.ts"), text);
  const compilerOptions = {
    paths: { "doorbell-jobs": [pathOf("../src/index.ts")] },
    typeRoots: [pathOf("../../../node_modules/@types")],
  };
  const config = { extends: pathOf("../tsconfig.json"), compilerOptions, include: [], files: ["charge.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const compiler = pathOf("../../../node_modules/typescript/bin/tsc");
  const { stdout, stderr } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
  return stdout + stderr;
}

/** A bank that charges, and answers charges by this list: a status, or nothing, with the connection gone. */
async function openBank(
  answers: (number | "silence")[],
): Promise<{ readonly url: string; readonly charged: string[] }> {
  const charges = new Map<string, { readonly id: string }>();
  const charged: string[] = [];
  const server = createServer((request, response) => {
    const key = request.url ?? "";
    if (request.method === "GET") {
      const found = charges.get(key);
      return void response.writeHead(found === undefined ? 404 : 200).end(JSON.stringify(found ?? null));
    }
    request.resume().on("end", () => {
      const answer = answers.shift() ?? 200;
      if (typeof answer === "number" && answer >= 400) return void response.writeHead(answer).end();
      charged.push(key);
      charges.set(key, { id: `ch_${charged.length}` });
      if (answer === "silence") request.socket.destroy();
      else response.writeHead(answer).end(JSON.stringify(charges.get(key)));
    });
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, charged };
}

test.each<[string, (number | "silence")[], string, number, number]>([
  ["the answer is lost: it is asked for, and not charged again", ["silence"], "done", 2, 1],
  ["the bank is busy at first: it is tried again", [429, 200], "done", 2, 1],
  ["the bank fails before it charges: asked, it says so, and it is charged then", [500, 200], "done", 2, 1],
  ["the card is declined: the job is a dead letter at once", [402], "failed", 1, 0],
])(
  "%s",
  async (_, answers, state, attempts, charges) => {
    const bank = await openBank(answers);
    await using stage = await Stage.open();
    const doorbell = await stage.client();
    await stage.worker(doorbell, [paying(bank.url)]);
    const { id } = await doorbell.enqueue(pay, {}, { tenant: "acme" });
    const job = await eventually(`the job to be ${state}`, async () => {
      const [row] = await stage.db.query<{ state: string; attempts: number; result: unknown }>(
        "select state, attempts, result from doorbell.all_jobs where id = $1",
        [id],
      );
      return row?.state === state && row;
    });
    expect(job).toMatchObject({ attempts, result: state === "done" ? { paid: "ch_1" } : null });
    expect(bank.charged).toHaveLength(charges);
  },
  20_000,
);
