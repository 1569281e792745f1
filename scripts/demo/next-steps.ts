// What to try while the demo stays up. Every line can be pasted as it stands.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { makeBill } from "../../apps/invoices/samples/bill.ts";
import { textPdf } from "../../apps/invoices/samples/text-pdf.ts";
import type { DemoDocument, Outcome } from "./outcome.ts";
import type { Stand } from "./stand.ts";

/** Its number is none of the samples'. */
const ownBillIndex = 10;

/** Writes an invoice that nobody has uploaded yet, and says what can be done with it, and with what is there. */
export async function nextSteps(stand: Stand, { documents }: Outcome): Promise<string> {
  const { accounts, database, folder, objectsUrl, queue, web, workers } = stand;
  const told = bestTold(documents);
  const account = told?.account ?? accounts[0];
  if (account === undefined) throw new Error("there are no accounts");
  const invoice = join(folder.path, "invoice.pdf");
  await writeFile(invoice, await textPdf(makeBill(account.sampleAccount, ownBillIndex), "beside"));

  const overBroker = queue.isLine ? "" : ` DOORBELL_QUEUE='${queue.url}'`;
  const aboutTheJob =
    told === undefined
      ? []
      : [
          `npm run doorbell -- logs ${told.job?.id} --tenant ${account.id}`,
          `npm run doorbell -- replay --object-key sha256/${told.shown.sha256} --tenant ${account.id}`,
        ];
  return `It stays up. To try, in another terminal and in this folder:

${indented([
  `export TOKEN=${account.token}`,
  `curl -H "authorization: Bearer $TOKEN" --data-binary '@${invoice}' '${web.url}/invoices?name=invoice.pdf'`,
  `curl -H "authorization: Bearer $TOKEN" ${web.url}/invoices`,
  `curl ${web.url}/readyz`,
  `curl ${workers[1].url}/metrics`,
])}

${indented([
  `export DATABASE_URL='${database.appUrl}' DOORBELL_OBJECTS='${objectsUrl}'${overBroker}`,
  `npm run doorbell -- jobs list --tenant ${account.id}`,
  ...aboutTheJob,
  `npm run doorbell -- dead-letters list --tenant ${account.id}`,
  "npm run doorbell -- stats",
])}

Tokens:
${indented(accounts.map(({ id, token }) => `${id}  ${token}`))}

The logs of all processes are in ${folder.logs}. Ctrl-C ends everything.`;
}

/** The job with the most to tell: one that was begun by the worker that was killed, and ended by the other. */
function bestTold(documents: readonly DemoDocument[]): DemoDocument | undefined {
  return documents
    .filter(({ job }) => job?.state === "done")
    .sort((a, b) => (b.job?.attempts ?? 0) - (a.job?.attempts ?? 0))[0];
}

function indented(lines: readonly string[]): string {
  return lines.map((line) => `  ${line}`).join("\n");
}
