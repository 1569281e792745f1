// Secrets leave text before it is stored or logged: errors of HTTP clients, database URLs and option dumps carry them.
// Owns the patterns. Every pattern is linear in the text, because the text may come from outside; none may ever throw.
// A net under careful code, not a substitute for it: a secret with no name beside it cannot be recognised.
import { cutMarker, cutRoughly, cutToBytes, replaceUnstorable } from "./text.ts";

const hiddenText = "[redacted]";

const secretWord =
  "password|passwd|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|signature|credential|session[_-]?id";

const secretName = new RegExp(`${secretWord}|authorization|cookie`, "i");

const secretPatterns: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|$)/g, hiddenText],
  // A header with its whole value: the value may hold spaces ("Basic dXNlcjpw", "a=1; b=2").
  [/\b((?:proxy-)?authorization|(?:set-)?cookie)(["']?\s{0,8}[:=]\s{0,8}["']?)[^\r\n"']+/gi, `$1$2${hiddenText}`],
  [/\b(bearer)\s{1,8}[\w.~+/=-]+/gi, `$1 ${hiddenText}`],
  // user:password@ in a URL; the greedy run also takes an "@" inside the password.
  [/\b([a-z][a-z0-9+.-]{0,30}:\/\/)[^\s/?#"'<>]*@/gi, `$1${hiddenText}@`],
  // name=value, name: value, "name":"value"; the bound on the name's length keeps the search linear, and what is hidden
  // already is taken whole, so that scrubbing twice changes nothing.
  [
    new RegExp(
      `\\b([\\w-]{0,40}?(?:${secretWord})[\\w-]{0,40})(["']?\\s{0,8}[=:]\\s{0,8})(?:\\[redacted\\]|"[^"]*"?|'[^']*'?|[^\\s&"',;)}\\]])+`,
      "gi",
    ),
    `$1$2${hiddenText}`,
  ],
  [/\bwhsec_[\w+/=-]+/g, hiddenText],
  [/\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g, hiddenText],
];

/** The text without the secrets that can be recognised in it. */
export function scrubSecrets(text: string): string {
  let scrubbed = text;
  for (const [pattern, replacement] of secretPatterns) scrubbed = scrubbed.replace(pattern, replacement);
  return scrubbed;
}

/**
 * The text as it may be stored and shown: storable, scrubbed, in at most `maxBytes` bytes. In an order that never shows
 * half of a secret and never works on the whole of a huge text.
 */
export function safeText(text: string, maxBytes: number): string {
  const rough = cutRoughly(text, 4 * maxBytes);
  const scrubbed = scrubSecrets(replaceUnstorable(rough));
  return cutToBytes(rough === text ? scrubbed : `${scrubbed}${cutMarker}`, maxBytes);
}

/** Tells whether a field of this name is taken for a secret, whatever its value. */
export function isSecretName(name: string): boolean {
  return secretName.test(name.length > 200 ? name.slice(0, 200) : name);
}

/** What stands in the place of a secret. */
export const hiddenSecret: string = hiddenText;
