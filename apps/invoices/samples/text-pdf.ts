// Draws a bill as a PDF page, in two layouts: labels beside their values, and a row of labels above a row of values.
// The result is the same bytes every time: no dates of making, no random names.
import { PDFDocument, type PDFFont, type PDFPage, StandardFonts } from "pdf-lib";
import { type Bill, billTotals, lineCents } from "./bill.ts";
import { printedAmount, printedDay, wordsOf } from "./words.ts";

export type Layout = "beside" | "above";

const a4Points: [number, number] = [595, 842];
const leftEdge = 50;
const rightEdge = 545;
const textSize = 10;
const lineHeight = 15;

/** A fresh document without the traces of time that pdf-lib would leave. */
export async function newPdf(): Promise<PDFDocument> {
  const document = await PDFDocument.create({ updateMetadata: false });
  document.setProducer("Doorbell samples");
  document.setCreationDate(new Date(0));
  document.setModificationDate(new Date(0));
  return document;
}

export async function savePdf(document: PDFDocument): Promise<Uint8Array> {
  return document.save({ useObjectStreams: false });
}

/** A page of text, without anything embedded. */
export async function textPdf(bill: Bill, layout: Layout): Promise<Uint8Array> {
  const document = await newPdf();
  await drawBill(document, bill, layout);
  return savePdf(document);
}

/** Adds the page of a bill to a document. */
export async function drawBill(document: PDFDocument, bill: Bill, layout: Layout): Promise<void> {
  const pen = newPen(document.addPage(a4Points), await document.embedFont(StandardFonts.Helvetica));
  const words = wordsOf[bill.language];
  pen.at(780).write(leftEdge, bill.seller.name, 16).writeRight(rightEdge, words.title, 16);
  pen.down(1.5).write(leftEdge, `${bill.seller.street}, ${bill.seller.postcode} ${bill.seller.city}`);
  if (layout === "beside") drawHeadBeside(pen, bill);
  else drawHeadAbove(pen, bill);
  drawLines(pen, bill);
  drawTotals(pen, bill);
  pen.down(3).write(leftEdge, words.thanks);
  pen.down(2).write(leftEdge, `IBAN ${bill.seller.iban}   ${words.vat} ID ${bill.seller.vatId}`);
}

interface Pen {
  at(y: number): Pen;
  down(lines: number): Pen;
  write(x: number, text: string, size?: number): Pen;
  writeRight(x: number, text: string, size?: number): Pen;
}

function newPen(page: PDFPage, font: PDFFont): Pen {
  let y = 0;
  const pen: Pen = {
    at(newY) {
      y = newY;
      return pen;
    },
    down(lines) {
      y -= lines * lineHeight;
      return pen;
    },
    write(x, text, size = textSize) {
      page.drawText(text, { x, y, size, font });
      return pen;
    },
    writeRight: (x, text, size = textSize) => pen.write(x - font.widthOfTextAtSize(text, size), text, size),
  };
  return pen;
}

function headRows(bill: Bill): readonly (readonly [string, string])[] {
  const words = wordsOf[bill.language];
  return [
    [words.number, bill.number],
    [words.date, printedDay(bill.date, bill.language)],
    [words.dueDate, printedDay(bill.dueDate, bill.language)],
  ];
}

function drawHeadBeside(pen: Pen, bill: Bill): void {
  const { buyer } = bill;
  pen.down(3);
  const address = [`${wordsOf[bill.language].billTo}:`, buyer.name, buyer.street, `${buyer.postcode} ${buyer.city}`];
  for (const [index, line] of address.entries()) {
    pen.write(leftEdge, line);
    const row = headRows(bill)[index];
    if (row !== undefined) pen.write(330, `${row[0]}:`).write(440, row[1]);
    pen.down(1);
  }
}

function drawHeadAbove(pen: Pen, bill: Bill): void {
  const { buyer } = bill;
  pen.down(3).write(leftEdge, `${wordsOf[bill.language].billTo}: ${buyer.name}`);
  pen.down(1).write(leftEdge, `${buyer.street}, ${buyer.postcode} ${buyer.city}`).down(2);
  for (const side of [0, 1] as const) {
    for (const [index, row] of headRows(bill).entries()) pen.write(leftEdge + index * 170, row[side]);
    pen.down(1);
  }
}

function drawLines(pen: Pen, bill: Bill): void {
  const words = wordsOf[bill.language];
  const money = (cents: number) => printedAmount(cents, bill.currency, bill.language);
  pen
    .down(2)
    .write(leftEdge, words.item)
    .writeRight(310, words.quantity)
    .writeRight(420, words.unitPrice)
    .writeRight(rightEdge, words.amount);
  for (const line of bill.lines) {
    pen.down(1).write(leftEdge, line.name).writeRight(310, String(line.quantity));
    pen.writeRight(420, money(line.unitCents)).writeRight(rightEdge, money(lineCents(line)));
  }
}

function drawTotals(pen: Pen, bill: Bill): void {
  const words = wordsOf[bill.language];
  const { netCents, totalCents, rates } = billTotals(bill);
  const rows = [
    [words.net, netCents] as const,
    ...rates.map((rate) => [`${words.vat} ${rate.percent}%`, rate.vatCents] as const),
    [words.total, totalCents] as const,
  ];
  pen.down(1);
  for (const [label, cents] of rows) {
    pen
      .down(1)
      .write(330, label)
      .writeRight(rightEdge, printedAmount(cents, bill.currency, bill.language));
  }
}
