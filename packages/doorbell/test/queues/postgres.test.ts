// The line in Postgres, received by the way of its own that wrappers use, in the suite that every driver passes.
import { describe, test } from "vitest";
import { newId } from "../../src/core/ids.ts";
import { postgresDriver } from "../../src/queue/postgres.ts";
import { Database } from "../../src/store/database.ts";
import { addLanes, beat } from "../../src/store/maintenance.ts";
import { createTestDatabase } from "../../src/testing/database.ts";
import { queueFaultTests } from "../../src/testing/queue-faults.ts";
import { type QueueUnderTest, suiteLanes } from "../../src/testing/queue-place.ts";
import { queueTests } from "../../src/testing/queue-suite.ts";

const typed = "a doorbell is a row of typed columns, written by SQL functions alone";

const postgres: QueueUnderTest = {
  lacks: {
    redelivers: "it gives each doorbell out once",
    inject: typed,
    wipe: typed,
    server: "the server of the tests is shared",
  },
  async place() {
    const database = await createTestDatabase();
    const tx = new Database({ url: database.appUrl, max: 5, name: "queue suite" });
    const lanes = Object.values(suiteLanes);
    await addLanes(tx, lanes);
    // As many may be out as workers have slots for; here there are no workers, and no claim ever ends it.
    const slots = { slots: 10_000, running: 0, draining: false, doorbellsDropped: 0, appVersion: null };
    await beat(tx, { id: newId(), role: "worker", host: "", pid: 0, version: "", kinds: [], lanes, ...slots });
    return {
      redeliverMs: 300,
      open: async () => postgresDriver(tx),
      ring: async (lane, doorbells) => {
        await database.query(
          "insert into doorbell.doorbells (lane, tenant_id, priority, job_id, ring_at) " +
            "select $1, b.tenant_id, 0, b.job_id, now() from unnest($2::text[], $3::uuid[]) b(tenant_id, job_id)",
          [lane, doorbells.map(({ tenant_id }) => tenant_id), doorbells.map(({ job_id }) => job_id)],
        );
      },
      close: async () => {
        await tx.close();
        await database.drop();
      },
    };
  },
};

describe("postgres", () => {
  for (const { title, skip, alone, run } of [...queueTests(postgres), ...queueFaultTests(postgres)])
    (alone ? test : test.concurrent)(title, (it) => (skip === null ? run() : it.skip(skip)));
});
