// What the demo is asked for on its command line.
import { parseArgs } from "node:util";
import { UsageError } from "./demo-error.ts";

export interface DemoOptions {
  /** End, instead of staying up. */
  readonly once: boolean;
  /** One JSON object as the last line of standard output; everything else goes to standard error. */
  readonly json: boolean;
  /** A folder with a manifest.json of right answers, to read instead of the samples. */
  readonly documents: string | null;
  /** Where database, objects and logs are kept between runs. Null: nowhere. */
  readonly keep: string | null;
  /** The URL of what carries doorbells, as DOORBELL_QUEUE has it. */
  readonly queue: string;
}

export const usage = `Usage: npm run demo -- [options]

Three accounts upload invoices, two workers read them, every doorbell is rung twice, and one worker is killed with -9.

  --once            end when everything is read, and clean up; otherwise it stays up, and says what to try
  --json            print one JSON object as the last line; everything else goes to standard error
  --documents DIR   upload the files of DIR, and score what was read against its manifest.json
  --queue URL       carry doorbells through redis:, nats:, amqp: or sqs: (docs/queues) instead of postgres:
  --keep DIR        keep database, objects and logs in DIR; a later run goes on with them
  --help            this

DATABASE_URL names a Postgres to use instead of an embedded one. Its login has to be able to create roles and a schema,
and the demo gives the login invoices_app a new password there: name a database that is for trying things out.
`;

/** Null: help was asked for. Throws UsageError for what it does not know. */
export function parseOptions(args: readonly string[]): DemoOptions | null {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        once: { type: "boolean", default: false },
        json: { type: "boolean", default: false },
        documents: { type: "string" },
        keep: { type: "string" },
        queue: { type: "string", default: "postgres:" },
        help: { type: "boolean", default: false },
      },
    });
    if (values.help) return null;
    const { once, json, documents = null, keep = null, queue } = values;
    return { once, json, documents, keep, queue };
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
  }
}
