import { describe, expect, test } from "vitest";
import { amountRole, dayRole } from "./labels.ts";

describe("amountRole", () => {
  test.each([
    ["Total", "total"],
    ["Grand total:", "total"],
    ["Rechnungsbetrag", "total"],
    ["Total TTC", "total"],
    ["Totaal", "total"],
    ["Total incl. VAT", "total"],
    ["Bruttosumme", "total"],
    ["Subtotal", "net"],
    ["Total HT", "net"],
    ["Summe netto", "net"],
    ["Rechnungssumme ohne USt.", "net"],
    ["Exclusief BTW €", "net"],
    ["Total excl. VAT", "net"],
    ["VAT 20% on", "vat"],
    ["Total TVA", "vat"],
    ["Umsatzsteuer", "vat"],
    ["BTW bedrag", "vat"],
    ["Net à payer", "due"],
    ["Balance due:", "due"],
    ["Zahlbetrag", "due"],
    ["Déjà payé", "prepaid"],
    ["Erhaltene Anzahlungen", "prepaid"],
  ])("%s means %s", (label, role) => {
    expect(amountRole(label)).toBe(role);
  });

  test.each([
    "Previous balance",
    "Discount",
    "Unit price",
    "Line total",
    "VAT ID",
    "USt-IdNr",
    "Service A",
    "",
    "Prix HT",
  ])("%j means none of them", (label) => {
    expect(amountRole(label)).toBeNull();
  });
});

describe("dayRole", () => {
  test.each([
    ["Invoice Date:", "issued"],
    ["Rechnungsdatum", "issued"],
    ["Beleg-Datum :", "issued"],
    ["Factuur datum", "issued"],
    ["Date de facture", "issued"],
    ["Rechnung Nr. 471102 vom", "issued"],
    ["Invoice # 508 issued at", "issued"],
    ["Date:", "dated"],
    ["DATUM", "dated"],
    ["Due Date:", "due"],
    ["Vervaldatum", "due"],
    ["Date d'échéance", "due"],
    ["Fällig am", "due"],
  ])("%s means %s", (label, role) => {
    expect(dayRole(label)).toBe(role);
  });

  test.each(["Delivery date", "Bestelldatum", "Date de facture associée :", "Training Date", "Bestellung vom", ""])(
    "%j means none of them",
    (label) => {
      expect(dayRole(label)).toBeNull();
    },
  );
});
