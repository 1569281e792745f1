// What became of a child, as its parent is told.
import { hasBrand, putBrand } from "../core/brand.ts";
import { PermanentError } from "../core/outcome.ts";

/** How a child ended. `result` is what its handler returned; null for none. */
export type ChildOutcome =
  | { readonly id: string; readonly kind: string; readonly state: "done"; readonly result: unknown }
  | {
      readonly id: string;
      readonly kind: string;
      /** failed: a dead letter. gone: it settled, and its time was over before its parent asked. */
      readonly state: "failed" | "cancelled" | "discarded" | "gone";
      readonly error: string | null;
      readonly errorCode: string | null;
    };

export type FailedChild = Exclude<ChildOutcome, { readonly state: "done" }>;

const childFailedBrand = "child-failed";

/**
 * Thrown by `job.spawn` and `job.spawnAll` when all children have settled, and not all are done. No retry of the parent
 * mends it, so uncaught it makes the parent a dead letter: replay the child, then the parent.
 */
export class ChildFailed extends PermanentError {
  static {
    putBrand(ChildFailed.prototype, childFailedBrand);
    ChildFailed.prototype.name = "ChildFailed";
  }

  /** All that are not done, in order. At least one. */
  readonly children: readonly FailedChild[];

  constructor(children: readonly FailedChild[], of: number) {
    const [first] = children;
    const others = children.length > 1 ? ` (and ${children.length - 1} more of ${of})` : "";
    super(
      "child_failed",
      `child ${first?.id} of kind ${first?.kind} is ${first?.state}${others}: ${first?.error ?? "no error is on record"}`,
    );
    this.children = children;
  }

  /** The first that is not done. */
  get childId(): string {
    return this.children[0]?.id ?? "";
  }

  static override isInstance(value: unknown): value is ChildFailed {
    return hasBrand(value, childFailedBrand);
  }
}
