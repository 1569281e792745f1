// The contract between Bucket and the places that hold bytes. Bucket owns every rule about tenants, keys, hashes,
// limits and immutability; a driver only moves bytes under names that Bucket has made.
//
// A path consists of lower-case hex segments joined by "/", with at most one "." in the last: it holds nothing of a
// user's text, so no driver has to escape anything. Errors are thrown as they come; Bucket turns them into operating
// errors. A driver retries nothing itself and keeps no reference to the bytes it was given or gave.
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
   * concurrent calls for one path exactly one answers true. When it resolves, the whole entry is readable by every
   * process that uses the same bucket, and durable if the bucket is; before, and if the process dies, none of it is.
   */
  put(path: string, bytes: Uint8Array): Promise<boolean>;

  /**
   * The entry's bytes, or null if there is none. Of an entry that is larger than `maxBytes`, at least its first
   * `maxBytes + 1` bytes: enough to see that it is too large, without holding all of it.
   */
  get(path: string, maxBytes: number): Promise<Uint8Array | null>;

  /**
   * Paths of entries below a folder (whole segments, without the last "/") in byte order: at most `max` of those that come
   * after `after`, "" for the first. Entries that are created meanwhile may be among them or not.
   */
  list(folder: string, after: string, max: number): Promise<readonly string[]>;

  /** Frees what the driver holds open. No other call follows. Harmless when called twice. */
  close(): Promise<void>;
}
