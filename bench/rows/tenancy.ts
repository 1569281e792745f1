// `tenancy`: what forced row-level security costs. The row `process` with 100 tenants, once more with it switched off.

import type { Row } from "../row.ts";
import { variantOf } from "./jobs.ts";
import { processCase, processRow } from "./process.ts";

const tenants = 100;
const compared = { ours: variantOf(tenants), theirs: variantOf(tenants) };

export const tenancyRow: Row = {
  name: "tenancy",
  title: "the row process, with row-level security and without",
  columns: processRow.columns,
  comparisons: [
    { ...compared, name: "tenancy", figure: "jobsPerSecond", better: "higher" },
    { ...compared, name: "tenancy-cpu", figure: "cpuUs", better: "lower" },
  ],
  parts: processRow.parts,
  cases: (quick) => [processCase("doorbell", tenants, quick), processCase("doorbell-unforced", tenants, quick)],
};
