// Medians, quantiles and ratios. Pure: it knows numbers, never contenders or rows.

/** Which way a figure is good: a rate is better when higher, a latency when lower. */
export type Better = "higher" | "lower";

/** The value below which the share `q` (0 to 1) of `values` lies, by nearest rank. Throws on no values. */
export function quantile(values: readonly number[], q: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const rank = Math.min(sorted.length - 1, Math.max(0, Math.ceil(q * sorted.length) - 1));
  const value = sorted[rank];
  if (value === undefined) throw new Error("a quantile needs at least one value");
  return value;
}

/** The middle value, or the mean of the two middle ones. Throws on no values. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const upper = sorted[Math.floor(sorted.length / 2)];
  const lower = sorted[Math.floor((sorted.length - 1) / 2)];
  if (upper === undefined || lower === undefined) throw new Error("a median needs at least one value");
  return (lower + upper) / 2;
}

/** How many times better `ours` is than `theirs`: above 1 is always in our favour. */
export function advantage(ours: number, theirs: number, better: Better): number {
  return better === "higher" ? ours / theirs : theirs / ours;
}
