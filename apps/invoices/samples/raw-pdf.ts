// Writes a PDF file object by object, for what pdf-lib would not write: encryption, and the malformed files of the
// tests.

/**
 * Numbers the objects from 1 and writes the table of their offsets. Strings are Latin-1, so that binary streams can be
 * in them; `trailer` has at least the `/Root`.
 */
export function assemblePdf(objects: readonly string[], trailer: string): Uint8Array {
  let file = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = file.length;
    file += `${index + 1} 0 obj\n${object}\nendobj\n`;
    return offset;
  });
  const table = offsets.map((offset) => `${String(offset).padStart(10, "0")} 00000 n \n`).join("");
  const size = objects.length + 1;
  const end = [
    `xref\n0 ${size}\n0000000000 65535 f \n${table}trailer`,
    `<< /Size ${size} ${trailer} >>`,
    `startxref\n${file.length}\n%%EOF\n`,
  ].join("\n");
  return new Uint8Array(Buffer.from(file + end, "latin1"));
}
