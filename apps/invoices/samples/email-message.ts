// An e-mail with one invoice attached, as a supplier's billing system sends it.
import type { Bill } from "./bill.ts";

const boundary = "sample-boundary-7f3a";
const base64Line = /.{1,76}/g;

export function emailMessage(bill: Bill, attachment: Uint8Array): Uint8Array {
  const lines = [
    `From: Billing <billing@${domainOf(bill.seller.name)}>`,
    `To: Accounts <accounts@${domainOf(bill.buyer.name)}>`,
    `Subject: Invoice ${bill.number}`,
    `Message-ID: <${bill.number}@${domainOf(bill.seller.name)}>`,
    `Date: ${new Date(bill.date).toUTCString()}`,
    "MIME-Version: 1.0",
    `Content-Type: multipart/mixed; boundary="${boundary}"`,
    "",
    `--${boundary}`,
    "Content-Type: text/plain; charset=utf-8",
    "",
    "Please find our invoice attached.",
    "",
    `--${boundary}`,
    `Content-Type: application/pdf; name="${bill.number}.pdf"`,
    `Content-Disposition: attachment; filename="${bill.number}.pdf"`,
    "Content-Transfer-Encoding: base64",
    "",
    ...(Buffer.from(attachment).toString("base64").match(base64Line) ?? []),
    `--${boundary}--`,
    "",
  ];
  return new TextEncoder().encode(lines.join("\r\n"));
}

/** Under the top-level domain that is reserved for examples. */
function domainOf(company: string): string {
  return `${company
    .toLowerCase()
    .replace(/[^a-z]+/g, "-")
    .replace(/^-|-$/g, "")}.example`;
}
