// The public surface: what applications import. Embedded server and test harnesses have entry points of their own.
export type { App, AppOptions, Runtime } from "./app.ts";
export { defineApp } from "./app.ts";
export type { DoorbellOptions, EnqueueManyItem, Receipt } from "./client/client.ts";
export type { EnqueueOptions } from "./client/request.ts";
export {
  type DrizzleTransaction,
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromPg,
  fromPostgresJs,
  fromPrisma,
  fromTypeOrm,
  type KnexTransaction,
  type KyselyTransaction,
  type PgClient,
  type PostgresJsSql,
  type PrismaTransaction,
  type Tx,
  type TypeOrmManager,
} from "./client/tx.ts";
export { defaultLane, defineJob, type JobDefinition, type JobOptions } from "./core/definition.ts";
export type { Duration } from "./core/duration.ts";
export { DoorbellError, type ErrorCode } from "./core/errors.ts";
export { newId } from "./core/ids.ts";
export { type Cancel, cancel, PermanentError, RetryAfterError, type Snooze, snooze } from "./core/outcome.ts";
export { type Backoff, exponential, fixed, linear, type RetryPolicy } from "./core/retry.ts";
export { createDoorbell, type Doorbell, type MaintainedWorkerOptions } from "./doorbell.ts";
export type { EmailReceipt, EmailRequest } from "./effects/email.ts";
export { type EffectContext, EffectNotDone, type EffectOptions, type ProbeAnswer } from "./effects/ledger.ts";
export type { UsageOptions } from "./effects/usage.ts";
export type { WebhookEvent, WebhookReceipt, WebhookRequest } from "./effects/webhook.ts";
export type { EndpointReceipt } from "./effects/webhooks/fan-out.ts";
export { type Bucket, contentKey, type StoredObject } from "./objects/bucket.ts";
export type { Delivery, QueueCapabilities, QueueDriver, ReceiveRequest } from "./queue/driver.ts";
export { createLog, type Log, type LogLevel } from "./telemetry/log.ts";
export { createMetrics, type Metrics } from "./telemetry/metrics.ts";
export { ChildFailed, type ChildOutcome, type FailedChild } from "./worker/child-failed.ts";
export {
  type ChildOptions,
  type Handler,
  type HandlerFn,
  handle,
  type Job,
  type ReceivedEvent,
  type SpawnChild,
  type SpawnOptions,
  type SpawnPolicy,
  type WaitOptions,
} from "./worker/handler.ts";
export type { Health, Worker } from "./worker/worker.ts";
