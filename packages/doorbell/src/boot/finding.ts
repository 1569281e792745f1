// What a check has found: a fact, what it means, and what puts it right. Findings are data, so that the boot, the doctor's
// table and its JSON say the same.

export type FindingCode =
  | "check_failed"
  | "clamp_stays"
  | "claims_nothing"
  | "database_missing"
  | "database_unreachable"
  | "embedded_server"
  | "login_bypasses_rls"
  | "login_lacks_rights"
  | "login_may_become"
  | "login_owns_tables"
  | "login_superuser"
  | "objects_not_durable"
  | "objects_unusable"
  | "owner_unbound"
  | "queue_in_process"
  | "schema_ahead"
  | "schema_behind"
  | "schema_missing"
  | "setting_unknown"
  | "table_policies"
  | "table_unforced"
  | "webhooks_private";

export interface Finding {
  readonly code: FindingCode;
  /** Production does not start with "refuse". */
  readonly severity: "refuse" | "warn";
  /** What it was found on: a variable, a login, a table. */
  readonly subject: string;
  /** The fact and what it means; lower case, without a full stop. */
  readonly message: string;
  /** SQL, a command or a setting. */
  readonly mend: string;
}
