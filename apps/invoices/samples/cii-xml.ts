// A bill as UN/CEFACT Cross Industry Invoice, in the EN 16931 profile of Factur-X.
import { type Bill, billTotals, decimal, lineCents, type Party } from "./bill.ts";
import { element as e, type Markup, xmlDocument } from "./xml-text.ts";

const namespaces = {
  "xmlns:rsm": "urn:un:unece:uncefact:data:standard:CrossIndustryInvoice:100",
  "xmlns:ram": "urn:un:unece:uncefact:data:standard:ReusableAggregateBusinessInformationEntity:100",
  "xmlns:udt": "urn:un:unece:uncefact:data:standard:UnqualifiedDataType:100",
};

export function ciiXml(bill: Bill): Uint8Array {
  return xmlDocument(
    e(
      "rsm:CrossIndustryInvoice",
      [
        e("rsm:ExchangedDocumentContext", [
          e("ram:GuidelineSpecifiedDocumentContextParameter", [e("ram:ID", ["urn:cen.eu:en16931:2017"])]),
        ]),
        e("rsm:ExchangedDocument", [
          e("ram:ID", [bill.number]),
          e("ram:TypeCode", ["380"]),
          e("ram:IssueDateTime", [day(bill.date)]),
        ]),
        e("rsm:SupplyChainTradeTransaction", [
          ...bill.lines.map((_, index) => tradeLine(bill, index)),
          e("ram:ApplicableHeaderTradeAgreement", [
            e("ram:SellerTradeParty", party(bill.seller)),
            e("ram:BuyerTradeParty", party(bill.buyer)),
          ]),
          e("ram:ApplicableHeaderTradeDelivery", []),
          settlement(bill),
        ]),
      ],
      namespaces,
    ),
  );
}

function tradeLine(bill: Bill, index: number): Markup {
  const line = bill.lines[index];
  if (line === undefined) throw new RangeError(`bill ${bill.number} has no line ${index}`);
  return e("ram:IncludedSupplyChainTradeLineItem", [
    e("ram:AssociatedDocumentLineDocument", [e("ram:LineID", [String(index + 1)])]),
    e("ram:SpecifiedTradeProduct", [e("ram:Name", [line.name])]),
    e("ram:SpecifiedLineTradeAgreement", [
      e("ram:NetPriceProductTradePrice", [e("ram:ChargeAmount", [decimal(line.unitCents)])]),
    ]),
    e("ram:SpecifiedLineTradeDelivery", [e("ram:BilledQuantity", [String(line.quantity)], { unitCode: "C62" })]),
    e("ram:SpecifiedLineTradeSettlement", [
      tax([e("ram:RateApplicablePercent", [String(line.ratePercent)])]),
      e("ram:SpecifiedTradeSettlementLineMonetarySummation", [e("ram:LineTotalAmount", [decimal(lineCents(line))])]),
    ]),
  ]);
}

function settlement(bill: Bill): Markup {
  const { netCents, vatCents, totalCents, rates } = billTotals(bill);
  return e("ram:ApplicableHeaderTradeSettlement", [
    e("ram:InvoiceCurrencyCode", [bill.currency]),
    e("ram:SpecifiedTradeSettlementPaymentMeans", [
      e("ram:TypeCode", ["58"]),
      e("ram:PayeePartyCreditorFinancialAccount", [e("ram:IBANID", [bill.seller.iban])]),
    ]),
    ...rates.map((rate) =>
      e("ram:ApplicableTradeTax", [
        e("ram:CalculatedAmount", [decimal(rate.vatCents)]),
        e("ram:TypeCode", ["VAT"]),
        e("ram:BasisAmount", [decimal(rate.basisCents)]),
        e("ram:CategoryCode", ["S"]),
        e("ram:RateApplicablePercent", [String(rate.percent)]),
      ]),
    ),
    e("ram:SpecifiedTradePaymentTerms", [e("ram:DueDateDateTime", [day(bill.dueDate)])]),
    e("ram:SpecifiedTradeSettlementHeaderMonetarySummation", [
      e("ram:LineTotalAmount", [decimal(netCents)]),
      e("ram:TaxBasisTotalAmount", [decimal(netCents)]),
      e("ram:TaxTotalAmount", [decimal(vatCents)], { currencyID: bill.currency }),
      e("ram:GrandTotalAmount", [decimal(totalCents)]),
      e("ram:DuePayableAmount", [decimal(totalCents)]),
    ]),
  ]);
}

function tax(rate: readonly Markup[]): Markup {
  return e("ram:ApplicableTradeTax", [e("ram:TypeCode", ["VAT"]), e("ram:CategoryCode", ["S"]), ...rate]);
}

function day(date: string): Markup {
  return e("udt:DateTimeString", [date.replaceAll("-", "")], { format: "102" });
}

function party({ name, postcode, street, city, country, vatId }: Party): readonly Markup[] {
  return [
    e("ram:Name", [name]),
    e("ram:PostalTradeAddress", [
      e("ram:PostcodeCode", [postcode]),
      e("ram:LineOne", [street]),
      e("ram:CityName", [city]),
      e("ram:CountryID", [country]),
    ]),
    e("ram:SpecifiedTaxRegistration", [e("ram:ID", [vatId], { schemeID: "VA" })]),
  ];
}
