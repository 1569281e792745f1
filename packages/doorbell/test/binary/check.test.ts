// The checklist of a kind, on its rows.
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../support.ts";
import { Desk, type TenantDesk } from "./desk.ts";
import { appFile, scratchFolder } from "./support.ts";

let desk: Desk;

beforeAll(async () => {
  desk = await Desk.open();
  await desk.database.query(
    "create table public.prices (tenant text, price int); grant all on public.prices to public",
  );
  await desk.work();
});

afterAll(() => desk[Symbol.asyncDispose]());

interface Answer {
  readonly answer: string;
  readonly evidence: string;
  readonly do: string | null;
}

/** Their last lines come a moment after their end: the check leaves out what was done in the last second. */
async function settled({ tenant }: TenantDesk, kind: string): Promise<void> {
  await eventually("the last second to be over", async () => {
    const [found] = await desk.database.query<{ young: number }>(
      "select count(*)::int as young from doorbell.job_history where tenant_id = $1 and kind = $2 and finished_at > now() - interval '1 s'",
      [tenant, kind],
    );
    return found?.young === 0;
  });
}

test("of a kind that nobody has used nothing is known, and each answer says what to do", async () => {
  const acme = desk.tenant("acme");
  const unknown = await acme.attempt("check", "priced", "--app", appFile, "--json");
  expect(unknown.code).toBe(1);
  const answers = JSON.parse(unknown.stdout) as Answer[];
  expect(answers.map(({ answer }) => answer)).toEqual(Array(5).fill("not known"));
  for (const answer of answers) expect(answer.do).toMatch(/\w/);
});

test("each answer comes from jobs that are there: an input that is proven, a run that was repeated, a dead letter, lines", async () => {
  const acme = desk.tenant("acme");
  const file = `${scratchFolder()}/invoice.xml`;
  writeFileSync(file, "<invoice/>");
  const key = (await acme.run("objects", "put", file)).trim();
  const bare = await acme.enqueue("priced");
  await desk.until(bare, "done");
  await settled(acme, "priced");
  expect(JSON.parse((await acme.attempt("check", "priced", "--json")).stdout)).toMatchObject([
    { answer: "no", evidence: "none of the newest 1 jobs has an object" },
    { answer: "not known" },
    { answer: "not known" },
    { answer: "yes" },
  ]);

  const id = await acme.enqueue("priced", "--object-key", key);
  await desk.until(id, "done");
  await acme.run("replay", id);
  await desk.until(id, "done", 2);
  const answers = JSON.parse((await acme.attempt("check", "priced", "--app", appFile, "--json")).stdout) as Answer[];
  expect(answers[0]).toMatchObject({
    answer: "yes",
    evidence: expect.stringContaining(`its object ${key} is there, 10 bytes`),
  });
  expect(answers[1]).toMatchObject({ answer: "yes" });
  expect(answers[2]).toMatchObject({
    answer: "yes",
    evidence: `job ${id}: effect letter was done in attempt 1, and not in attempt 2, which ended well`,
  });
  expect(await acme.attempt("check", "priced")).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(
      /^not known {2}does poison reach the dead letters\?\n +no such job yet\n +do: enqueue one/m,
    ),
  });
  await acme
    .enqueue("priced", "--object-key", key, "--payload", '{"poison":true}')
    .then((poison) => desk.until(poison, "failed"));
  await settled(acme, "priced");
  expect(await acme.run("check", "priced", "--app", appFile)).toMatch(/^(yes {8}.*\n {11}.*\n){5}$/);
});

test("a kind that does an effect again, loses its input, or says nothing is told so", async () => {
  const acme = desk.tenant("acme");
  const id = await acme.enqueue("priced", "--object-key", "lost.xml");
  await desk.until(id, "done");
  await settled(acme, "priced");
  await desk.database.query("delete from doorbell.job_logs where job_id = $1", [id]);
  await desk.database.query(
    "insert into doorbell.effects select (jsonb_populate_record(e, '{\"n\": 2}')).* from doorbell.effects e where job_id = $1 and key = 'quote'",
    [id],
  );
  await desk.database.query("update doorbell.effects set begun_at = now() where job_id = $1 and n = 2", [id]);
  const { stdout } = await acme.attempt("check", "priced", "--json");
  expect(JSON.parse(stdout)).toMatchObject([
    { answer: "no", evidence: expect.stringMatching(/its object lost.xml cannot be read/) },
    { answer: "no", evidence: `job ${id} began effect quote again although it was completed` },
    { answer: "not known" },
    { answer: "no", evidence: `job ${id} has said nothing in its last attempt` },
  ]);
});
