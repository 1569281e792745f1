// The sums of EN 16931 that tie an invoice together, each under the name of its rule. A sum is checked as far as the
// document states its parts; which parts are required is decided elsewhere. All arithmetic is exact.
import { type Amount, amountsAgree, percentOf, subtractAmounts, sumAmounts } from "./amount.ts";
import { type Finding, review } from "./finding.ts";
import type { Invoice } from "./invoice.ts";

/** Header-only profiles: no positions, and no field for what was prepaid, so that those sums cannot hold. */
const headerOnlyProfile = /[:#](?:minimum|basicwl|basic-wl)$/i;
/** VAT per rate may be rounded per position. */
const roundingPerLineCents = 1;

/** Checks BR-CO-10, 13, 14, 15, 16 and 17. */
export function checkSums(invoice: Invoice): readonly Finding[] {
  const headerOnly = invoice.profile !== null && headerOnlyProfile.test(invoice.profile);
  return [
    ...(headerOnly ? [] : lineTotalIsSumOfLines(invoice)),
    ...netIsLinesLessAllowances(invoice),
    ...vatIsSumOfRates(invoice),
    ...totalIsNetAndVat(invoice),
    ...(headerOnly ? [] : dueIsTotalLessPrepaid(invoice)),
    ...vatFollowsRates(invoice),
  ];
}

function lineTotalIsSumOfLines({ lineTotal, lines }: Invoice): readonly Finding[] {
  const nets = lines.map((line) => line.net).filter((net) => net !== null);
  if (lineTotal === null || nets.length === 0) return [];
  return mustAgree("BR-CO-10", "sum of the positions", sumAmounts(nets), "line total", lineTotal);
}

function netIsLinesLessAllowances({ lineTotal, allowances, charges, net }: Invoice): readonly Finding[] {
  if (lineTotal === null || net === null) return [];
  const computed = subtractAmounts(sumAmounts([lineTotal, charges ?? zero]), allowances ?? zero);
  return mustAgree("BR-CO-13", "line total less allowances plus charges", computed, "net", net);
}

function vatIsSumOfRates({ vatRows, vat, lines }: Invoice): readonly Finding[] {
  const amounts = vatRows.map((row) => row.amount).filter((amount) => amount !== null);
  if (vat === null || amounts.length === 0) return [];
  return mustAgree("BR-CO-14", "VAT of all rates", sumAmounts(amounts), "VAT", vat, roundingCents(lines.length));
}

function totalIsNetAndVat({ net, vat, total }: Invoice): readonly Finding[] {
  if (net === null || vat === null || total === null) return [];
  return mustAgree("BR-CO-15", `net ${net} plus VAT ${vat}`, sumAmounts([net, vat]), "total", total);
}

function dueIsTotalLessPrepaid({ source, total, prepaid, rounding, due }: Invoice): readonly Finding[] {
  // On paper, what is due may include an older balance: nothing that the fields of this invoice could explain.
  if (source === "text" || total === null || due === null) return [];
  const computed = sumAmounts([subtractAmounts(total, prepaid ?? zero), rounding ?? zero]);
  return mustAgree("BR-CO-16", "total less prepaid plus rounding", computed, "amount due", due);
}

function vatFollowsRates({ vatRows, lines }: Invoice): readonly Finding[] {
  return vatRows.flatMap(({ rate, basis, amount }) => {
    if (rate === null || basis === null || amount === null) return [];
    return mustAgree(
      "BR-CO-17",
      `${rate} % of ${basis}`,
      percentOf(basis, rate),
      "VAT of that rate",
      amount,
      roundingCents(lines.length),
    );
  });
}

const zero: Amount = "0.00";

function roundingCents(lineCount: number): number {
  return roundingPerLineCents * Math.max(1, lineCount);
}

function mustAgree(
  code: string,
  computedName: string,
  computed: Amount,
  statedName: string,
  stated: Amount,
  toleranceCents = 0,
): readonly Finding[] {
  if (amountsAgree(computed, stated, toleranceCents)) return [];
  return [review(code, `The ${computedName} is ${computed}, but the ${statedName} is stated as ${stated}.`)];
}
