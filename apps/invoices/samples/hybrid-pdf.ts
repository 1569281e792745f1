// A bill as Factur-X: the page for people, the same bill as XML attached to it for machines.
import { AFRelationship } from "pdf-lib";
import type { Bill } from "./bill.ts";
import { ciiXml } from "./cii-xml.ts";
import { drawBill, newPdf, savePdf } from "./text-pdf.ts";

export async function hybridPdf(bill: Bill): Promise<Uint8Array> {
  const document = await newPdf();
  await drawBill(document, bill, "beside");
  await document.attach(ciiXml(bill), "factur-x.xml", {
    mimeType: "text/xml",
    description: "Factur-X",
    creationDate: new Date(0),
    modificationDate: new Date(0),
    afRelationship: AFRelationship.Alternative,
  });
  return savePdf(document);
}
