// The bytes of an upload, from a raw body or a form, with a bound that holds while they arrive. Nothing is parsed here but
// the form around the file.
import { Problem } from "./problem.ts";

export interface UploadedFile {
  /** At least one byte. */
  readonly bytes: Uint8Array;
  /** As the sender calls it; null if it was not said. */
  readonly name: string | null;
}

export const fileMaxBytes = 20 * 1024 * 1024;
/** Boundaries, headers and small fields around the file. */
const formMaxBytes = fileMaxBytes + 64 * 1024;
const nameMaxChars = 200;

/** Throws Problem 400 (a form that is none), 413 (over 20 MB), 422 (no file, or an empty one). */
export async function readUpload(request: Request): Promise<UploadedFile> {
  const contentType = request.headers.get("content-type") ?? "";
  const isForm = /^multipart\/form-data\b/i.test(contentType);
  const body = await readAtMost(request, isForm ? formMaxBytes : fileMaxBytes);
  const file = isForm
    ? await fileOfForm(body, contentType)
    : { bytes: body, name: new URL(request.url).searchParams.get("name") };
  if (file.bytes.byteLength > fileMaxBytes) throw tooLarge();
  if (file.bytes.byteLength === 0) throw new Problem(422, "empty_file", "The file is empty.");
  return { bytes: file.bytes, name: shownName(file.name) };
}

async function readAtMost(request: Request, maxBytes: number): Promise<Uint8Array> {
  if (Number(request.headers.get("content-length") ?? 0) > maxBytes) throw tooLarge();
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of request.body ?? []) {
    size += chunk.byteLength;
    if (size > maxBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, size);
}

/** The field `file`, or else the only file there is. */
async function fileOfForm(body: Uint8Array, contentType: string): Promise<UploadedFile> {
  const form = await new Response(body, { headers: { "content-type": contentType } }).formData().catch(() => {
    throw new Problem(400, "form_malformed", "The body is not the form that its content type says.");
  });
  const files = [...form].filter((field): field is [string, File] => typeof field[1] !== "string");
  const [file] = files.length === 1 ? files : files.filter(([name]) => name === "file");
  if (file === undefined) throw new Problem(422, "file_missing", 'The form has no file in its field "file".');
  return { bytes: new Uint8Array(await file[1].arrayBuffer()), name: file[1].name };
}

/** Without what a database refuses or a terminal obeys. */
function shownName(name: string | null): string | null {
  const shown = (name ?? "").replace(/[\p{Cc}\p{Bidi_Control}\p{Surrogate}]/gu, "").trim();
  return shown === "" ? null : [...shown].slice(0, nameMaxChars).join("");
}

function tooLarge(): Problem {
  return new Problem(413, "file_too_large", `A file may have ${fileMaxBytes} bytes.`);
}
