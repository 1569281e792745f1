// `npm run demo`: three accounts upload invoices through HTTP to one web process, two workers read them, every doorbell is
// rung twice, and one worker is killed with -9 while it works. At its end stands a table, and a proof that holds or does
// not. This file is the order of events; each of them is a file of demo/.
import { createNarrator } from "./demo/narrator.ts";
import { type DemoOptions, parseOptions, usage } from "./demo/options.ts";
import { failures, summary } from "./demo/outcome.ts";
import { nextSteps } from "./demo/next-steps.ts";
import { report } from "./demo/report.ts";
import { openStand, runDemo } from "./demo/run.ts";

const options = readOptions();
if (options !== null) process.exitCode = await main(options);
