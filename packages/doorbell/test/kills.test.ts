// Workers that are killed at any moment, jobs of three effects, and a receiver that counts: what is on record as completed is
// never done again, what nobody knows is listed, and after an answer every job ends. `npm run test:effects` has the long form.
import { execFile } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { defineJob } from "../src/index.ts";
import { Child } from "./child.ts";
import { eventually, Stage } from "./support.ts";

const isLong = process.env["DOORBELL_TEST_LONG"] === "1";
const [kills, jobs, withinMs] = isLong ? [500, 2_000, 1_500_000] : [20, 100, 60_000];
/** At once: while some start, others work. */
const workers = 3;
const cli = fileURLToPath(new URL("../src/cli/main.ts", import.meta.url));

interface Doubt {
  readonly job_id: string;
  readonly key: string;
  readonly idempotency_key: string;
}

test(
  `${kills} kills over ${jobs} jobs of three effects repeat none that is completed, and lose none`,
  async () => {
    await using stage = await Stage.open();
    await stage.db.query("update doorbell.settings set value = '0' where name = 'process_killer_after'");
    const received = new Map<string, number>();
    const server = createServer((request, response) => {
      let body = "";
      request.on("data", (piece) => {
        body += piece;
      });
      request.on("end", () => {
        received.set(body, (received.get(body) ?? 0) + 1);
        // It takes a while to answer, which is when a kill hurts.
        setTimeout(() => response.end(JSON.stringify({ times: received.get(body) })), Math.random() * 10);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const env = {
      DATABASE_URL: stage.db.appUrl,
      RECEIVER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    };
    const doorbell = await stage.client();
    const three = defineJob({ kind: "three", retry: { maxAttempts: 1_000 } });
    const enqueue = (count: number) =>
      doorbell.enqueueMany(Array.from({ length: count }, () => ({ job: three, tenant: "acme" })));

    const listed = async (): Promise<readonly Doubt[]> => {
      const args = [
        "--import",
        "tsx",
        "-C",
        "doorbell-source",
        cli,
        "effects",
        "list",
        "--tenant",
        "acme",
        "--in-doubt",
        "--json",
      ];
      const { stdout } = await promisify(execFile)(process.execPath, args, {
        env: { ...process.env, DATABASE_URL: stage.db.appUrl },
        maxBuffer: 64 * 1_024 * 1_024,
      });
      return JSON.parse(stdout) as readonly Doubt[];
    };
    const waitingJobs = async (): Promise<ReadonlySet<string>> =>
      new Set(
        (await stage.db.query<{ id: string }>("select id from doorbell.jobs where state = 'waiting'")).map(
          ({ id }) => id,
        ),
      );

    let answered = 0;
    const answerAll = async (): Promise<void> => {
      const waiting = await waitingJobs();
      if (waiting.size === 0) return;
      const doubts = await listed();
      for (const id of waiting)
        expect(
          doubts.some((doubt) => doubt.job_id === id),
          `job ${id} waits, and is not listed`,
        ).toBe(true);
      for (const { job_id, key, idempotency_key } of doubts) {
        if (!waiting.has(job_id)) continue;
        const outcome = received.has(idempotency_key) ? "completed" : "not_done";
        await stage.db.query(
          "select doorbell.resolve_effect('acme', $1, $2, $3, null, 'the receiver was asked', 'ann')",
          [job_id, key, outcome],
        );
        answered += 1;
      }
    };

    const running: Child[] = [];
    const starting = new Set<Promise<void>>();
    const start = (): void => {
      const started = Child.start("three-effects.ts", env).then((child) => {
        running.push(child);
        starting.delete(started);
      });
      starting.add(started);
    };
    try {
      for (let count = 0; count < workers; count += 1) start();
      let killed = 0;
      for (let enqueued = 0; killed < kills; ) {
        while (running.length === 0) await Promise.race(starting);
        // In portions, so that there is work to be killed at for as long as there are kills.
        const share = Math.min(jobs, Math.ceil(((killed + 1) / kills) * jobs)) - enqueued;
        await enqueue(share);
        enqueued += share;
        await sleep(Math.random() * 30);
        const victim = running.shift();
        victim?.kill("SIGKILL");
        await victim?.ended();
        killed += 1;
        start();
        if (isLong && killed % 25 === 0) await answerAll();
        if (isLong && killed % 50 === 0) console.log(`${killed} kills, ${received.size} effects, ${answered} answers`);
      }
      const left = async (): Promise<number> =>
        (await stage.db.query<{ n: number }>("select count(*)::int as n from doorbell.jobs"))[0]?.n ?? -1;
      const areOver = async (): Promise<boolean> => {
        await answerAll();
        return (await left()) === 0;
      };
      await eventually("every job to end", areOver, withinMs);
      await expect(listed()).resolves.toEqual([]);
    } finally {
      await Promise.allSettled(starting);
      for (const child of running) await child[Symbol.asyncDispose]();
      server.closeAllConnections();
      server.close();
    }

    const [states] = await stage.db.query<{ done: number; effects: number }>(
      `select (select count(*)::int from doorbell.job_history where state = 'done') as done,
            (select count(*)::int from doorbell.effect_states where outcome = 'completed') as effects`,
    );
    expect(states).toEqual({ done: jobs, effects: 3 * jobs });
    expect(received.size, "effects that have come").toBe(3 * jobs);
    expect(
      [...received].filter(([, times]) => times > 1),
      "effects that have come more than once",
    ).toEqual([]);
    // Of twenty, on a quick machine, not one need hit a call that is under way.
    if (isLong) expect(answered, "kills that left a doubt").toBeGreaterThan(0);
    console.log(
      `${kills} kills, ${jobs} jobs, ${received.size} effects: 0 repeated, 0 lost, ${answered} in doubt, each listed`,
    );
  },
  90_000 + (isLong ? withinMs : 0),
);
