// Walking a parsed XML document by paths of local names ("ExchangedDocument/ID"). Namespaces prefixes are gone, text is
// unparsed. A step that is missing gives nothing, a step that is repeated gives the first; nothing here throws.
import { XMLParser } from "fast-xml-parser";
import { type Amount, parseDecimal } from "../amount.ts";
import { fieldText } from "../clean-text.ts";
import { RejectedDocument } from "../rejection.ts";

/** An element: a string if it has text only, else its children and attributes (`@name`, own text under `#text`). */
export type XmlNode = string | { readonly [name: string]: XmlNode | readonly XmlNode[] };

/** The document element and its local name. */
export interface XmlRoot {
  readonly name: string;
  readonly node: XmlNode;
}

const parser = new XMLParser({
  ignoreAttributes: false,
  attributeNamePrefix: "@",
  removeNSPrefix: true,
  parseTagValue: false,
  parseAttributeValue: false,
  ignoreDeclaration: true,
  ignorePiTags: true,
});

/** Parses text that `readXmlSource` has let through. Throws `xml_not_wellformed`. */
export function parseXml(text: string): XmlRoot {
  let parsed: XmlNode;
  try {
    parsed = parser.parse(text.replace(/^\ufeff/, ""), true) as XmlNode;
  } catch (error) {
    throw new RejectedDocument("xml_not_wellformed", error instanceof Error ? error.message : undefined);
  }
  const [root, another] = typeof parsed === "string" ? [] : Object.entries(parsed);
  if (root === undefined || another !== undefined) {
    throw new RejectedDocument("xml_not_wellformed", "it has not exactly one document element");
  }
  const [name, node] = root;
  return { name, node: firstOf(node) ?? "" };
}

/** The first element at the path, or null. */
export function firstAt(node: XmlNode, path: string): XmlNode | null {
  let current: XmlNode | null = node;
  for (const step of path.split("/")) {
    if (current === null || typeof current === "string") return null;
    current = firstOf(current[step]);
  }
  return current;
}

/** Every element at the path: all repetitions of the last step, below the first of each step before it. */
export function allAt(node: XmlNode, path: string): readonly XmlNode[] {
  const slash = path.lastIndexOf("/");
  const parent = slash < 0 ? node : firstAt(node, path.slice(0, slash));
  if (parent === null || typeof parent === "string") return [];
  const found = parent[path.slice(slash + 1)];
  if (found === undefined) return [];
  return isList(found) ? found : [found];
}

/** The element's own text, fit to be stored; null if it is empty. */
export function textOf(node: XmlNode | null): string | null {
  if (node === null) return null;
  if (typeof node === "string") return fieldText(node);
  const own = firstOf(node["#text"]);
  return typeof own === "string" ? fieldText(own) : null;
}

export function textAt(node: XmlNode, path: string): string | null {
  return textOf(firstAt(node, path));
}

/** The element's text as an amount; null if it is missing or no decimal number. */
export function amountOf(node: XmlNode | null): Amount | null {
  const text = textOf(node);
  return text === null ? null : parseDecimal(text);
}

export function amountAt(node: XmlNode, path: string): Amount | null {
  return amountOf(firstAt(node, path));
}

export function attributeOf(node: XmlNode | null, name: string): string | null {
  if (node === null || typeof node === "string") return null;
  const value = firstOf(node[`@${name}`]);
  return typeof value === "string" ? fieldText(value) : null;
}

function firstOf(found: XmlNode | readonly XmlNode[] | undefined): XmlNode | null {
  if (found === undefined) return null;
  return isList(found) ? (found[0] ?? null) : found;
}

function isList(found: XmlNode | readonly XmlNode[]): found is readonly XmlNode[] {
  return Array.isArray(found);
}
