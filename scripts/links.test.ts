// Every relative link in a Markdown file of this repository leads to a file that is there, and to a heading that it has; and
// the tests and SQL files that prose names as proof are there.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const root = fileURLToPath(new URL("..", import.meta.url));
const notOurs: ReadonlySet<string> = new Set(["node_modules", "dist", "coverage"]);

function filesBelow(folder: string): readonly string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (notOurs.has(entry.name) || entry.name.startsWith(".")) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}

/** What is code says nothing of links and headings. */
function proseOf(file: string): string {
  return readFileSync(file, "utf8").replace(/^```[\s\S]*?^```/gm, "");
}

/** As GitHub makes them: lower case, without punctuation, a hyphen for each space, numbered where they repeat. */
function anchorsOf(file: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  for (const [, title = ""] of proseOf(file).matchAll(/^#{1,6} (.+)$/gm)) {
    const anchor = title
      .toLowerCase()
      .replace(/[^\p{Letter}\p{Number}\- _]/gu, "")
      .replaceAll(" ", "-");
    let unique = anchor;
    for (let n = 1; anchors.has(unique); n += 1) unique = `${anchor}-${n}`;
    anchors.add(unique);
  }
  return anchors;
}

/** Null: the link leads somewhere, or out of the repository, where nobody looks. */
function faultOf(file: string, link: string): string | null {
  if (/^[a-z][a-z0-9+.-]*:/i.test(link)) return null;
  const [path = "", anchor] = link.split("#");
  const target = path === "" ? file : resolve(dirname(file), decodeURIComponent(path));
  if (!existsSync(target)) return "no such file";
  if (anchor === undefined || statSync(target).isDirectory()) return null;
  return anchorsOf(target).has(anchor) ? null : "no such heading";
}

const files = filesBelow(root);
const pages = files.filter((file) => file.endsWith(".md"));
const nameOf = (file: string): string => relative(root, file);

test("the pages of the repository are found", () => {
  expect(pages.map(nameOf)).toEqual(
    expect.arrayContaining(["README.md", "ARCHITECTURE.md", join("docs", "settings.md")]),
  );
});

test("every relative link leads somewhere", () => {
  const faults = pages.flatMap((page) => {
    const links = [
      ...proseOf(page)
        .replace(/`[^`\n]*`/g, "")
        .matchAll(/\]\(([^)\s]+)\)/g),
    ];
    return links.map(([, link = ""]) => [nameOf(page), link, faultOf(page, link)] as const);
  });
  expect(faults.filter(([, , fault]) => fault !== null)).toEqual([]);
});

test("the tests and SQL files that are named are there", () => {
  const named = pages.flatMap((page) =>
    [...proseOf(page).matchAll(/`([\w./-]+\.(?:test\.ts|sql))`/g)].map(
      ([, name = ""]) => [nameOf(page), name] as const,
    ),
  );
  expect(named.filter(([, name]) => !files.some((file) => file.endsWith(`/${name}`)))).toEqual([]);
});
