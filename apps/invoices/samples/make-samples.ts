// The sample documents of the demo and of the tests: three accounts, ten kinds of document in each, most of them good,
// some of them as bad as they come in real life. Made here, from nothing, and the same bytes every time.
import { brokenPdf, encryptedPdf, picturePdf } from "./bad-pdf.ts";
import { type Bill, billTotals, decimal, makeBill, type SampleAccount, sampleAccounts } from "./bill.ts";
import { ciiXml } from "./cii-xml.ts";
import { emailMessage } from "./email-message.ts";
import { hybridPdf } from "./hybrid-pdf.ts";
import { textPdf } from "./text-pdf.ts";
import { ublXml } from "./ubl-xml.ts";

/**
 * What must become of a sample. The fields are those of the invoice where one can be read, decimal strings for amounts.
 */
interface ExpectedSample {
  readonly outcome: "accepted" | "needs_review" | "rejected";
  /** The code of a reason that must be given; null for accepted ones. */
  readonly reason: string | null;
  readonly fields: {
    readonly number: string;
    readonly date: string;
    readonly currency: string;
    readonly total: string;
    readonly net: string;
    readonly vat: string;
  } | null;
}

export interface Sample {
  /** A file name, unique within the account. */
  readonly name: string;
  readonly account: SampleAccount;
  readonly bytes: Uint8Array;
  readonly expected: ExpectedSample;
}

type Recipe = (bill: Bill, index: number) => Promise<Omit<Sample, "account">>;

/** In the order in which they arrive; beyond the last it starts over, with other numbers. */
const recipes: readonly Recipe[] = [
  async (bill) => accepted(bill, "pdf", await textPdf(bill, "beside")),
  async (bill) => accepted(bill, "facturx.pdf", await hybridPdf(bill)),
  async (bill) => accepted(bill, "ubl.xml", ublXml(bill)),
  async (bill) => accepted(bill, "pdf", await textPdf(bill, "above")),
  async (bill) => accepted(bill, "cii.xml", ciiXml(bill)),
  async (bill) => ({ ...accepted(bill, "ubl.xml", ublXml(bill, { totalErrorCents: 900 })), expected: sumsWrong(bill) }),
  async (bill) => accepted(bill, "eml", emailMessage(bill, await hybridPdf(bill))),
  async (bill, index) =>
    unreadable(`scan-${bill.number}.pdf`, await picturePdf(index), "needs_review", "no_text_layer"),
  async (bill) => accepted(bill, "credit-note.ubl.xml", ublXml(bill, { type: "CreditNote" })),
  async (bill, index) =>
    index % 2 === 0
      ? unreadable(`locked-${bill.number}.pdf`, encryptedPdf(bill, "sesame"), "rejected", "pdf_encrypted")
      : unreadable(`broken-${bill.number}.pdf`, await brokenPdf(bill), "rejected", "pdf_corrupt"),
];

/** Makes the samples of all accounts, account by account. */
export async function makeSamples(options: { readonly perAccount?: number } = {}): Promise<readonly Sample[]> {
  const { perAccount = recipes.length } = options;
  const samples: Sample[] = [];
  for (const [accountIndex, account] of sampleAccounts.entries()) {
    for (let index = 0; index < perAccount; index++) {
      const recipe = recipes[index % recipes.length];
      if (recipe === undefined) throw new Error("there are no recipes");
      // Neighbouring accounts differ in what comes out of the same recipe.
      samples.push({ account, ...(await recipe(makeBill(account, index), index + accountIndex)) });
    }
  }
  return samples;
}

function accepted(bill: Bill, ending: string, bytes: Uint8Array): Omit<Sample, "account"> {
  return {
    name: `${bill.number}.${ending}`,
    bytes,
    expected: { outcome: "accepted", reason: null, fields: fieldsOf(bill) },
  };
}

function sumsWrong(bill: Bill): ExpectedSample {
  const fields = fieldsOf(bill);
  const total = decimal(billTotals(bill).totalCents + 900);
  return { outcome: "needs_review", reason: "BR-CO-15", fields: { ...fields, total } };
}

function unreadable(
  name: string,
  bytes: Uint8Array,
  outcome: "needs_review" | "rejected",
  reason: string,
): Omit<Sample, "account"> {
  return { name, bytes, expected: { outcome, reason, fields: null } };
}

function fieldsOf(bill: Bill): NonNullable<ExpectedSample["fields"]> {
  const { netCents, vatCents, totalCents } = billTotals(bill);
  return {
    number: bill.number,
    date: bill.date,
    currency: bill.currency,
    total: decimal(totalCents),
    net: decimal(netCents),
    vat: decimal(vatCents),
  };
}
