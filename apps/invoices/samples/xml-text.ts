// Writing XML by hand, safely: every value is escaped, and an element is a function of its children.

/** Markup that is already escaped. */
export interface Markup {
  readonly markup: string;
}

export type Attributes = Readonly<Record<string, string>>;

/** One element. Strings among the children are text and get escaped. */
export function element(name: string, children: readonly (Markup | string)[], attributes: Attributes = {}): Markup {
  const attributeText = Object.entries(attributes)
    .map(([key, value]) => ` ${key}="${escapeText(value)}"`)
    .join("");
  const content = children.map((child) => (typeof child === "string" ? escapeText(child) : child.markup)).join("");
  return { markup: `<${name}${attributeText}>${content}</${name}>` };
}

/** The bytes of a whole document. */
export function xmlDocument(root: Markup): Uint8Array {
  return new TextEncoder().encode(`<?xml version="1.0" encoding="UTF-8"?>\n${root.markup}\n`);
}

function escapeText(text: string): string {
  return text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
}
