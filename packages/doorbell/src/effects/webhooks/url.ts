// Which URLs webhooks are sent to: what can be told by looking at one. Where its name leads is judged at each connection
// (guarded-connector.ts).
import { isIP } from "node:net";
import { DoorbellError } from "../../core/errors.ts";
import { assertStorableText } from "../../core/json.ts";
import { isPublicAddress } from "./address.ts";

const urlMaxBytes = 2_000;

/** Throws option_invalid, without the URL in it, for what is no URL of http(s), and for one with a user or a password. */
export function webhookUrl(text: string): URL {
  assertStorableText(text, { name: "webhook url", maxBytes: urlMaxBytes, code: "option_invalid" });
  if (!URL.canParse(text)) throw refused("is not a URL");
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") throw refused(`is not http or https, but ${url.protocol}`);
  if (url.username !== "" || url.password !== "") throw refused("holds a user or a password");
  return url;
}

/**
 * Throws option_invalid for an address that is not public, however it is spelled, and for this machine's own name. A name
 * of the network passes: what it resolves to may change, and is judged whenever a connection is made.
 */
export function refusePrivateAddress({ hostname }: URL): void {
  const host = hostname.replace(/^\[|\]$/g, "");
  const literal = isIP(host) !== 0;
  if (literal ? isPublicAddress(host) : !/(^|\.)localhost\.?$/.test(host)) return;
  throw refused(`leads to ${host}, which is not a public address`);
}

/** For messages: a URL may carry secrets in its path and query. */
export function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : "an invalid URL";
}

const refused = (reason: string): DoorbellError => new DoorbellError("option_invalid", `webhook url ${reason}`);
