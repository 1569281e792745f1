// How the built-in transports (HTTP, SMTP) say what became of a request, so that the ledger can tell the three apart:
// it happened, it provably did not, nobody can know. Guessing between the last two is what these types exist to prevent.
/** It did not happen: safe to do again. */
export interface NotDone {
  readonly outcome: "not_done";
  /** For people: bounded, scrubbed, without the path of the URL. */
  readonly reason: string;
  /** The other side said when to come back. */
  readonly retryAfterMs?: number;
  /** Doing the same again cannot help. */
  readonly permanent?: true;
}

/** It may have happened: the request went out, and no answer says what became of it. */
export interface Unknown {
  readonly outcome: "unknown";
  readonly reason: string;
}
