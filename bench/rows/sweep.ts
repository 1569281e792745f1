// `sweep`: how long one look over 10,000 tenants takes, 2,000 of whose doorbells are lost, until all of them ring again. Beside
// it the plain way: one query for each tenant, with that tenant in force.

import pg from "pg";
import { monotonicMs } from "../clock.ts";
import type { ContenderName } from "../contenders/index.ts";
import type { Figures, Part, Row, Stage } from "../row.ts";
import { batchesOf } from "./jobs.ts";

const tenants = 10_000;
const lost = 2_000;

const sweepPart: Part<null, { readonly sweepMs: number }> = {
  name: "sweep.sweep",
  run: async ({ contender, databaseUrl }) => {
    if (contender.sweep === undefined) throw new Error("this contender has no sweep");
    const producer = await contender.openProducer(databaseUrl);
    for (const batch of batchesOf({ jobs: tenants, tenants })) await producer.enqueueMany(batch);
    await producer.close();
    const superuser = new pg.Client(databaseUrl);
    await superuser.connect();
    await contender.sweep(databaseUrl); // It registers the tenants, and finds nothing.
    await superuser.query("update doorbell.jobs set run_after = run_after - interval '1 minute'");
    await superuser.query(
      `delete from doorbell.doorbells where ctid in (select ctid from doorbell.doorbells order by random() limit ${lost})`,
    );
    await superuser.query("vacuum analyze doorbell.jobs, doorbell.doorbells, doorbell.tenants");
    const beganAt = monotonicMs();
    const rung = await contender.sweep(databaseUrl);
    const sweepMs = monotonicMs() - beganAt;
    await superuser.end();
    if (rung !== lost) throw new Error(`${rung} of ${lost} lost doorbells were rung again`);
    return { sweepMs };
  },
};

async function measure(stage: Stage, contender: ContenderName): Promise<Figures> {
  const sweeper = stage.spawn(contender);
  await stage.freshDatabase(contender);
  return await sweeper.run(sweepPart, null);
}

export const sweepRow: Row = {
  name: "sweep",
  title: "one look over 10,000 tenants, 2,000 of whose doorbells are lost, until they ring again",
  columns: [{ figure: "sweepMs", heading: "ms", digits: 0 }],
  comparisons: [{ name: "sweep", figure: "sweepMs", better: "lower", ours: "", theirs: "" }],
  parts: [sweepPart],
  cases: () =>
    (["doorbell", "doorbell-one-by-one"] as const).map((contender) => ({
      contender,
      variant: "",
      measure: (stage) => measure(stage, contender),
    })),
};
