// Who is asking: a bearer token is bound to one account, and names it. The account's own rows are all that is looked at.
import { timingSafeEqual } from "node:crypto";
import { createMiddleware } from "hono/factory";
import type { Resources } from "../resources.ts";
import { accountOfToken, hashToken, tokenHashes } from "../store/accounts.ts";
import { asAccount } from "../store/database.ts";
import { Problem } from "./problem.ts";

/** What a handler finds in its context. */
export interface AccountEnv {
  Variables: { account: string };
}

/** Sets the account, or answers 401: the same for no token, a wrong one, and one of an account that is not there. */
export function authenticate(resources: Resources) {
  return createMiddleware<AccountEnv>(async (c, next) => {
    const token = /^Bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "")?.[1];
    const account = token === undefined ? null : accountOfToken(token);
    if (token === undefined || account === null || !(await isTokenOf(resources, account, token))) {
      throw new Problem(401, "token_invalid", "A valid bearer token is needed.");
    }
    c.set("account", account);
    await next();
  });
}

/** Every hash is compared, in constant time, whichever fits. */
async function isTokenOf(resources: Resources, account: string, token: string): Promise<boolean> {
  const offered = hashToken(token);
  const known = await asAccount(resources, account, (db) => tokenHashes(db, account));
  return known.map((hash) => timingSafeEqual(hash, offered)).includes(true);
}
