// Work without a long-running worker: a function behind a queue, a container that a queue pushes to, or a process that a
// timer starts.
//
// Entry point `doorbell-jobs/lambda`.
export { type PushOptions, pushHandler } from "./push-handler.ts";
export { type RunOnceOptions, type RunReport, runOnce } from "./run-once.ts";
export {
  type LambdaContext,
  type SqsBatchResponse,
  type SqsEvent,
  type SqsHandler,
  sqsHandler,
} from "./sqs-handler.ts";
export type { Ends, VisitOptions } from "./visit.ts";
