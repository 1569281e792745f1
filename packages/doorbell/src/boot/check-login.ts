// Whether row-level security binds the login, and whether the login may do its role's work.
import type { Role } from "../app.ts";
import type { Tx } from "../store/database.ts";
import { functionsNotGranted, inspectLogin, type LoginFacts } from "../store/inspect.ts";
import type { Finding } from "./finding.ts";

/** Of each group that a role needs: a function that is granted to it, and to none of the lesser. */
const needed: Readonly<Record<Role, Readonly<Record<string, string>>>> = {
  web: { doorbell_web: "beat" },
  worker: { doorbell_worker: "tick" },
  all: { doorbell_web: "beat", doorbell_worker: "tick" },
};

export async function checkLogin(tx: Tx): Promise<readonly Finding[]> {
  const facts = await inspectLogin(tx);
  const findings: Finding[] = [];
  if (facts.embedded) {
    findings.push({
      code: "embedded_server",
      severity: "refuse",
      subject: "DATABASE_URL",
      message:
        "the server is the embedded one: it trusts every local process, and ends with the process that started it",
      mend: "set DATABASE_URL to a Postgres of its own",
    });
  }
  for (const owner of facts.unboundOwners) {
    findings.push({
      code: "owner_unbound",
      severity: "refuse",
      subject: owner,
      message: `role ${owner} owns tables or functions of Doorbell, and row-level security does not bind it: our functions would act for every tenant`,
      mend: owner === "doorbell_owner" ? `alter role ${owner} nosuperuser nobypassrls` : handOver(owner),
    });
  }
  return [...findings, ...unboundBy(facts)];
}

/** Makes doorbell_owner the owner of what this role owns in schema doorbell. */
function handOver(owner: string): string {
  const own = `(select oid from pg_roles where rolname = '${owner.replaceAll("'", "''")}')`;
  const ours = "(select oid from pg_namespace where nspname = 'doorbell')";
  return [
    "do $$ declare one text; begin",
    `for one in select format('%s %s', case relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' when 'f' then 'foreign table' else 'table' end, oid::regclass) from pg_class where relnamespace = ${ours} and relowner = ${own} and relkind in ('r', 'p', 'v', 'm', 'S', 'f')`,
    `union all select format('function %s', oid::regprocedure) from pg_proc where pronamespace = ${ours} and proowner = ${own}`,
    "loop execute format('alter %s owner to doorbell_owner', one); end loop; end $$",
  ].join(" ");
}

function unboundBy(facts: LoginFacts): readonly Finding[] {
  const { name } = facts;
  const refuse = (code: Finding["code"], message: string, mend: string): Finding => ({
    code,
    severity: "refuse",
    subject: name,
    message,
    mend,
  });
  if (facts.superuser) {
    // A superuser is a member of every role: the rest follows from it.
    return [
      refuse(
        "login_superuser",
        `login ${name} is a superuser: row-level security does not bind it, so nothing keeps tenants apart`,
        "create role app login; grant doorbell_web, doorbell_worker to app -- and name app in DATABASE_URL",
      ),
    ];
  }
  const findings: Finding[] = [];
  if (facts.bypassesRls) {
    findings.push(
      refuse(
        "login_bypasses_rls",
        `login ${name} has BYPASSRLS: row-level security does not bind it, so nothing keeps tenants apart`,
        `alter role ${name} nobypassrls`,
      ),
    );
  }
  if (facts.replicates) {
    findings.push(
      refuse(
        "login_attributes",
        `login ${name} has REPLICATION: it may read the write-ahead log, where every tenant's rows are`,
        `alter role ${name} noreplication`,
      ),
    );
  }
  for (const owner of facts.ownersOfOurs) {
    findings.push(
      refuse(
        "login_owns_tables",
        `login ${name} is, or may become, ${owner}, which owns tables of Doorbell: it could switch their policies off`,
        owner === "doorbell_owner"
          ? `revoke doorbell_owner from ${name} -- and let another login migrate`
          : handOver(owner),
      ),
    );
  }
  if (facts.dangerousRoles.length > 0) {
    const roles = facts.dangerousRoles.join(", ");
    findings.push(
      refuse(
        "login_may_become",
        `login ${name} may become ${roles}, which gets past row-level security: by its attributes, the server's files, or a right on every table`,
        `revoke ${roles} from ${name}; alter role ${name} nocreaterole`,
      ),
    );
  } else if (facts.attributes.length > 0) {
    findings.push({
      code: "login_attributes",
      severity: "warn",
      subject: name,
      message: `login ${name} has ${facts.attributes.join(" and ").toUpperCase()}: no process of Doorbell needs it`,
      mend: `alter role ${name} ${facts.attributes.map((one) => `no${one}`).join(" ")}`,
    });
  }
  return findings;
}

export async function checkRights(tx: Tx, role: Role): Promise<readonly Finding[]> {
  const groups = needed[role];
  const missing = new Set(await functionsNotGranted(tx, Object.values(groups)));
  const { name } = await inspectLogin(tx);
  return Object.entries(groups)
    .filter(([, fn]) => missing.has(fn))
    .map(([group, fn]) => ({
      code: "login_lacks_rights",
      severity: "refuse",
      subject: name,
      message: `login ${name} cannot do the work of role ${role}: it may not call doorbell.${fn}`,
      mend: `grant ${group} to ${name}`,
    }));
}
