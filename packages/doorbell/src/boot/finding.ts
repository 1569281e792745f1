// What a check has found: a fact, what it means, and what puts it right. Findings are data, so that the boot, the doctor's
// table and its JSON say the same.

export type FindingCode =
  | "check_failed"
  | "claims_nothing"
  | "clamp_stays"
  | "clock_apart"
  | "database_missing"
  | "database_unencrypted"
  | "database_unreachable"
  | "default_privileges"
  | "definer_unbound"
  | "definer_unpinned"
  | "durability_off"
  | "embedded_server"
  | "enum_column"
  | "function_leakproof"
  | "function_owner"
  | "function_public"
  | "login_attributes"
  | "login_bypasses_rls"
  | "login_lacks_rights"
  | "login_may_become"
  | "login_owns_tables"
  | "login_superuser"
  | "objects_not_durable"
  | "objects_unusable"
  | "owner_unbound"
  | "policy_cast"
  | "policy_frozen"
  | "policy_missing"
  | "policy_movable"
  | "policy_open"
  | "policy_strict"
  | "pooler_splits"
  | "pooler_too_old"
  | "pooler_unknown"
  | "queue_in_process"
  | "reference_without_tenant"
  | "role_memberships"
  | "rows_unguarded"
  | "schema_ahead"
  | "schema_behind"
  | "schema_missing"
  | "search_path_open"
  | "secret_keys_missing"
  | "sequence_grants"
  | "server_too_old"
  | "server_unpatched"
  | "session_setting"
  | "setting_unknown"
  | "sweeper_missing"
  | "table_grants"
  | "table_leaks"
  | "table_missing"
  | "table_policies"
  | "table_published"
  | "table_raises"
  | "table_readable"
  | "table_unforced"
  | "table_unlogged"
  | "temporary_tables"
  | "tenancy_login"
  | "tenancy_unproven"
  | "tenancy_unsigned"
  | "tenant_column_empty"
  | "tenant_column_missing"
  | "tenant_column_nullable"
  | "tenant_column_type"
  | "unique_without_tenant"
  | "view_as_owner"
  | "webhooks_private";

export interface Finding {
  readonly code: FindingCode;
  /** Production does not start with "refuse". */
  readonly severity: "refuse" | "warn";
  /** What it was found on: a variable, a login, a table. */
  readonly subject: string;
  /** The fact and what it means; lower case, without a full stop. */
  readonly message: string;
  /** SQL that may be run as it is, by whoever owns what it is about; or a command or a setting. */
  readonly mend: string;
}
