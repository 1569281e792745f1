// Entry point `doorbell-jobs/testing`: a database for a test, handlers that are run twice, jobs without a worker, queues as they are on bad days, and the suite that a queue
// driver of one's own has to pass.
export { createTestDatabase, startTestServer, type TestDatabase } from "./database.ts";
export { type EnqueuedJob, type EnqueuedMatcher, expectEnqueued } from "./expect-enqueued.ts";
export { type Drained, drain, type Inline, type InlineOptions, inline } from "./inline.ts";
export { makeDue } from "./make-due.ts";
export { sideEffect } from "./outside-calls.ts";
export { queueFaultTests } from "./queue-faults.ts";
export type { QueueNeed, QueuePlace, QueueTest, QueueUnderTest } from "./queue-place.ts";
export { suiteLanes } from "./queue-place.ts";
export { queueTests } from "./queue-suite.ts";
export {
  type Cut,
  RunTwiceFailed,
  type RunTwiceJob,
  type RunTwiceOptions,
  type RunTwiceReport,
  runTwice,
} from "./run-twice.ts";
export { type UnreliableQueueOptions, unreliableQueue } from "./unreliable-queue.ts";
