// A contender's process: loads one contender, runs the parts that it is asked to run, and ends when the bench's own
// process closes the channel or dies. It never outlives it, and never decides anything.

import { argv } from "node:process";
import { type ContenderName, loadContender } from "../contenders/index.ts";
import { rows } from "../rows/index.ts";
import { schemaPart } from "../rows/schema.ts";
import type { AgentMessage, RunMessage } from "./messages.ts";

const [contenderName, databaseUrl, queueUrl] = argv.slice(2) as [ContenderName, string, string?];
const parts = new Map([schemaPart, ...rows.flatMap((row) => row.parts)].map((part) => [part.name, part]));
const contender = loadContender(contenderName, queueUrl);
// A system that cannot be loaded fails every part that is asked for, with its own error.
contender.catch(() => {});

function say(message: AgentMessage): void {
  process.send?.(message);
}

async function runPart({ part: name, args }: RunMessage): Promise<void> {
  try {
    const part = parts.get(name);
    if (part === undefined) throw new Error(`no row has a part named ${name}`);
    const context = {
      contender: await contender,
      databaseUrl,
      mark: (label: string): void => say({ type: "mark", label }),
    };
    say({ type: "result", result: await part.run(context, args as never) });
  } catch (error) {
    console.error(error);
    say({ type: "error", message: error instanceof Error ? error.message : String(error) });
  }
}

// Ctrl-C reaches the whole process group: the bench's own process decides what ends, and in which order.
process.on("SIGINT", () => {});
process.on("message", (message: RunMessage) => void runPart(message));
process.on("disconnect", () => process.exit());
