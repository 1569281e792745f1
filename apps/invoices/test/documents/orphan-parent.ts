// A process for a test: starts a parser child, gives it work for minutes, prints the child's process id, and waits to
// be killed.
import { ParserChild } from "../../src/documents/child/parser-child.ts";
import { resolveLimits } from "../../src/documents/limits.ts";
import { spinningPdf } from "./pdf-with-content.ts";

const child = await ParserChild.start(resolveLimits());
const reading = child.read(spinningPdf());
console.log(child.pid);
await reading;
