// Doorbell itself with everything at its defaults: a login that forced row-level security binds, history kept, and the
// worker that its users run.

import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createDoorbell, type Doorbell, defineJob, fromPg, handle } from "doorbell-jobs";
import pg from "pg";
import type { BrokerName } from "../../packages/doorbell/test/servers/broker-servers.ts";
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

function open(databaseUrl: string, queue = "postgres:"): Promise<Doorbell> {
  return createDoorbell({ databaseUrl: loginUrl(databaseUrl), queue });
}

const openProducer = async (databaseUrl: string, queue?: string): Promise<Producer> =>
  producerOf(await open(databaseUrl, queue), databaseUrl);

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

async function openConsumer(
  databaseUrl: string,
  onStart: (jobNumber: number) => void,
  queue?: string,
): Promise<Consumer> {
  const doorbell = await open(databaseUrl, queue);
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
  openProducer: (databaseUrl) => openProducer(databaseUrl),
  openConsumer: (databaseUrl, onStart) => openConsumer(databaseUrl, onStart),
  sweep: async (databaseUrl) => {
    const doorbell = await open(databaseUrl);
    const { rung } = await doorbell.sweep();
    await doorbell.close();
    return rung;
  },
};

export const doorbell: Contender = { ...base, name: "doorbell", install: (databaseUrl) => install(databaseUrl, {}) };

/** Everything the same, but that doorbells go through a broker. Without a URL it can be installed, and no more. */
export const doorbellOver = (broker: BrokerName, queueUrl?: string): Contender => {
  const queue = (): string => {
    if (queueUrl === undefined) throw new Error(`doorbell-${broker} is measured by the row queues only`);
    return queueUrl;
  };
  return {
    ...base,
    name: `doorbell-${broker}`,
    settings: [{ name: "queue", value: `${broker}, its driver's defaults`, source: `docs/queues/${broker}.md` }],
    install: (databaseUrl) => install(databaseUrl, {}),
    openProducer: async (databaseUrl) => openProducer(databaseUrl, queue()),
    openConsumer: async (databaseUrl, onStart) => openConsumer(databaseUrl, onStart, queue()),
  };
};

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

/** Rings for due jobs that have no doorbell, with one tenant in force. */
const lostOfOneTenant = `
  with lost as (
    select j.tenant_id, j.id, j.lane, j.priority
      from (select set_config('doorbell.tenant_id', $1, true) as tenant offset 0) clamped
      join doorbell.jobs j on j.tenant_id = clamped.tenant
     where j.state = 'queued' and j.run_after < now() - interval '2 s'
       and not exists (select from doorbell.doorbells b where b.tenant_id = j.tenant_id and b.job_id = j.id and b.turn is not null)
       and not exists (select from doorbell.rung r where r.tenant_id = j.tenant_id and r.job_id = j.id)
       and not exists (select from doorbell.unhandled u where u.tenant_id = j.tenant_id and u.job_id = j.id)),
  rung as (
    select doorbell.ring(array_agg(l.lane), array_agg(l.tenant_id), array_agg(l.priority), array_agg(l.id)) from lost l having count(*) > 0)
  select (select count(*)::int from lost) as rung, (select count(*) from rung) as done`;

/** A sweep as one would write it first: each tenant in force for a query of its own, on one connection. */
export const doorbellOneByOne: Contender = {
  ...base,
  name: "doorbell-one-by-one",
  settings: [{ name: "sweep", value: "one clamped query for each tenant", source: "ours: the plain way" }],
  install: (databaseUrl) => install(databaseUrl, {}),
  sweep: async (databaseUrl) => {
    const owner = new pg.Client(databaseUrl);
    await owner.connect();
    await owner.query("set role doorbell_owner");
    await owner.query("begin; select set_config('doorbell.tenant_id', '*', true)");
    const { rows: tenants } = await owner.query<{ tenant: string }>(
      "select tenant_id as tenant from doorbell.tenants union select tenant_id from doorbell.newcomers order by 1",
    );
    await owner.query("commit");
    let rung = 0;
    for (const { tenant } of tenants) {
      const { rows } = await owner.query<{ rung: number }>({
        name: "lost", // prepared: planned a few times and no more
        text: lostOfOneTenant,
        values: [tenant],
      });
      rung += rows[0]?.rung ?? 0;
    }
    await owner.end();
    return rung;
  },
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
