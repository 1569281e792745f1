// Doorbell itself with everything at its defaults: a login that forced row-level security binds, history kept, and the
// worker that its users run.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createDoorbell, type Doorbell, defineJob, fromPg, handle } from "doorbell-jobs";
import pg from "pg";
import { monotonicMs } from "../clock.ts";
import type { BenchJob, Consumer, Contender, Producer } from "../contender.ts";
import { versionIn } from "./version.ts";

const product = new URL("../../packages/doorbell/", import.meta.url);
const binary = fileURLToPath(new URL("bin/doorbell.mjs", product));
const login = "doorbell_bench";
/** As docs/performance.md says for handlers that take less than a millisecond. */
const concurrency = 2000;
const noop = defineJob({ kind: "noop" });

/** As a web tier has it that signs: one that could claim would need no token. */
const webLogin = "doorbell_bench_web";
const signed = { tenancy: "signed", tenancySecrets: ["a secret of the bench and of nobody else"] } as const;

interface Installation {
  readonly alsoSql?: string;
  readonly env?: NodeJS.ProcessEnv;
}

/** Migrates with the binary, and makes a login that has the roles of both tiers and no right beyond them, and one of web. */
async function install(databaseUrl: string, { alsoSql = "", env = {} }: Installation): Promise<void> {
  await promisify(execFile)(process.execPath, [binary, "migrate"], {
    env: { ...process.env, ...env, DATABASE_URL: databaseUrl },
  });
  const superuser = new pg.Client(databaseUrl);
  await superuser.connect();
  for (const [name, roles] of [
    [login, "doorbell_web, doorbell_worker"],
    [webLogin, "doorbell_web"],
  ]) {
    const { rowCount } = await superuser.query("select from pg_roles where rolname = $1", [name]);
    const verb = rowCount === 0 ? "create" : "alter";
    await superuser.query(`${verb} role ${name} login nosuperuser nobypassrls password '${passwordFor(databaseUrl)}'`);
    await superuser.query(`grant ${roles} to ${name}`);
  }
  await superuser.query(alsoSql);
  await superuser.end();
}

/** The same in every process and database, and known only to whoever has the superuser's URL anyway. */
function passwordFor(databaseUrl: string): string {
  const { host, username, password } = new URL(databaseUrl);
  return createHash("sha256")
    .update(JSON.stringify([host, username, password]))
    .digest("hex");
}

function loginUrl(databaseUrl: string, name: string = login): string {
  const url = new URL(databaseUrl);
  url.username = name;
  url.password = passwordFor(databaseUrl);
  return url.href;
}

function open(databaseUrl: string): Promise<Doorbell> {
  return createDoorbell({ databaseUrl: loginUrl(databaseUrl) });
}

const openProducer = async (databaseUrl: string): Promise<Producer> => producerOf(await open(databaseUrl), databaseUrl);

function producerOf(doorbell: Doorbell, databaseUrl: string): Producer {
  /** The application's own connections, of which Doorbell knows nothing. */
  const application = new pg.Pool({ connectionString: loginUrl(databaseUrl) });
  return {
    enqueue: async ({ tenant, number }) => {
      await doorbell.enqueue(noop, { n: number }, { tenant });
    },
    enqueueMany: async (jobs) => {
      await doorbell.enqueueMany(jobs.map(toItem));
    },
    enqueueInTransaction: async ({ tenant, number }, { ring }) => {
      const client = await application.connect();
      await client.query("begin");
      const receipt = await doorbell.enqueue(noop, { n: number }, { tenant, tx: fromPg(client) });
      await client.query("commit");
      const committedAt = monotonicMs();
      client.release();
      if (ring) await receipt.ring();
      return committedAt;
    },
    request: ({ tenant, number }) =>
      doorbell.transaction(tenant, async (tx) => {
        await tx.query("select id from doorbell.jobs where tenant_id = $1 order by id desc limit 1", [tenant]);
        await doorbell.enqueue(noop, { n: number }, { tenant, tx });
      }),
    close: async () => {
      await application.end();
      await doorbell.close();
    },
  };
}

function toItem({ tenant, number }: BenchJob): { job: typeof noop; payload: { n: number }; tenant: string } {
  return { job: noop, payload: { n: number }, tenant };
}

async function openConsumer(databaseUrl: string, onStart: (jobNumber: number) => void): Promise<Consumer> {
  const doorbell = await open(databaseUrl);
  const worker = doorbell.worker([handle(noop, async (job) => onStart((job.payload as { n: number }).n))], {
    concurrency,
  });
  return {
    start: () => worker.start(),
    stop: async () => {
      await worker.drain();
      await doorbell.close();
    },
  };
}

const base: Omit<Contender, "name" | "install"> = {
  version: versionIn(product),
  settings: [
    { name: "concurrency", value: `${concurrency}`, source: "docs/performance.md, “Short handlers”" },
    { name: "all else", value: "defaults; forced row-level security, history kept", source: "docs/settings.md" },
  ],
  unsettledSql: "select exists (select from doorbell.jobs)",
  doneSql: "select count(*)::int from doorbell.job_history where state = 'done'",
  openProducer,
  openConsumer,
};

export const doorbell: Contender = { ...base, name: "doorbell", install: (databaseUrl) => install(databaseUrl, {}) };

/** What row-level security costs is seen by switching it off, which is good for nothing else. */
export const doorbellUnforced: Contender = {
  ...base,
  name: "doorbell-unforced",
  settings: [{ name: "row-level security", value: "off on every table", source: "ours: to see what it costs" }],
  install: (databaseUrl) =>
    install(databaseUrl, {
      alsoSql: `do $$
       declare t regclass;
       begin
         for t in select c.oid from pg_class c
                   where c.relnamespace = 'doorbell'::regnamespace and c.relkind in ('r', 'p') and c.relrowsecurity loop
           execute format('alter table %s disable row level security, no force row level security', t);
         end loop;
       end $$`,
    }),
};

/** The web tier alone: a worker needs no token. */
export const doorbellSigned: Contender = {
  ...base,
  name: "doorbell-signed",
  settings: [{ name: "tenancy", value: "signed", source: "docs/tenancy.md" }],
  install: (databaseUrl) =>
    install(databaseUrl, {
      env: { DOORBELL_TENANCY: signed.tenancy, DOORBELL_TENANCY_SECRETS: signed.tenancySecrets.join(",") },
    }),
  openProducer: async (databaseUrl) =>
    producerOf(await createDoorbell({ databaseUrl: loginUrl(databaseUrl, webLogin), ...signed }), databaseUrl),
};
