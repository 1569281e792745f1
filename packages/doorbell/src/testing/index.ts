// Entry point `doorbell-jobs/testing`: a database for a test, queues as they are on bad days, and the suite that a queue
// driver of one's own has to pass.
export { createTestDatabase, type TestDatabase } from "./database.ts";
export { queueFaultTests } from "./queue-faults.ts";
export type { QueueNeed, QueuePlace, QueueTest, QueueUnderTest } from "./queue-place.ts";
export { suiteLanes } from "./queue-place.ts";
export { queueTests } from "./queue-suite.ts";
export { type UnreliableQueueOptions, unreliableQueue } from "./unreliable-queue.ts";
