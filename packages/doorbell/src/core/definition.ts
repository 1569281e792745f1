// A job definition: what the side that enqueues and the side that handles have in common, without the handler's
// dependencies. Pure data; it must never import a handler, a store or a queue.
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type Duration, toMs } from "./duration.ts";
import { DoorbellError } from "./errors.ts";
import { type RetryPolicy, resolveRetryPolicy } from "./retry.ts";
import { utf8Bytes } from "./text.ts";

/** The lane of jobs whose definition names none. */
export const defaultLane = "default";

/** What a lane may be called: it becomes part of names in Postgres and in brokers. */
export const laneForm: RegExp = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** Five minutes: longer than any healthy round trip, shorter than a person's patience with a stuck job. */
const defaultTimeout: Duration = "5m";

/**
 * A kind of job. `In` is what is enqueued, `Out` what the handler gets: they differ where the schema transforms. The
 * payload is stored as enqueued, and validated on both sides.
 */
export interface JobDefinition<In = unknown, Out = In> {
  readonly kind: string;
  readonly lane: string;
  readonly schema: StandardSchemaV1<In, Out> | null;
  readonly retry: RetryPolicy;
  readonly timeoutMs: number;
}

// biome-ignore lint/suspicious/noExplicitAny: definitions of different payloads in one list; `any` is what makes both variances fit.
export type AnyJobDefinition = JobDefinition<any, any>;

export interface JobOptions<Schema extends StandardSchemaV1> {
  /** 1 to 200 bytes; by convention `noun.verb`. It is stored with every job: renaming it orphans them. */
  readonly kind: string;
  /** Any Standard Schema (zod, valibot, arktype). Absent: any JSON. */
  readonly payload?: Schema;
  /** Where its doorbells go. Lower-case letters, digits, `-`, `_`; default "default". */
  readonly lane?: string;
  readonly retry?: Partial<RetryPolicy>;
  /** How long one attempt may take; default five minutes. Then its signal is aborted and the attempt has failed. */
  readonly timeout?: Duration;
}

/** Defines a kind of job. Throws DoorbellError option_invalid, naming the option. */
export function defineJob<Schema extends StandardSchemaV1 = StandardSchemaV1<unknown, unknown>>(
  options: JobOptions<Schema>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>, StandardSchemaV1.InferOutput<Schema>> {
  const lane = options.lane ?? defaultLane;
  if (typeof options.kind !== "string" || options.kind === "" || utf8Bytes(options.kind) > 200) {
    throw new DoorbellError("option_invalid", "a job's kind is text of 1 to 200 bytes");
  }
  if (!laneForm.test(lane)) {
    throw new DoorbellError(
      "option_invalid",
      `lane "${lane}" of job kind ${options.kind} is not made of a-z, 0-9, - and _ (at most 63)`,
    );
  }
  return Object.freeze({
    kind: options.kind,
    lane,
    schema: (options.payload ?? null) as JobDefinition<
      StandardSchemaV1.InferInput<Schema>,
      StandardSchemaV1.InferOutput<Schema>
    >["schema"],
    retry: resolveRetryPolicy(options.retry),
    timeoutMs: toMs(options.timeout ?? defaultTimeout, `timeout of job kind ${options.kind}`),
  });
}

/** The payload as the handler gets it. Throws DoorbellError payload_invalid, naming each path that does not match. */
export async function parsePayload<In, Out>(definition: JobDefinition<In, Out>, payload: unknown): Promise<Out> {
  if (definition.schema === null) return payload as Out;
  const answer = definition.schema["~standard"].validate(payload);
  const result = answer instanceof Promise ? await answer : answer;
  if (!result.issues) return result.value;
  const issues = result.issues.slice(0, 10).map((issue) => {
    const path = (issue.path ?? []).map((part) => String(typeof part === "object" ? part.key : part)).join(".");
    return path === "" ? issue.message : `${path}: ${issue.message}`;
  });
  throw new DoorbellError(
    "payload_invalid",
    `payload of job kind ${definition.kind} does not match its schema: ${issues.join("; ")}`,
  );
}
