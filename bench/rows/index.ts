// The rows of the table, in the order in which they are measured and shown.

import type { Row } from "../row.ts";
import { bulkRow } from "./bulk.ts";
import { enqueueRow } from "./enqueue.ts";
import { latencyRow } from "./latency.ts";
import { processRow } from "./process.ts";
import { queuesRow } from "./queues.ts";
import { sweepRow } from "./sweep.ts";
import { tenancyRow } from "./tenancy.ts";

export const rows: readonly Row[] = [processRow, latencyRow, enqueueRow, bulkRow, sweepRow, tenancyRow, queuesRow];
