// What a sample invoice says, before it is put into any format. Everything is computed from an account and an index, in
// whole cents, so that the same sample is the same bytes on every machine. All companies are invented.

/** The accounts that receive the sample invoices. */
export const sampleAccounts = ["acme", "globex", "initech"] as const;
export type SampleAccount = (typeof sampleAccounts)[number];

export type Language = "en" | "de" | "nl" | "fr";

export interface Party {
  readonly name: string;
  readonly street: string;
  readonly postcode: string;
  readonly city: string;
  readonly country: string;
  readonly vatId: string;
  readonly iban: string;
}

export interface BillLine {
  readonly name: string;
  readonly quantity: number;
  readonly unitCents: number;
  readonly ratePercent: number;
}

export interface Bill {
  readonly number: string;
  /** Days as `YYYY-MM-DD`. */
  readonly date: string;
  readonly dueDate: string;
  readonly currency: string;
  readonly language: Language;
  readonly seller: Party;
  readonly buyer: Party;
  readonly lines: readonly BillLine[];
}

export interface BillTotals {
  readonly netCents: number;
  readonly vatCents: number;
  readonly totalCents: number;
  readonly rates: readonly { readonly percent: number; readonly basisCents: number; readonly vatCents: number }[];
}

const buyers: Readonly<Record<SampleAccount, Party>> = {
  acme: {
    name: "Acme Trading Ltd",
    street: "4 Anvil Row",
    postcode: "LS1 4DY",
    city: "Leeds",
    country: "GB",
    vatId: "GB123456789",
    iban: "GB82WEST12345698765432",
  },
  globex: {
    name: "Globex Logistics B.V.",
    street: "Kade 12",
    postcode: "3011 AA",
    city: "Rotterdam",
    country: "NL",
    vatId: "NL123456789B01",
    iban: "NL91ABNA0417164300",
  },
  initech: {
    name: "Initech Services SARL",
    street: "9 rue du Port",
    postcode: "69002",
    city: "Lyon",
    country: "FR",
    vatId: "FR40303265045",
    iban: "FR1420041010050500013M02606",
  },
};

interface Supplier extends Party {
  readonly language: Language;
  readonly currency: string;
  readonly ratePercents: readonly [number, number];
  readonly prefix: string;
  readonly goods: readonly string[];
}

const suppliers: readonly Supplier[] = [
  {
    name: "Brightwater Tools Ltd",
    street: "17 Mill Lane",
    postcode: "BS1 5TR",
    city: "Bristol",
    country: "GB",
    vatId: "GB987654321",
    iban: "GB82WEST12345698765432",
    language: "en",
    currency: "GBP",
    ratePercents: [20, 20],
    prefix: "BW-",
    goods: ["Torque wrench", "Drill bits, set of 12", "Work gloves"],
  },
  {
    name: "Nordlicht Werkzeug GmbH",
    street: "Hafenstraße 3",
    postcode: "24103",
    city: "Kiel",
    country: "DE",
    vatId: "DE123456789",
    iban: "DE89370400440532013000",
    language: "de",
    currency: "EUR",
    ratePercents: [19, 7],
    prefix: "RE-",
    goods: ["Schraubendreher", "Fachbuch Metallbau", "Spannzange"],
  },
  {
    name: "Grachtenhof Papier B.V.",
    street: "Singel 80",
    postcode: "1015 AB",
    city: "Amsterdam",
    country: "NL",
    vatId: "NL987654321B01",
    iban: "NL91ABNA0417164300",
    language: "nl",
    currency: "EUR",
    ratePercents: [21, 9],
    prefix: "F",
    goods: ["Kopieerpapier A4", "Handboek typografie", "Enveloppen C5"],
  },
  {
    name: "Moulin Clair SARL",
    street: "5 chemin des Lavoirs",
    postcode: "84000",
    city: "Avignon",
    country: "FR",
    vatId: "FR83404833048",
    iban: "FR1420041010050500013M02606",
    language: "fr",
    currency: "EUR",
    ratePercents: [20, 10],
    prefix: "FA-",
    goods: ["Huile d'olive, bidon", "Savon de lavande", "Caisse de transport"],
  },
];

const firstDayMs = Date.UTC(2026, 0, 13);
const dayMs = 24 * 60 * 60 * 1000;
const daysToPay = 30;

/** The `index`-th bill that an account receives. */
export function makeBill(account: SampleAccount, index: number): Bill {
  const buyer = buyers[account];
  const accountOffset = sampleAccounts.indexOf(account);
  const supplier = pickFrom(suppliers, index + accountOffset);
  const { language, currency, ratePercents, prefix, goods, ...seller } = supplier;
  return {
    number: `${prefix}2026-${String(1000 + accountOffset * 500 + index * 7)}`,
    date: isoDay(dayOf(index)),
    dueDate: isoDay(dayOf(index) + daysToPay * dayMs),
    currency,
    language,
    seller,
    buyer,
    lines: goods.map((name, position) => ({
      name,
      quantity: 1 + ((index * 5 + position * 3 + accountOffset) % 9),
      unitCents: 495 + ((index * 1237 + position * 2311 + accountOffset * 701) % 48_000),
      ratePercent: pickFrom(ratePercents, position),
    })),
  };
}

/** Sums per rate and over all. VAT is rounded half up, once per rate. */
export function billTotals(bill: Bill): BillTotals {
  const percents = [...new Set(bill.lines.map((line) => line.ratePercent))];
  const rates = percents.map((percent) => {
    const basisCents = sum(bill.lines.filter((line) => line.ratePercent === percent).map(lineCents));
    return { percent, basisCents, vatCents: Math.floor((basisCents * percent + 50) / 100) };
  });
  const netCents = sum(rates.map((rate) => rate.basisCents));
  const vatCents = sum(rates.map((rate) => rate.vatCents));
  return { netCents, vatCents, totalCents: netCents + vatCents, rates };
}

export function lineCents(line: BillLine): number {
  return line.quantity * line.unitCents;
}

/** "1234.50", as XML and the store write it. */
export function decimal(cents: number): string {
  return `${Math.floor(cents / 100)}.${String(cents % 100).padStart(2, "0")}`;
}

/** Days between the 13th and the 28th, so that no printed date can be read with day and month exchanged. */
function dayOf(index: number): number {
  const month = Math.floor(index / 8) % 10;
  const first = new Date(firstDayMs);
  return Date.UTC(first.getUTCFullYear(), first.getUTCMonth() + month, first.getUTCDate() + (index % 8) * 2);
}

function isoDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function sum(cents: readonly number[]): number {
  return cents.reduce((total, next) => total + next, 0);
}

function pickFrom<Item>(items: readonly Item[], index: number): Item {
  const item = items[index % items.length];
  if (item === undefined) throw new Error("nothing to pick from");
  return item;
}
