// PDF files for tests, with any content stream, however endless or wrong. The stream is compressed: that is how bombs
// travel.
import { deflateSync } from "node:zlib";
import { assemblePdf } from "../../samples/raw-pdf.ts";

/** A document whose every page has the same content stream, with Helvetica as `/F1`. */
export function pdfWithContent(content: string | Uint8Array, pageCount = 1): Uint8Array {
  const stream = deflateSync(typeof content === "string" ? Buffer.from(content, "latin1") : content);
  const pages = Array.from({ length: pageCount }, () => {
    const resources = "/Resources << /Font << /F1 4 0 R >> >>";
    return `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 3 0 R ${resources} >>`;
  });
  const kids = pages.map((_, index) => `${index + 5} 0 R`).join(" ");
  return assemblePdf(
    [
      "<< /Type /Catalog /Pages 2 0 R >>",
      `<< /Type /Pages /Kids [${kids}] /Count ${pageCount} >>`,
      `<< /Length ${stream.length} /Filter /FlateDecode >>\nstream\n${stream.toString("latin1")}\nendstream`,
      "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
      ...pages,
    ],
    "/Root 1 0 R",
  );
}

/** A page that keeps a reader busy for minutes and yields no letter: text without end, all of it beside the page. */
export function spinningPdf(): Uint8Array {
  return pdfWithContent(`BT /F1 12 Tf 9000 9000 Td ${"(Hello world) Tj ".repeat(8_000_000)} ET`);
}
