// What parent and child say to each other. Requests go to the child's standard input as a length and the document;
// answers come back on a pipe of their own, one line of JSON each, so that whatever a library prints cannot be taken
// for one.
import type { Extraction } from "../extraction.ts";

/** The child's end of the pipe that carries answers. */
export const answerFd = 3;

export type Answer =
  /** The child has loaded and waits for its first document. */
  | { readonly type: "ready" }
  /** `heldBytes`: the memory that the child still holds, now that it is done with the document. */
  | { readonly type: "extraction"; readonly extraction: Extraction; readonly heldBytes: number }
  /** A fault of the program, not of the document: the job is tried again. */
  | { readonly type: "fault"; readonly message: string }
  /** The document took more than it may; the child is dead or about to die. */
  | { readonly type: "limit"; readonly code: LimitCode };

type LimitCode = "limit_time" | "limit_memory" | "limit_output";
