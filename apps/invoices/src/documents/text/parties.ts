// Guesses seller and buyer from printed text. The page rarely labels its sender, so these are prefills for a person, of
// low confidence by nature; nothing is ever accepted because of them.
import type { Line } from "../pdf/layout.ts";
import type { Candidate } from "./candidate.ts";

const legalForms = [
  ["Ltd\\.?", "Limited", "PLC", "Inc\\.?", "LLC", "Corp\\.?"],
  ["GmbH(?:\\s&\\sCo\\.?\\sKG)?", "AG", "UG", "KG"],
  ["B\\.?V\\.?", "N\\.?V\\.?"],
  ["SARL", "SAS", "S\\.A\\.?", "SA"],
].flat();
const companyPattern = new RegExp(`^(.{2,60}?\\s(?:${legalForms.join("|")}))(?=$|[\\s,.|•●-])`, "iu");
const buyerLabels = [
  ["bill(?:ed)?\\s?to", "sold to", "customer(?: name)?", "buyer"],
  ["käufer", "rechnungsempfänger"],
  ["klant", "factuuradres"],
  ["client", "factur[ée] à"],
].flat();
const buyerPattern = new RegExp(`^(?:${buyerLabels.join("|")})(?:\\s*:\\s*|\\s*$|\\s+)(.*)$`, "iu");
const cellMaxChars = 80;

/** The first name with a legal form that is not the buyer's. */
export function sellerCandidates(lines: readonly Line[], buyer: string | null): readonly Candidate<string>[] {
  for (const line of lines) {
    for (const { text } of line.cells) {
      const name = companyPattern.exec(text.slice(0, cellMaxChars))?.[1];
      if (name !== undefined && name !== buyer) return [{ value: name, evidence: "place", line }];
    }
  }
  return [];
}

/** What stands behind or under "Bill to". */
export function buyerCandidates(lines: readonly Line[]): readonly Candidate<string>[] {
  for (const [index, line] of lines.entries()) {
    for (const cell of line.cells) {
      const match = buyerPattern.exec(cell.text);
      if (match === null) continue;
      const below = lines[index + 1]?.cells.find(({ left, right }) => left < cell.right && right > cell.left);
      const name = match[1] === "" ? below?.text : match[1];
      if (name !== undefined && name.length <= cellMaxChars) return [{ value: name, evidence: "place", line }];
    }
  }
  return [];
}
