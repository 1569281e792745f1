// Money as decimal strings, added and compared exactly. No amount ever becomes a floating-point number. Canonical form:
// optional minus, no leading zeros, at least two decimals ("-3.50", "0.00", "1234.5678").

/** A canonical decimal string. Its currency is stated elsewhere. */
export type Amount = string;

const decimalsMax = 10;
const decimalPattern = /^([+-]?)(?=\.?\d)(\d{0,18})(?:\.(\d{1,10}))?$/;

/** Reads an XML decimal ("-12.5", "+7", "0012.00"). Null for everything else: no exponents, no thousands separators. */
export function parseDecimal(text: string): Amount | null {
  const match = decimalPattern.exec(text.trim());
  if (match === null) return null;
  const [, sign = "", whole = "", fraction = ""] = match;
  const units = BigInt(whole + fraction.padEnd(decimalsMax, "0"));
  return fromUnits(sign === "-" ? -units : units);
}

/** The exact sum; "0.00" for none. */
export function sumAmounts(amounts: Iterable<Amount>): Amount {
  let units = 0n;
  for (const amount of amounts) units += toUnits(amount);
  return fromUnits(units);
}

/** The exact difference `left - right`. */
export function subtractAmounts(left: Amount, right: Amount): Amount {
  return fromUnits(toUnits(left) - toUnits(right));
}

/** `amount` times `percent` hundredths, exact up to the tenth decimal. */
export function percentOf(amount: Amount, percent: Amount): Amount {
  return fromUnits((toUnits(amount) * toUnits(percent)) / (100n * 10n ** BigInt(decimalsMax)));
}

/** Whether two amounts differ by no more than `toleranceCents` hundredths. */
export function amountsAgree(left: Amount, right: Amount, toleranceCents = 0): boolean {
  const gap = toUnits(left) - toUnits(right);
  return (gap < 0n ? -gap : gap) <= BigInt(toleranceCents) * 10n ** BigInt(decimalsMax - 2);
}

/** Negative, zero or positive, as for sorting. */
export function compareAmounts(left: Amount, right: Amount): number {
  const gap = toUnits(left) - toUnits(right);
  return gap < 0n ? -1 : gap > 0n ? 1 : 0;
}

export function absoluteAmount(amount: Amount): Amount {
  return amount.startsWith("-") ? amount.slice(1) : amount;
}

export function isNegative(amount: Amount): boolean {
  return amount.startsWith("-");
}

function toUnits(amount: Amount): bigint {
  const [whole = "0", fraction = ""] = absoluteAmount(amount).split(".");
  const units = BigInt(whole + fraction.padEnd(decimalsMax, "0"));
  return isNegative(amount) ? -units : units;
}

function fromUnits(units: bigint): Amount {
  const digits = (units < 0n ? -units : units).toString().padStart(decimalsMax + 1, "0");
  const fraction = digits.slice(-decimalsMax).replace(/0+$/, "").padEnd(2, "0");
  return `${units < 0n ? "-" : ""}${digits.slice(0, -decimalsMax)}.${fraction}`;
}
