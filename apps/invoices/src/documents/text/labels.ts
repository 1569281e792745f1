// What printed labels mean, in English, German, Dutch and French. Tables only: the order of the rules is the order of
// precedence, so that "Net à payer" is what is due before it is a net, and "VAT ID" is nothing at all.

export type AmountRole = "total" | "net" | "vat" | "due" | "prepaid";
export type DayRole = "issued" | "dated" | "due";

type Rules<Role> = readonly (readonly [Role | null, ...RegExp[]])[];

/** Labels are read from their end: the words next to the value say the most. */
const labelTailChars = 60;

const amountRules: Rules<AmountRole> = [
  // Other sums than this invoice's own.
  [null, /previous|opening|unpaid|overdue|capital|tender|\bchange\b|\bcash\b/],
  [null, /discount|rabatt|remise|korting|skonto|zuschl|abschl|allowance|surcharge/],
  // Columns of the table of positions, counts, and identifiers.
  [null, /line total|unit|price|preis|prijs|prix|einzel|\bqty\b|quantity|hours|page|seite/],
  [null, /\b(?:vat|tax|btw|ust|tva)[\s.-]*(?:id[\s.-]*)?(?:id|reg|nr|no|number|nummer)\b/],
  ["due", /(?:amount|balance|total|payment)s?\s+(?:is\s+)?due|due payable|payable amount|\bto pay\b/],
  ["due", /zahlbetrag|zu zahlen|offener betrag/, /te betalen|te voldoen/, /[aà] payer/],
  ["prepaid", /\b(?:pre-?)?paid\b|prepayment/, /anzahlung/, /acompte|d[ée]j[aà] pay[ée]/],
  ["prepaid", /aanbetaling|vooruitbetaald/],
  [
    "net",
    /sub-?\s?tot|untaxed|taxable|before tax/,
    /zwischensumme|basisbetrag/,
    /grondslag/,
    /hors taxe|\bht\b|\bbase\b/,
  ],
  ["net", /excl|\bex\.?\s(?:btw|vat)/, /(?:ohne|zzgl\.?|vor)\s(?:ust|mwst|umsatzsteuer|mehrwertsteuer)/],
  ["net", /\bnett?o?(?:betrag|summe|wert|bedrag)?\b/],
  ["total", /in[ck]l(?:\.|usive|uding|usief)?\s(?:\d+\s?%\s)?(?:vat|tax|gst|btw|ust|mwst|umsatzsteuer)/],
  ["total", /\bttc\b|brutto|gross/],
  ["vat", /\b(?:vat|gst|taxe?s?|btw|tva|mwst|ust)\b/, /umsatzsteuer|mehrwertsteuer|steuer(?:betrag)?\b/],
  ["total", /\btotal\b|invoice amount/, /\bgesamt|rechnungsbetrag|endbetrag|endsumme|\bsumme\b/],
  ["total", /\btotaal\b|factuurbedrag/, /montant total/],
];

const dayRules: Rules<DayRole> = [
  [
    null,
    /deliver|order|period|paid on|print/,
    /liefer|leistung|auftrag|zeitraum/,
    /bestel/,
    /livraison|commande|p[ée]riode|associ/,
  ],
  ["due", /\bdue\b|payable by|remit until|pay before/, /fällig|zahlbar/, /verval|betalen voor/, /[ée]ch[ée]ance/],
  ["issued", /(?:invoice|bill(?:ing)?|issue|credit note|tax)\s*date|date of (?:issue|invoice)/],
  ["issued", /(?:invoiced|issued)\s+(?:on|at)/],
  ["issued", /(?:rechnungs|beleg|ausstellungs)\s?-?\s?datum/, /factuur\s?-?\s?datum|uitgiftedatum|datum factuur/],
  [
    "issued",
    /date\s(?:de\s(?:la\s)?)?facture|date d['’][ée]mission|date de facturation|[ée]mise?\sle|factur[ée]e?\sle/,
  ],
  // "Rechnung 42 vom …", "Facture 42 du …"
  ["issued", /(?:invoice|rechnung|gutschrift|factuur|facture|avoir|credit\s?nota)\b.*\b(?:vom|du|van|dated|of)\s*$/],
  ["dated", /^(?:date|datum)\s*[:.]*$/],
];

/** The role of an amount by its label; null if the label means none of them. */
export function amountRole(label: string): AmountRole | null {
  return roleOf(label, amountRules);
}

/** The role of a day by its label; null if the label means none of them. */
export function dayRole(label: string): DayRole | null {
  return roleOf(label, dayRules);
}

function roleOf<Role>(label: string, rules: Rules<Role>): Role | null {
  const tail = label.toLowerCase().replace(/\s+/g, " ").trim().slice(-labelTailChars);
  return rules.find(([, ...patterns]) => patterns.some((pattern) => pattern.test(tail)))?.[0] ?? null;
}
