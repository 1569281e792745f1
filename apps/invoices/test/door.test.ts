// What is refused at the door, and how: before any job, with a problem that a program can act upon.
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { openDatabase } from "../src/store/database.ts";
import { invoicesWeb } from "../src/web/routes.ts";
import { fileMaxBytes } from "../src/web/uploaded-file.ts";
import { type AccountClient, openStage, type Stage } from "./stage.ts";
import { getDocument, upload } from "./upload.ts";

let stage: Stage;
let account: AccountClient;

beforeAll(async () => {
  stage = await openStage();
  account = await stage.openAccount("door");
});
afterAll(() => stage[Symbol.asyncDispose]());

async function problemOf(response: Response): Promise<unknown> {
  expect(response.headers.get("content-type")).toBe("application/problem+json");
  const problem = (await response.json()) as { status: number; code: string };
  expect(problem.status).toBe(response.status);
  return [problem.status, problem.code];
}

const post = (body: NonNullable<RequestInit["body"]>, headers: Record<string, string> = {}) =>
  account.fetch("/invoices", { method: "POST", body, headers });

describe("a token", () => {
  test.each([
    ["none", {}],
    ["of another scheme", { authorization: "Basic aW52" }],
    ["that is no token", { authorization: "Bearer x" }],
    ["of an account that is not there", { authorization: `Bearer inv_nobody_${"A".repeat(43)}` }],
    ["with another secret", { authorization: `Bearer inv_door_${"A".repeat(43)}` }],
  ])("%s is answered 401", async (_, headers) => {
    for (const path of ["/invoices", "/invoices/01900000-0000-7000-8000-000000000000"]) {
      const response = await stage.fetch(path, { headers: headers as Record<string, string> });
      expect(response.headers.get("www-authenticate")).toBe("Bearer");
      expect(await problemOf(response)).toEqual([401, "token_invalid"]);
    }
  });

  test("does not open another account, whatever account it is made to name", async () => {
    await stage.openAccount("next-door");
    const forged = account.token.replace("inv_door_", "inv_next-door_");
    const response = await stage.fetch("/invoices", { headers: { authorization: `Bearer ${forged}` } });
    expect(await problemOf(response)).toEqual([401, "token_invalid"]);
    expect((await account.fetch("/invoices")).status).toBe(200);
  });
});

describe("an upload", () => {
  test("that is empty is answered 422, and leaves nothing behind", async () => {
    expect(await problemOf(await post(""))).toEqual([422, "empty_file"]);
    expect(await (await account.fetch("/invoices")).json()).toEqual({ invoices: [] });
  });

  test("of more than 20 MB is answered 413, whether or not it says so beforehand", async () => {
    const tooLarge = new Uint8Array(fileMaxBytes + 1);
    expect(await problemOf(await post(tooLarge))).toEqual([413, "file_too_large"]);
    const unannounced = new ReadableStream({
      start(controller) {
        controller.enqueue(tooLarge);
        controller.close();
      },
    });
    const response = await account.fetch("/invoices", {
      method: "POST",
      body: unannounced,
      duplex: "half",
    } as RequestInit);
    expect(await problemOf(response)).toEqual([413, "file_too_large"]);
  });

  test("may come as a form, whose file is taken and whose name is kept without what a terminal obeys", async () => {
    const form = new FormData();
    form.append("note", "for March");
    form.append("file", new Blob(["<Invoice/>"]), "in\u202evoice\u0007.xml");
    const response = await post(form);
    expect(response.status).toBe(202);
    const { id } = (await response.json()) as { id: string };
    expect(await getDocument(account, id)).toMatchObject({ state: "received", fileName: "invoice.xml", sizeBytes: 10 });
    expect(response.headers.get("location")).toBe(`/invoices/${id}`);
  });

  test("is shown by its name alone: without folders, and with as much of it as a person reads", async () => {
    for (const [name, shown] of [
      ["../../etc/passwd", "passwd"],
      ["C:\\invoices\\march.pdf", "march.pdf"],
      ["in\u0000voice.pdf", "invoice.pdf"],
      ["x".repeat(5000), "x".repeat(300)],
      ["folder/", null],
    ] as const) {
      const { id } = await upload(account, Buffer.from(`called ${name}`), name);
      expect((await getDocument(account, id)).fileName).toBe(shown);
    }
  });

  test("that breaks off leaves nothing behind, and is nobody's error but the sender's", async () => {
    const logged = vi.spyOn(stage.resources.log, "error");
    const before = await stage.db.query("select from invoices.documents");
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(Buffer.from("%PDF-1.7 and then")),
      pull: (controller) => controller.error(new Error("aborted")),
    });
    const init = { method: "POST", body, duplex: "half" } as RequestInit;
    expect(await problemOf(await account.fetch("/invoices", init))).toEqual([400, "upload_cut_off"]);
    expect(await stage.db.query("select from invoices.documents")).toHaveLength(before.length);
    expect(logged).not.toHaveBeenCalled();
  });

  test("as a form without a file, or one that is no form, is told so", async () => {
    const form = new FormData();
    form.append("file", "not a file");
    expect(await problemOf(await post(form))).toEqual([422, "file_missing"]);
    const malformed = await post("no form", { "content-type": "multipart/form-data; boundary=x" });
    expect(await problemOf(malformed)).toEqual([400, "form_malformed"]);
    const unbounded = await post("no form", { "content-type": "multipart/form-data" });
    expect(await problemOf(unbounded)).toEqual([400, "form_malformed"]);
  });

  test("as a form of very many fields is refused before it is taken apart", async () => {
    const field = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n\r\n';
    const response = await post(field.repeat(300_000), { "content-type": 'multipart/form-data; boundary="x"' });
    expect(await problemOf(response)).toEqual([422, "form_too_complex"]);
  });

  test("whose job cannot be enqueued leaves no document either", async () => {
    const doorbell = {
      ...stage.doorbell,
      enqueue: () => Promise.reject(new Error("no job today")),
    };
    const web = invoicesWeb({ ...stage.resources, doorbell });
    const init = { method: "POST", body: "only once", headers: { authorization: `Bearer ${account.token}` } };
    const before = await stage.db.query("select from invoices.documents");
    const response = await web.fetch(new Request("http://invoices.test/invoices", init));
    expect(await problemOf(response)).toEqual([500, "internal"]);
    expect(await stage.db.query("select from invoices.documents")).toHaveLength(before.length);

    // The same upload again is a new one: nothing remembers the first.
    expect(await upload(account, Buffer.from("only once"))).toMatchObject({ duplicate: false });
  });
});

test("what is not there is answered 404, with a token or without", async () => {
  expect(await problemOf(await stage.fetch("/nothing"))).toEqual([404, "not_found"]);
  expect(await problemOf(await account.fetch("/invoices/not-an-id"))).toEqual([404, "not_found"]);
});

test("a database that does not answer is no fault of the caller's: 503, and try again", async () => {
  const { doorbell, log, mailFrom } = stage.resources;
  const db = openDatabase("postgres://nobody@127.0.0.1:1/nothing");
  const web = invoicesWeb({ doorbell, log, mailFrom, db });
  const headers = { authorization: `Bearer ${account.token}` };
  const response = await web.fetch(new Request("http://invoices.test/invoices", { headers }));
  expect(await problemOf(response)).toEqual([503, "unavailable"]);
  await db.destroy();
});
