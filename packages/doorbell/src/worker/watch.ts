// Where a process may die in the middle of an attempt, for harnesses that let it die there. Production has no watch.
import type { EffectWatch } from "../effects/watch.ts";
import type { ClaimedJob } from "../store/ticks.ts";

export interface WorkerWatch extends EffectWatch {
  /** The attempt is over, and nothing of that is written yet. Waited for. */
  settling(job: Pick<ClaimedJob, "tenant" | "id" | "attempt">): Promise<void>;
}
