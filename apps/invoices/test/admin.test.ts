// What is typed to administer the application.
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { administer, explain, UsageError } from "../src/admin.ts";
import { openStage, type Stage } from "./stage.ts";

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
});
afterAll(() => stage[Symbol.asyncDispose]());

const admin = (...args: string[]) => administer(args, stage.db.adminUrl);

test("an account is made, and its token opens the door", async () => {
  const said = await admin("add-account", "typed", "--email", "a@example.com", "--webhook", "https://a.example");
  const [, token, secret] = /^token {3}(\S+)\nsecret {2}(\S+)$/.exec(said) ?? [];
  const response = await stage.fetch("/invoices", { headers: { authorization: `Bearer ${token}` } });
  expect(await response.json()).toEqual({ invoices: [] });
  const sql = "select webhook_url, webhook_secret from invoices.accounts where account_id = 'typed'";
  expect(await stage.db.query(sql)).toEqual([{ webhook_url: "https://a.example", webhook_secret: secret }]);
});

test("an account has no secret where nobody is told", async () => {
  expect(await admin("add-account", "silent", "--email", "a@example.com")).toMatch(/^token {3}inv_silent_\S{43}$/);
});

test("an account that is there already is refused, and so is an id that is none", async () => {
  await stage.openAccount("twice");
  const again = await admin("add-account", "twice", "--email", "a@example.com").catch(explain);
  expect(again).toBe("there is an account of this id already");
  const noId = await admin("add-account", "No Id", "--email", "a@example.com").catch(explain);
  expect(noId).toContain("a-z, 0-9");
});

test.each([
  ["an account without an address", ["add-account", "mute"], "--email is missing"],
  ["a command that is none", ["drop-everything"], "not a command: drop-everything"],
  ["an option that is none", ["migrate", "--force"], "--force"],
  ["nothing", [], "no command was given"],
])("%s is a mistake in usage", async (_, args, said) => {
  const error = await admin(...args).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(UsageError);
  expect((error as UsageError).message).toContain(said);
});

test("the process says that a schema is up to date, and ends well", async () => {
  const script = fileURLToPath(new URL("../src/admin-cli.ts", import.meta.url));
  const node = ["--import", "tsx", "-C", "doorbell-source", script, "migrate"];
  const env = { ...process.env, DATABASE_URL: stage.db.adminUrl };
  expect(await promisify(execFile)(process.execPath, node, { env })).toMatchObject({ stdout: "up to date\n" });
});
