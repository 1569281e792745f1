// `npm run demo`: three accounts upload invoices through HTTP to one web process, two workers read them, every doorbell is
// rung twice, and one worker is killed with -9 while it works. At its end stands a table, and a proof that holds or does
// not. This file is the order of events; each of them is a file of demo/.
import { DemoError } from "./demo/demo-error.ts";
import { loadFiles } from "./demo/files.ts";
import { createNarrator } from "./demo/narrator.ts";
import { nextSteps } from "./demo/next-steps.ts";
import { type DemoOptions, parseOptions, usage } from "./demo/options.ts";
import { failures, summary } from "./demo/outcome.ts";
import { report } from "./demo/report.ts";
import { runDemo } from "./demo/run.ts";
import { openStand } from "./demo/stand.ts";
import { TakeDown } from "./demo/take-down.ts";

interface Ending {
  readonly exitCode: number;
  /** Until a signal comes. */
  readonly staysUp: boolean;
}

const interruption: Ending = { exitCode: 130, staysUp: false };

/** Resolves when everything is read and counted. What it brings up, `takeDown` is told of, also when it throws. */
async function demo(options: DemoOptions, takeDown: TakeDown): Promise<Ending> {
  const files = await loadFiles(options.documents);
  const narrator = createNarrator(options.json ? process.stderr : process.stdout);
  narrator.say("Starting Postgres, one web process and two workers …");
  const stand = await openStand(options, takeDown);
  narrator.say(
    `  ${stand.database.description}; doorbells through ${stand.queue.description}; web on ${stand.web.url}`,
  );

  const { length: count } = files.files;
  narrator.say(`Uploading ${count} documents of ${stand.accounts.length} accounts; every doorbell rings twice …`);
  const outcome = await runDemo(stand, files, narrator);

  const problems = failures(outcome);
  narrator.say(`\n${report(outcome)}\n`);
  narrator.say(problems.length === 0 ? "Everything holds." : `It does not hold:\n  ${problems.join("\n  ")}`);
  if (!options.once) narrator.say(`\n${await nextSteps(stand, outcome)}`);
  if (options.json) process.stdout.write(`${JSON.stringify(summary(outcome))}\n`);
  return { exitCode: problems.length === 0 ? 0 : 1, staysUp: !options.once };
}

/** Says what went wrong: what whoever runs it can act upon as it stands, everything else with its stack. */
function failureOf(error: unknown): Ending {
  if (error instanceof DemoError) {
    console.error(error.message);
    return { exitCode: error.exitCode, staysUp: false };
  }
  console.error(error);
  return { exitCode: 1, staysUp: false };
}

async function main(): Promise<number> {
  const options = parseOptions(process.argv.slice(2));
  if (options === null) {
    process.stdout.write(usage);
    return 0;
  }
  const takeDown = new TakeDown();
  // A terminal sends Ctrl-C to us and to who started us, who passes it on: a second signal is not a second wish.
  const interrupted = new Promise<Ending>((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve(interruption));
  });
  const finished = demo(options, takeDown).catch((error: unknown) =>
    // What fails because everything is being taken down is not worth a word.
    takeDown.isRunning ? interruption : failureOf(error),
  );
  const ending = await Promise.race([finished, interrupted]);
  if (ending.staysUp) await interrupted;
  await takeDown.run();
  return ending.exitCode;
}

process.exit(await main().catch((error: unknown) => failureOf(error).exitCode));
