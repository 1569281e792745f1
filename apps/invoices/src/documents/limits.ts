// What one document may cost: every bound of the reader in one place, with its unit and its reason. The parent holds
// time and bytes received, the child's watchdog holds memory, the readers hold the rest; all of them measure what is
// produced, never what the document claims to be.

/** The bounds for one document. Numbers are inclusive: a document at the bound is still read. */
export interface Limits {
  /** Wall-clock time from hand-over to answer. A good document takes well under a second. */
  readonly timeMs: number;
  /** The JavaScript heap of the child (`--max-old-space-size`). */
  readonly heapMegabytes: number;
  /** Resident memory of the child: it also sees the buffers that the heap limit does not. */
  readonly rssMegabytes: number;
  /** The document as received. */
  readonly inputBytes: number;
  /** The answer of the child, as JSON. */
  readonly outputBytes: number;
  /** Pages whose text is read; a document cut off here is never accepted on its text. */
  readonly pagesRead: number;
  /** Pages a document may have at all. */
  readonly pagesMax: number;
  /** Characters of text taken from all pages together. */
  readonly textChars: number;
  /** One picture once decoded, judged by the size that it declares. An A3 scan in colour at 600 dpi has 200 MB. */
  readonly pictureBytes: number;
  /** Nesting of XML elements; EN 16931 documents stay below 15. */
  readonly xmlDepth: number;
  /** XML elements in one document. */
  readonly xmlElements: number;
  /** MIME parts of one e-mail, the containers included. */
  readonly emailParts: number;
  /** Nesting of MIME parts, and of forwarded messages in each other. A signed mail with pictures in its text has 4. */
  readonly emailDepth: number;
  /** Header bytes of all MIME parts together. */
  readonly emailHeaderBytes: number;
}

/** The bounds in force unless the caller narrows or widens them. */
export const defaultLimits: Limits = {
  timeMs: 30_000,
  heapMegabytes: 256,
  rssMegabytes: 512,
  inputBytes: 20 * 1024 * 1024,
  outputBytes: 1024 * 1024,
  pagesRead: 20,
  pagesMax: 200,
  textChars: 200_000,
  pictureBytes: 256 * 1024 * 1024,
  xmlDepth: 60,
  xmlElements: 200_000,
  emailParts: 20,
  emailDepth: 8,
  emailHeaderBytes: 256 * 1024,
};

/** Fills the gaps of a partial set of limits from the defaults. */
export function resolveLimits(limits: Partial<Limits> = {}): Limits {
  return { ...defaultLimits, ...limits };
}
