// `tenancy`: what forced row-level security costs, and what signing does. The row `process` with 100 tenants, once more with
// row-level security switched off; and requests of the web tier, where a token is made and verified in each.

import type { Row } from "../row.ts";
import { callsPart, requestCase, requests } from "./enqueue.ts";
import { variantOf } from "./jobs.ts";
import { processCase, processRow } from "./process.ts";

const tenants = 100;
const compared = { ours: variantOf(tenants), theirs: variantOf(tenants) };

export const tenancyRow: Row = {
  name: "tenancy",
  title: "the row process, with row-level security and without; requests of the web tier, also with signed tenancy",
  columns: processRow.columns,
  comparisons: [
    { ...compared, name: "tenancy", figure: "jobsPerSecond", better: "higher" },
    { name: "tenancy-web", figure: "jobsPerSecond", better: "higher", ours: requests, theirs: requests },
    { ...compared, name: "tenancy-cpu", figure: "cpuUs", better: "lower" },
  ],
  parts: [...processRow.parts, callsPart],
  cases: (quick) => [
    processCase("doorbell", tenants, quick),
    processCase("doorbell-unforced", tenants, quick),
    requestCase("doorbell", quick),
    requestCase("doorbell-unforced", quick),
    requestCase("doorbell-signed", quick),
  ],
};
