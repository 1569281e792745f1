// The jobs of a workload: numbered from 0, spread evenly over tenants, in batches for the bulk interfaces.

import type { BenchJob } from "../contender.ts";

export interface Workload {
  readonly jobs: number;
  readonly tenants: number;
}

/** Jobs per call of a bulk interface: large enough that a call's own cost is gone, small enough for every system. */
const batchSize = 5_000;

/** All jobs of the workload in batches. Neighbours belong to different tenants, as when many are busy at once. */
export function batchesOf({ jobs, tenants }: Workload): readonly (readonly BenchJob[])[] {
  const all = Array.from({ length: jobs }, (_, number) => ({ tenant: `tenant-${number % tenants}`, number }));
  return Array.from({ length: Math.ceil(jobs / batchSize) }, (_, index) =>
    all.slice(index * batchSize, (index + 1) * batchSize),
  );
}

/** How the table names a workload: by its tenants, when there is more than one. */
export function variantOf(tenants: number): string {
  return tenants === 1 ? "" : `${tenants.toLocaleString("en")} tenants`;
}
