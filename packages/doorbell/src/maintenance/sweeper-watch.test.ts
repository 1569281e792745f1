import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../../test/support.ts";
import { Database } from "../store/database.ts";
import { createTestDatabase } from "../testing/database.ts";
import { sweeperWatch } from "./sweeper-watch.ts";

test("a web process says once that nobody sweeps, after a while, and that somebody does again", async () => {
  const { webUrl, query, drop } = await createTestDatabase();
  onTestFinished(drop);
  const tx = new Database({ url: webUrl, max: 1, name: "test" });
  onTestFinished(() => tx.close());
  const lines: string[] = [];
  const say = (message: string): void => void lines.push(message);
  const log = { debug: say, info: say, warn: say, error: say };
  const beat = (role: string, ago: string) =>
    query(
      `insert into doorbell.workers (id, role, host, pid, version, kinds, lanes, slots, seen_at)
       values ('w', '${role}', 'h', 1, '0', '{}', '{}', 1, now() - interval '${ago}')
       on conflict (id) do update set role = excluded.role, seen_at = excluded.seen_at`,
    );

  const patient = sweeperWatch({ tx, log, everyMs: 10, patienceMs: 3_600_000 });
  patient.start();
  // Another web process sweeps no more than this one.
  await beat("web", "0 s");
  const watch = sweeperWatch({ tx, log, everyMs: 10, patienceMs: 0 });
  watch.start();
  await eventually("the warning", () => lines.length > 0);
  await beat("worker", "31 s");
  await new Promise((resolve) => setTimeout(resolve, 100)); // ten looks more
  expect(lines).toEqual([expect.stringMatching(/^nobody sweeps/)]);
  await beat("worker", "0 s");
  await eventually("the end of it", () => lines.length > 1);
  await Promise.all([watch.stop(), patient.stop()]);
  expect(lines.slice(1)).toEqual(["a worker sweeps again"]);
});
