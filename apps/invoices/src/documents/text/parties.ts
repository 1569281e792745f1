/**
 * Guesses seller and buyer from printed text. The page rarely labels its sender, so these are prefills for a person, of low confidence
 * by nature; nothing is ever accepted because of them.
 */
import type { Line } from "../pdf/layout.ts";
import type { Candidate } from "./candidate.ts";

const LEGAL_FORM =
  /^(.{2,60}?\s(?:GmbH(?:\s&\sCo\.?\sKG)?|AG|UG|KG|B\.?V\.?|N\.?V\.?|Ltd\.?|Limited|PLC|Inc\.?|LLC|Corp\.?|SARL|SAS|S\.A\.?|SA))(?=$|[\s,.|•●-])/iu;
const BUYER_LABEL =
  /^(?:bill(?:ed)?\s?to|sold to|customer(?: name)?|client|klant|buyer|käufer|rechnungsempfänger|factuuradres|factur[ée] à)(?:\s*:\s*|\s*$|\s+)(.*)$/iu;
const CELL_CHARS_MAX = 80;

/** The first name with a legal form that is not the buyer's. */
export function sellerCandidates(lines: readonly Line[], buyer: string | null): readonly Candidate<string>[] {
  for (const line of lines) {
    for (const { text } of line.cells) {
      const name = LEGAL_FORM.exec(text.slice(0, CELL_CHARS_MAX))?.[1];
      if (name !== undefined && name !== buyer) return [{ value: name, evidence: "place", line }];
    }
  }
  return [];
}

/** What stands behind or under "Bill to". */
export function buyerCandidates(lines: readonly Line[]): readonly Candidate<string>[] {
  for (const [index, line] of lines.entries()) {
    for (const cell of line.cells) {
      const match = BUYER_LABEL.exec(cell.text);
      if (match === null) continue;
      const below = lines[index + 1]?.cells.find(({ left, right }) => left < cell.right && right > cell.left);
      const name = match[1] === "" ? below?.text : match[1];
      if (name !== undefined && name.length <= CELL_CHARS_MAX) return [{ value: name, evidence: "place", line }];
    }
  }
  return [];
}
