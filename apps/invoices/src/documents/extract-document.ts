// The door of the document reader: bytes in, an answer out, with everything hostile kept in child processes. Touches no
// database, no file and no network, and looks at nothing but the size of the bytes itself.
import { ParserChildError } from "./child/parser-child.ts";
import { ParserPool } from "./child/parser-pool.ts";
import { type Extraction, rejectedExtraction } from "./extraction.ts";
import { sniffKind } from "./kind.ts";
import { type Limits, resolveLimits } from "./limits.ts";
import { type RejectionCode, rejectionSentence } from "./rejection.ts";

export interface ExtractOptions {
  /** Aborting kills the child at once; the call then throws the signal's reason. */
  readonly signal?: AbortSignal;
  readonly limits?: Partial<Limits>;
}

const pool = new ParserPool();

/**
 * Reads one document. Safe to call concurrently: a few are read at a time, the rest wait. Resolves for every document,
 * however bad; throws only for what is worth another try (`ParserChildError`), or when aborted.
 */
export async function extractDocument(bytes: Uint8Array, options: ExtractOptions = {}): Promise<Extraction> {
  const limits = resolveLimits(options.limits);
  if (bytes.byteLength > limits.inputBytes) {
    return reject(bytes, "input_too_large", `${bytes.byteLength} bytes, at most ${limits.inputBytes}`);
  }
  const answer = await pool.read(bytes, limits, options.signal);
  switch (answer.type) {
    case "extraction":
      return answer.extraction;
    case "limit":
      return reject(bytes, answer.code);
    case "fault":
      throw new ParserChildError(`parser child failed: ${answer.message}`);
    case "ready":
      throw new ParserChildError("parser child answered out of turn");
  }
}

/** Ends all idle and busy parser children, at shutdown. */
export function closeParserChildren(): void {
  pool.close();
}

async function reject(bytes: Uint8Array, code: RejectionCode, detail?: string): Promise<Extraction> {
  return rejectedExtraction(await sniffKind(bytes), { code, message: rejectionSentence(code, detail) });
}
