// The contract between Bucket and the places that hold bytes. Bucket owns every rule about tenants, keys, hashes,
// limits and immutability; a driver only moves bytes under names that Bucket has made.
//
// A path consists of lower-case hex segments joined by "/", with at most one "." in the last: it holds nothing of a
// user's text, so no driver has to escape anything. Errors are thrown as they come; Bucket turns them into operating
// errors, but for those that are one already. A driver keeps no reference to the bytes it was given or gave.
import type { Content } from "./content.ts";

/** What a driver can do, as data. */
export interface BucketCapabilities {
  /** What was put survives the end of this process. Production refuses a bucket that does not. */
  readonly durable: boolean;
}

export interface BucketDriver {
  /** For messages and metrics: "file", "memory", … */
  readonly name: string;
  readonly capabilities: BucketCapabilities;

  /**
   * Creates the entry, or finds that there is one: true if this call created it. Never changes an existing entry. Of
   * concurrent calls for one path at most one answers true; none does where the answer to whoever created it was lost
   * on the way. When it resolves, the whole entry is readable by every process that uses the same bucket, and durable
   * if the bucket is; before, and if the process dies, none of it is.
   */
  put(path: string, content: Content): Promise<boolean>;

  /**
   * The entry's bytes in pieces, as they come, or null if there is none. Whoever asked begins to read at once, and may
   * stop at any time; what was held open is free then. When the signal aborts, reading fails soon.
   */
  get(path: string, signal: AbortSignal | null): Promise<AsyncIterable<Uint8Array> | null>;

  /**
   * Paths of entries below a folder (whole segments, without the last "/") in byte order: at most `max` of those that come
   * after `after`, "" for the first; none only if there are no more. Entries that are created meanwhile may be among
   * them or not.
   */
  list(folder: string, after: string, max: number): Promise<readonly string[]>;

  /** Rejects if the place cannot be written to and read from now, with what would mend it. */
  check(): Promise<void>;

  /** Frees what the driver holds open. No other call follows. Harmless when called twice. */
  close(): Promise<void>;
}
