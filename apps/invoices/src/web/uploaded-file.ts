// The bytes of an upload, from a raw body or a form, with a bound that holds while they arrive. Nothing is parsed here but
// the form around the file.
import { fieldText } from "../documents/clean-text.ts";
import { defaultLimits } from "../documents/limits.ts";
import { Problem } from "./problem.ts";

export interface UploadedFile {
  /** At least one byte. */
  readonly bytes: Uint8Array;
  /** As the sender calls it, without its folders; null if it was not said. For showing only. */
  readonly name: string | null;
}

/** What the reader would refuse for its size is refused at the door. */
export const fileMaxBytes: number = defaultLimits.inputBytes;
/** With boundaries, headers and small fields around the file. */
const formMaxBytes = fileMaxBytes + 64 * 1024;
const formFieldsMax = 50;

/** Throws Problem 400 (cut off, or a form that is none), 413 (over 20 MB), 422 (no file, or an empty one). */
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
  try {
    for await (const chunk of request.body ?? []) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge();
      chunks.push(chunk);
    }
  } catch (error) {
    if (error instanceof Problem) throw error;
    throw new Problem(400, "upload_cut_off", "The upload ended before its end. Send it again.");
  }
  return Buffer.concat(chunks, size);
}

/** The field `file`, or else the only file there is. */
async function fileOfForm(body: Uint8Array, contentType: string): Promise<UploadedFile> {
  refuseManyFields(Buffer.from(body.buffer, body.byteOffset, body.byteLength), contentType);
  const form = await new Response(body, { headers: { "content-type": contentType } }).formData().catch(() => {
    throw malformed();
  });
  const files = [...form].filter((field): field is [string, File] => typeof field[1] !== "string");
  const [file] = files.length === 1 ? files : files.filter(([name]) => name === "file");
  if (file === undefined) throw new Problem(422, "file_missing", 'The form has no file in its field "file".');
  return { bytes: new Uint8Array(await file[1].arrayBuffer()), name: file[1].name };
}

/** Taking a form apart blocks this process, and a few hundred thousand empty fields would do so for seconds. */
function refuseManyFields(body: Buffer, contentType: string): void {
  const [, quoted, bare] = /;\s*boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(contentType) ?? [];
  const boundary = quoted ?? bare;
  if (boundary === undefined) throw malformed();
  let fields = 0;
  for (let at = body.indexOf(`--${boundary}`); at >= 0; at = body.indexOf(`--${boundary}`, at + 1)) {
    fields += 1;
    if (fields > formFieldsMax) throw new Problem(422, "form_too_complex", `A form may have ${formFieldsMax} fields.`);
  }
}

function malformed(): Problem {
  return new Problem(400, "form_malformed", "The body is not the form that its content type says.");
}

function shownName(name: string | null): string | null {
  return fieldText((name ?? "").split(/[/\\]/).at(-1) ?? "");
}

function tooLarge(): Problem {
  return new Problem(413, "file_too_large", `A file may have ${fileMaxBytes} bytes.`);
}
