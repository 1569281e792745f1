// The application's HTTP: upload a document, and see what became of it. An account sees its own and nothing else; another
// account's id and one that never was get the same answer.
import { Hono } from "hono";
import type { Resources } from "../resources.ts";
import { asAccount } from "../store/database.ts";
import { getDocumentView, listDocumentViews } from "../store/views.ts";
import { type AccountEnv, authenticate } from "./authenticate.ts";
import { Problem, problemResponse } from "./problem.ts";
import { takeIn } from "./upload.ts";
import { readUpload } from "./uploaded-file.ts";

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const pageMax = 200;

export function invoicesWeb(resources: Resources): Hono<AccountEnv> {
  const web = new Hono<AccountEnv>();
  web.use("/invoices/*", authenticate(resources));

  web.post("/invoices", async (c) => {
    const taken = await takeIn(resources, c.get("account"), await readUpload(c.req.raw));
    return c.json(taken, 202, { location: `/invoices/${taken.id}` });
  });

  web.get("/invoices/:id", async (c) => {
    const account = c.get("account");
    const id = c.req.param("id");
    const view = uuid.test(id) ? await asAccount(resources, account, (db) => getDocumentView(db, account, id)) : null;
    if (view === null) throw new Problem(404, "not_found", "There is no such document.");
    return c.json(view);
  });

  // Newest first. `?before=ID` goes on after the last one of a page.
  web.get("/invoices", async (c) => {
    const account = c.get("account");
    const before = c.req.query("before");
    if (before !== undefined && !uuid.test(before)) throw new Problem(422, "before_invalid", "before is not an id.");
    const invoices = await asAccount(resources, account, (db) =>
      listDocumentViews(db, account, before ?? null, pageMax),
    );
    return c.json({ invoices });
  });

  web.notFound((c) => problemResponse(c, new Problem(404, "not_found", "There is nothing here."), resources.log));
  web.onError((error, c) => problemResponse(c, error, resources.log));
  return web;
}
