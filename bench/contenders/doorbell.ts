// Doorbell itself, everything at its defaults: its own binary's way of migrating, a login that forced row-level security
// binds, history kept, and the worker that its users run.

import { createHash } from "node:crypto";
import { createDoorbell, defineJob, type Doorbell, fromPg, handle } from "doorbell-jobs";
import pg from "pg";
import type { BenchJob, Consumer, Contender, Producer } from "../contender.ts";
import { monotonicMs } from "../clock.ts";

const login = "doorbell_bench";
const noop = defineJob({ kind: "noop" });
