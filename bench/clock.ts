// The one clock of the bench. It must be comparable between the processes of one machine, so it is the system's
// monotonic clock and never `performance.now()`, which begins anew in every process.

/** Milliseconds, with fractions, since some instant that all processes of this machine share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/** Resolves after `durationMs`. */
export function pause(durationMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, durationMs));
}
