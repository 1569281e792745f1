import { expect, test } from "vitest";
import { claim, enqueue, rows, Sql, settle } from "./support.ts";

test("a job that waits for an answer goes on when the call itself tells late what became of its effect", async () => {
  await using sql = await Sql.open();
  const client = await sql.connect();
  const admin = await sql.connect(sql.db.adminUrl);
  const id = await enqueue(client, "acme");
  const begin = (worker: string, attempt: number) =>
    rows(
      client,
      `select verdict from doorbell.begin_effects($1, '{acme}', array[$2::uuid], array[$3::int], '{pay}', '{effect}', '{key}',
         '{hash}', '{false}')`,
      [worker, id, attempt],
    );
  const state = async () => (await rows<{ state: string }>(admin, "select state from doorbell.jobs"))[0]?.state;

  await claim(client, "frozen", [["acme", id]]);
  expect(await begin("frozen", 1)).toEqual([{ verdict: "go" }]);
  await admin.query("update doorbell.jobs set lease_until = now() - interval '1 s'");
  await client.query("select doorbell.sweep()");
  await claim(client, "other", [["acme", id]]);
  expect(await begin("other", 2)).toEqual([{ verdict: "in_doubt" }]);
  await settle(client, "other", [{ tenant: "acme", id, attempt: 2, outcome: "wait" }]);
  await client.query("select doorbell.sweep()");
  expect(await state()).toBe("waiting");

  await client.query(
    "select doorbell.finish_effects('{acme}', array[$1::uuid], '{pay}', '{1}', '{call}', '{completed}', array['1'::jsonb], '{null}')",
    [id],
  );
  expect(await rows(client, "select rung from doorbell.sweep()")).toEqual([{ rung: 1 }]);
  expect(await state()).toBe("queued");
  await claim(client, "other", [["acme", id]]);
  expect(await begin("other", 3)).toEqual([{ verdict: "completed" }]);
});
