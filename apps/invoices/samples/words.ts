// How the sample suppliers write: the words on their invoices, their numbers and their days, per language.
import type { Language } from "./bill.ts";

export interface Words {
  readonly title: string;
  readonly number: string;
  readonly date: string;
  readonly dueDate: string;
  readonly billTo: string;
  readonly item: string;
  readonly quantity: string;
  readonly unitPrice: string;
  readonly amount: string;
  readonly net: string;
  readonly vat: string;
  readonly total: string;
  readonly thanks: string;
}

export const wordsOf: Readonly<Record<Language, Words>> = {
  en: {
    title: "INVOICE",
    number: "Invoice number",
    date: "Invoice date",
    dueDate: "Due date",
    billTo: "Bill to",
    item: "Item",
    quantity: "Quantity",
    unitPrice: "Unit price",
    amount: "Amount",
    net: "Subtotal",
    vat: "VAT",
    total: "Total",
    thanks: "Please pay within 30 days to the account below. Thank you for your order.",
  },
  de: {
    title: "RECHNUNG",
    number: "Rechnungsnummer",
    date: "Rechnungsdatum",
    dueDate: "Fällig am",
    billTo: "Rechnungsempfänger",
    item: "Bezeichnung",
    quantity: "Menge",
    unitPrice: "Einzelpreis",
    amount: "Betrag",
    net: "Summe netto",
    vat: "MwSt.",
    total: "Rechnungsbetrag",
    thanks: "Zahlbar innerhalb von 30 Tagen auf das unten genannte Konto. Vielen Dank für Ihren Auftrag.",
  },
  nl: {
    title: "FACTUUR",
    number: "Factuurnummer",
    date: "Factuurdatum",
    dueDate: "Vervaldatum",
    billTo: "Factuuradres",
    item: "Omschrijving",
    quantity: "Aantal",
    unitPrice: "Stuksprijs",
    amount: "Bedrag",
    net: "Subtotaal",
    vat: "BTW",
    total: "Totaal",
    thanks: "Gelieve binnen 30 dagen te betalen op onderstaande rekening. Bedankt voor uw bestelling.",
  },
  fr: {
    title: "FACTURE",
    number: "Facture n°",
    date: "Date de facture",
    dueDate: "Date d'échéance",
    billTo: "Client",
    item: "Désignation",
    quantity: "Quantité",
    unitPrice: "Prix unitaire",
    amount: "Montant",
    net: "Total HT",
    vat: "TVA",
    total: "Total TTC",
    thanks: "Paiement à 30 jours sur le compte ci-dessous. Merci de votre commande.",
  },
};

const currencySigns: Readonly<Record<string, string>> = { EUR: "€", GBP: "£" };

/** "£1,234.50", "1.234,50 €", "€ 1.234,50", "1 234,50 €". */
export function printedAmount(cents: number, currency: string, language: Language): string {
  const whole = String(Math.floor(cents / 100));
  const fraction = String(cents % 100).padStart(2, "0");
  const grouped = (mark: string) => whole.replace(/\B(?=(\d{3})+$)/g, mark);
  const sign = currencySigns[currency] ?? currency;
  switch (language) {
    case "en":
      return `${sign}${grouped(",")}.${fraction}`;
    case "de":
      return `${grouped(".")},${fraction} ${sign}`;
    case "nl":
      return `${sign} ${grouped(".")},${fraction}`;
    case "fr":
      return `${grouped(" ")},${fraction} ${sign}`;
  }
}

const englishMonths = "January February March April May June July August September October November December".split(
  " ",
);

/** "13 January 2026", "13.01.2026", "13-01-2026", "13/01/2026". */
export function printedDay(day: string, language: Language): string {
  const [year = "", month = "", date = ""] = day.split("-");
  switch (language) {
    case "en":
      return `${Number(date)} ${englishMonths[Number(month) - 1]} ${year}`;
    case "de":
      return `${date}.${month}.${year}`;
    case "nl":
      return `${date}-${month}-${year}`;
    case "fr":
      return `${date}/${month}/${year}`;
  }
}
