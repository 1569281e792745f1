// Whether the server keeps what it has been given, row-level security is in force as it is written, nobody listens on the
// way, and clocks agree. Judges facts that inspect-server.ts has brought.
import { isLoopback, type Settings } from "../config/settings.ts";
import { databaseEncrypts, databaseHost } from "../store/database.ts";
import type { ServerFacts, SessionSetting, SweeperFacts } from "../store/inspect-server.ts";
import type { Finding } from "./finding.ts";

const oldest = 150_000;
/** By major version: the first that has every correction to row-level security that we know of (the last was CVE-2025-8713). */
const soundSince: Readonly<Record<number, number>> = { 15: 150_014, 16: 160_010, 17: 170_006 };

export function checkServer(facts: ServerFacts): readonly Finding[] {
  return [...ofVersion(facts.version), ...facts.settings.flatMap((setting) => ofSetting(setting, facts))];
}

function ofVersion(version: number): readonly Finding[] {
  const major = Math.floor(version / 10_000);
  const name = `PostgreSQL ${major}.${version % 10_000}`;
  if (version < oldest) {
    return [
      {
        code: "server_too_old",
        severity: "refuse",
        subject: name,
        message: `the server is ${name}: Doorbell needs 15 or newer`,
        mend: "move the database to PostgreSQL 15 or newer",
      },
    ];
  }
  const sound = soundSince[major];
  if (sound === undefined || version >= sound) return [];
  return [
    {
      code: "server_unpatched",
      severity: "warn",
      subject: name,
      message: `the server is ${name}, whose row-level security has holes that ${major}.${sound % 10_000} has not`,
      mend: `update the server to the newest ${major}, at least ${major}.${sound % 10_000}`,
    },
  ];
}

/** What each has to be, and what it means that it is not. */
const wanted: Readonly<Record<string, { readonly is: (value: string) => boolean; readonly otherwise: string }>> = {
  row_security: { is: (value) => value === "on", otherwise: "every statement fails that a policy would have narrowed" },
  session_replication_role: {
    is: (value) => value === "origin",
    otherwise: "foreign keys and triggers are not minded",
  },
  role: {
    is: (value) => value === "none",
    otherwise: "RESET ROLE undoes it, so the login's own rights are what counts",
  },
  fsync: { is: (value) => value === "on", otherwise: "a crash of the machine can destroy the database" },
  full_page_writes: { is: (value) => value === "on", otherwise: "a crash of the machine can destroy the database" },
  synchronous_commit: {
    is: (value) => value !== "off",
    otherwise:
      "what has been answered as committed may be gone after a crash, also the record of an effect that has happened",
  },
};

/** Only the whole server's, and only in its files. */
const ofTheServer: ReadonlySet<string> = new Set(["fsync", "full_page_writes"]);
const ofDurability: ReadonlySet<string> = new Set([...ofTheServer, "synchronous_commit"]);

function ofSetting({ name, value }: SessionSetting, { database, login }: ServerFacts): readonly Finding[] {
  const rule = wanted[name];
  if (rule === undefined || rule.is(value)) return [];
  const mine = `alter role ${login} reset ${name}; alter role ${login} in database ${database} reset ${name}`;
  // The server's own value may be the fault, and only the database is sure to be somebody's to set.
  const mend =
    name === "synchronous_commit"
      ? `${mine}; alter database ${database} set ${name} = on`
      : `${mine}; alter database ${database} reset ${name}`;
  return [
    {
      code: ofDurability.has(name) ? "durability_off" : "session_setting",
      severity: "refuse",
      subject: name,
      message: `${name} is ${value} for this login: ${rule.otherwise}`,
      mend: ofTheServer.has(name) ? `alter system set ${name} = on; select pg_reload_conf()` : mend,
    },
  ];
}

const mostMs = 5_000;

/** `beforeMs`, `afterMs`: by this process's clock, around the question. Between them the answer may be from any moment. */
export function checkClock(serverMs: number, beforeMs: number, afterMs: number): readonly Finding[] {
  const apartMs = Math.max(beforeMs - serverMs, serverMs - afterMs);
  if (apartMs <= mostMs) return [];
  const which = serverMs < beforeMs ? "behind" : "ahead of";
  return [
    {
      code: "clock_apart",
      severity: "warn",
      subject: "clock",
      message: `the server's clock is ${Math.round(apartMs / 1000)} s ${which} this process's: leases and run_after go by the server's, and log lines by the process's`,
      mend: "let both machines keep their clocks by NTP",
    },
  ];
}

/** Both ways on which rows may travel: from this process, and from whoever stands between to Postgres. */
export function checkEncryption(
  { databaseAllowPlaintext, directDatabaseUrl }: Settings,
  databaseUrl: string,
  { encrypted, local }: Pick<ServerFacts, "encrypted" | "local">,
): readonly Finding[] {
  if (databaseAllowPlaintext) return [];
  const plain = (url: string | null): boolean =>
    url !== null && !isLoopback(databaseHost(url)) && !databaseEncrypts(url);
  const findings: Finding[] = [];
  const found = (subject: string, message: string, mend: string): void => {
    const declared = "on a network that nobody else is on: DOORBELL_DATABASE_ALLOW_PLAINTEXT=1";
    findings.push({ code: "database_unencrypted", severity: "refuse", subject, message, mend: `${mend}; ${declared}` });
  };
  for (const [name, url] of [
    ["DATABASE_URL", databaseUrl],
    ["DATABASE_DIRECT_URL", directDatabaseUrl],
  ] as const) {
    if (plain(url))
      found(
        name,
        `${name} leaves this machine without TLS: tenants' rows can be read on the way`,
        `add sslmode=verify-full to ${name}`,
      );
  }
  if (!encrypted && !local && findings.length === 0) {
    found(
      "pooler",
      "what stands before Postgres talks to it over the network without TLS: tenants' rows can be read on the way",
      "let it connect with TLS (PgBouncer: server_tls_sslmode = verify-full)",
    );
  }
  return findings;
}

/** Null: the login may not look. */
export function checkSweepers(facts: SweeperFacts | null): readonly Finding[] {
  if (facts === null || facts.mayItself || facts.alive || facts.lastSeenAt === null) return [];
  return [
    {
      code: "sweeper_missing",
      severity: "warn",
      subject: "doorbell.workers",
      message: `nobody sweeps: this login may not, and the last worker was seen at ${facts.lastSeenAt.toISOString()}: jobs are taken in, and wait`,
      mend: "doorbell start --role worker",
    },
  ];
}
