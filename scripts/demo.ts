// `npm run demo`: three accounts upload invoices through HTTP to one web process, two workers read them, every doorbell is
// rung twice, and one worker is killed with -9 while it works. At its end stands a table, and a proof that holds or does
// not. This file is the order of events; each of them is a file of demo/.
import { loadFiles } from "./demo/files.ts";
import { createNarrator } from "./demo/narrator.ts";
import { nextSteps } from "./demo/next-steps.ts";
import { type DemoOptions, parseOptions, usage } from "./demo/options.ts";
import { failures, summary } from "./demo/outcome.ts";
import { report } from "./demo/report.ts";
import { runDemo } from "./demo/run.ts";
import { openStand } from "./demo/stand.ts";
import { TakeDown } from "./demo/take-down.ts";

const exitUsage = 2;
const exitCodes = { holds: 0, "does not hold": 1, failed: 1, interrupted: 130 } as const;

function readOptions(): DemoOptions | null {
  try {
    return parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(exitUsage);
  }
}

/** Resolves when everything is read and counted; what was brought up stays up. */
async function demo(options: DemoOptions, takeDown: TakeDown): Promise<"holds" | "does not hold"> {
  const narrator = createNarrator(options.json ? process.stderr : process.stdout);
  narrator.say("Starting Postgres, one web process and two workers …");
  const stand = await openStand(options, takeDown);
  narrator.say(`  ${stand.database.description}; web on ${stand.web.url}`);

  const files = await loadFiles(options.documents, stand.accounts);
  narrator.say(
    `Uploading ${files.files.length} documents of ${stand.accounts.length} accounts; every doorbell rings twice …`,
  );
  const outcome = await runDemo(stand, files, narrator);

  const problems = failures(outcome);
  narrator.say(`\n${report(outcome)}\n`);
  narrator.say(problems.length === 0 ? "Everything holds." : `It does not hold:\n  ${problems.join("\n  ")}`);
  if (options.json) process.stdout.write(`${JSON.stringify(summary(outcome))}\n`);
  if (!options.once) narrator.say(`\n${nextSteps(stand, outcome)}`);
  return problems.length === 0 ? "holds" : "does not hold";
}

const options = readOptions();
if (options === null) {
  process.stdout.write(usage);
} else {
  const takeDown = new TakeDown();
  // A terminal sends Ctrl-C to us and to who started us, who passes it on: a second signal is not a second wish.
  const interrupted = new Promise<"interrupted">((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve("interrupted"));
  });
  const outcome = demo(options, takeDown).catch((error: unknown) => {
    // What fails because everything is being taken down is not worth a word.
    if (!takeDown.isRunning) console.error(error instanceof Error ? (error.stack ?? error.message) : error);
    return "failed" as const;
  });
  const ended = await Promise.race([outcome, interrupted]);
  if (!options.once && (ended === "holds" || ended === "does not hold")) await interrupted;
  await takeDown.run();
  process.exit(exitCodes[ended]);
}
