// Operating errors: what a caller of Doorbell can meet and act upon, each with one code from a closed union.
// Owns the codes and the one table that says what a code means for a retry, an HTTP answer and an exit code.
// Handler failures are not here (outcome.ts): they are the application's, not ours.
import { hasBrand, putBrand } from "./brand.ts";

/** The closed set of codes. Programs act upon the code, never upon the message. */
export type ErrorCode =
  | "payload_invalid"
  | "payload_too_large"
  | "value_not_storable"
  | "tenant_invalid"
  | "key_invalid"
  | "option_invalid"
  | "tenant_mismatch"
  | "lane_unknown"
  | "job_not_found"
  | "job_not_final"
  | "job_final"
  | "ledger_gone"
  | "object_missing"
  | "object_mismatch"
  | "object_conflict"
  | "object_too_large"
  | "objects_unavailable"
  | "lease_lost"
  | "effect_conflict"
  | "effect_in_doubt"
  | "step_conflict"
  | "endpoint_not_found"
  | "transaction_rolled_back"
  | "commit_unknown"
  | "serialization_failure"
  | "database_unavailable"
  | "schema_version"
  | "boot_refused"
  | "queue_unavailable"
  | "peer_missing"
  | "closed";

/** What a code means to those who only look at the code. */
export interface ErrorTraits {
  /** The same call may succeed later without any change by the caller. */
  readonly retryable: boolean;
  readonly httpStatus: number;
  /** 1 failed, 2 usage (the caller's input), 78 refused (the deployment has to change). */
  readonly exitCode: number;
}

const exitFailed = 1;
const exitUsage = 2;
const exitRefused = 78;

/** From code to traits, for every code. */
export const errorTable: Readonly<Record<ErrorCode, ErrorTraits>> = {
  payload_invalid: { retryable: false, httpStatus: 422, exitCode: exitUsage },
  payload_too_large: { retryable: false, httpStatus: 413, exitCode: exitUsage },
  value_not_storable: { retryable: false, httpStatus: 422, exitCode: exitUsage },
  tenant_invalid: { retryable: false, httpStatus: 422, exitCode: exitUsage },
  key_invalid: { retryable: false, httpStatus: 422, exitCode: exitUsage },
  option_invalid: { retryable: false, httpStatus: 422, exitCode: exitUsage },
  tenant_mismatch: { retryable: false, httpStatus: 403, exitCode: exitFailed },
  lane_unknown: { retryable: false, httpStatus: 422, exitCode: exitUsage },
  job_not_found: { retryable: false, httpStatus: 404, exitCode: exitFailed },
  job_final: { retryable: false, httpStatus: 409, exitCode: exitFailed },
  job_not_final: { retryable: false, httpStatus: 409, exitCode: exitFailed },
  ledger_gone: { retryable: false, httpStatus: 410, exitCode: exitFailed },
  object_missing: { retryable: false, httpStatus: 404, exitCode: exitFailed },
  object_mismatch: { retryable: false, httpStatus: 409, exitCode: exitFailed },
  object_conflict: { retryable: false, httpStatus: 409, exitCode: exitFailed },
  object_too_large: { retryable: false, httpStatus: 413, exitCode: exitUsage },
  objects_unavailable: { retryable: true, httpStatus: 503, exitCode: exitFailed },
  lease_lost: { retryable: false, httpStatus: 409, exitCode: exitFailed },
  effect_conflict: { retryable: false, httpStatus: 409, exitCode: exitFailed },
  step_conflict: { retryable: false, httpStatus: 409, exitCode: exitFailed },
  effect_in_doubt: { retryable: false, httpStatus: 409, exitCode: exitFailed },
  endpoint_not_found: { retryable: false, httpStatus: 404, exitCode: exitFailed },
  transaction_rolled_back: { retryable: false, httpStatus: 409, exitCode: exitFailed },
  commit_unknown: { retryable: true, httpStatus: 503, exitCode: exitFailed },
  serialization_failure: { retryable: true, httpStatus: 409, exitCode: exitFailed },
  database_unavailable: { retryable: true, httpStatus: 503, exitCode: exitFailed },
  schema_version: { retryable: false, httpStatus: 503, exitCode: exitRefused },
  boot_refused: { retryable: false, httpStatus: 503, exitCode: exitRefused },
  queue_unavailable: { retryable: true, httpStatus: 503, exitCode: exitFailed },
  peer_missing: { retryable: false, httpStatus: 500, exitCode: exitRefused },
  closed: { retryable: false, httpStatus: 503, exitCode: exitFailed },
};

const errorBrand = "error";

/** An operating error. The message states facts with ids, in lower case; the cause, where there is one, is kept. */
export class DoorbellError extends Error {
  static {
    putBrand(DoorbellError.prototype, errorBrand);
    DoorbellError.prototype.name = "DoorbellError";
  }

  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** True for an error of any copy of this package; with a code, only for that code. Never throws. */
  static isInstance(value: unknown, code?: ErrorCode): value is DoorbellError {
    return hasBrand(value, errorBrand) && (code === undefined || (value as DoorbellError).code === code);
  }

  get traits(): ErrorTraits {
    return errorTable[this.code];
  }
}
