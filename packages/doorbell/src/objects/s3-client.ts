// The one place that knows the SDK of AWS for S3, an optional peer: five requests, and what their failures mean. What a
// failure says is told; the failure itself is not kept, as it carries the request and how it was signed.
import { Readable } from "node:stream";
import type { S3Client, S3ClientConfig } from "@aws-sdk/client-s3";
import { DoorbellError } from "../core/errors.ts";
import { safeText } from "../core/scrub.ts";
import type { Content } from "./content.ts";
import type { S3Settings } from "./s3-url.ts";

type Sdk = typeof import("@aws-sdk/client-s3");

export type ImportS3 = () => Promise<unknown>;

/** Throws peer_missing, with the way out. */
export async function loadS3(importPeer: ImportS3 = () => import("@aws-sdk/client-s3")): Promise<Sdk> {
  let loaded: unknown;
  try {
    loaded = await importPeer();
  } catch (cause) {
    const message = "objects in s3: need @aws-sdk/client-s3: npm install @aws-sdk/client-s3";
    throw new DoorbellError("peer_missing", message, { cause });
  }
  if (typeof (loaded as Partial<Sdk>).S3Client !== "function")
    throw new DoorbellError("peer_missing", "this @aws-sdk/client-s3 has no S3Client; install version 3 or newer");
  return loaded as Sdk;
}

/** What became of a write that must not replace anything. */
export type Written = "created" | "taken" | "again" | "unsupported";

/** Keys are whole: prefix and path. */
export class S3Requests {
  readonly #sdk: Sdk;
  readonly #settings: S3Settings;
  readonly #client: S3Client;

  constructor(sdk: Sdk, settings: S3Settings) {
    this.#sdk = sdk;
    this.#settings = settings;
    const config: S3ClientConfig = {
      forcePathStyle: settings.pathStyle,
      // Every reading is compared with our own hash, and every upload is signed over its own; CRCs of the SDK would be a
      // third opinion, and travel in a form (aws-chunked) that not all services understand.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: { connectionTimeout: Math.min(5_000, settings.timeoutMs), socketTimeout: settings.timeoutMs },
      ...(settings.region !== null && { region: settings.region }),
      ...(settings.endpoint !== null && { endpoint: settings.endpoint }),
    };
    this.#client = new sdk.S3Client(config);
  }

  close(): void {
    this.#client.destroy();
  }

  async exists(key: string): Promise<boolean> {
    const command = new this.#sdk.HeadObjectCommand({ Bucket: this.#settings.bucket, Key: key });
    try {
      await this.#client.send(command);
      return true;
    } catch (error) {
      if (isMissing(error)) return false;
      throw this.#told(error);
    }
  }

  /** The body, which has to be read or destroyed, or null. It fails when the signal aborts. */
  async read(key: string, signal: AbortSignal | null): Promise<Readable | null> {
    const command = new this.#sdk.GetObjectCommand({ Bucket: this.#settings.bucket, Key: key });
    try {
      const { Body } = await this.#client.send(command, signal === null ? {} : { abortSignal: signal });
      if (!(Body instanceof Readable)) throw new Error("the answer has no body that can be read");
      return Body;
    } catch (error) {
      if (isMissing(error)) return null;
      throw this.#told(error);
    }
  }

  async *pieces(body: Readable): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of body) yield piece;
    } catch (error) {
      throw this.#told(error);
    }
  }

  /**
   * `ifNew`: creates the object or leaves it. "again": another write of it was under way, and nobody knows yet which of
   * them counts. "unsupported": the service knows no such condition, and says so.
   */
  async write(key: string, content: Content, ifNew: boolean): Promise<Written> {
    const { bucket, checksum } = this.#settings;
    const stopped = new AbortController();
    const body = content.bytes ?? Readable.from(content.pieces(), { objectMode: false });
    // The SDK pipes it, so that nobody else would hear of its failing.
    if (body instanceof Readable) body.on("error", () => stopped.abort());
    const command = new this.#sdk.PutObjectCommand({
      Bucket: bucket,
      Key: key,
      Body: body,
      ContentLength: content.size,
      ContentType: "application/octet-stream",
      Metadata: { sha256: content.sha256, size: String(content.size) },
      ...(checksum && { ChecksumSHA256: Buffer.from(content.sha256, "hex").toString("base64") }),
      ...(ifNew && { IfNoneMatch: "*" }),
    });
    // A stream would be sent unsigned otherwise, and bytes in memory be hashed once more.
    command.middlewareStack.add(
      (next) => (args) => {
        const { headers } = args.request as { readonly headers: Record<string, string> };
        headers["x-amz-content-sha256"] = content.sha256;
        return next(args);
      },
      { step: "build", name: "contentSha256" },
    );
    try {
      await this.#client.send(command, { abortSignal: stopped.signal });
      return "created";
    } catch (error) {
      const { status, name } = factsOf(error);
      if (ifNew && status === 412) return "taken";
      if (ifNew && (status === 501 || name === "NotImplemented")) return "unsupported";
      if (ifNew && status === 409) return "again";
      throw this.#told(body instanceof Readable ? (body.errored ?? error) : error);
    } finally {
      if (body instanceof Readable) body.destroy();
    }
  }

  /** Keys that begin with `prefix` and come after `after`, in byte order. Fewer than `max` only if there are no more. */
  async list(prefix: string, after: string | null, max: number): Promise<readonly string[]> {
    const keys: string[] = [];
    for (let token: string | undefined; ; ) {
      const command = new this.#sdk.ListObjectsV2Command({
        Bucket: this.#settings.bucket,
        Prefix: prefix,
        MaxKeys: max - keys.length,
        ...(token !== undefined ? { ContinuationToken: token } : after !== null && { StartAfter: after }),
      });
      try {
        const answer = await this.#client.send(command);
        for (const { Key } of answer.Contents ?? []) if (Key !== undefined) keys.push(Key);
        token = answer.IsTruncated ? answer.NextContinuationToken : undefined;
      } catch (error) {
        throw this.#told(error);
      }
      if (token === undefined || keys.length >= max) return keys;
    }
  }

  /** What a person can do about it. */
  #told(error: unknown): Error {
    if (DoorbellError.isInstance(error)) return error;
    const { bucket, prefix, region, endpoint, timeoutMs } = this.#settings;
    const { name, status, code, message } = factsOf(error);
    const where = endpoint === null ? `S3${region === null ? "" : ` in ${region}`}` : new URL(endpoint).host;
    const say = (text: string): Error => new Error(`s3: ${text}`);
    if (name === "TimeoutError") return say(`${where} was silent for ${timeoutMs} ms`);
    if (name === "CredentialsProviderError")
      return say(
        "no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the process a role",
      );
    if (refusedCredentials.has(name)) return say(`${where} does not accept the credentials (${name}); renew them`);
    if (name === "NoSuchBucket") return say(`there is no bucket ${bucket} at ${where}; make it, or name another`);
    if (status === 301 || elsewhere.has(name))
      return say(`bucket ${bucket} is in another region; name it with region= in the URL`);
    if (name === "InvalidObjectState") return say("the object is archived, and has to be restored first");
    if (status === 403)
      return say(
        `access to bucket ${bucket} is denied; the role needs s3:GetObject and s3:PutObject on ${bucket}/${prefix}* and s3:ListBucket on ${bucket}, without which a missing object looks like a forbidden one${/\barn:/.test(message) ? ` (${safeText(message, 300)})` : ""}`,
      );
    if (/^Region is missing/.test(message)) return say("no region is named; add region= to the URL, or set AWS_REGION");
    if (code !== "") return say(`${where} could not be reached, or left in the middle (${code})`);
    return say(safeText(`${name}${status === null ? "" : ` (HTTP ${status})`}: ${message}`, 300));
  }
}

const refusedCredentials: ReadonlySet<string> = new Set([
  "InvalidAccessKeyId",
  "SignatureDoesNotMatch",
  "ExpiredToken",
  "InvalidToken",
  "TokenRefreshRequired",
  "RequestTimeTooSkewed",
]);
const elsewhere: ReadonlySet<string> = new Set(["PermanentRedirect", "AuthorizationHeaderMalformed"]);

interface Facts {
  readonly name: string;
  readonly status: number | null;
  /** Of the network: ECONNREFUSED, … */
  readonly code: string;
  readonly message: string;
}

function factsOf(error: unknown): Facts {
  const { name, code, message, $metadata } = (error ?? {}) as {
    readonly name?: unknown;
    readonly code?: unknown;
    readonly message?: unknown;
    readonly $metadata?: { readonly httpStatusCode?: number };
  };
  return {
    name: typeof name === "string" ? name : "error",
    status: $metadata?.httpStatusCode ?? null,
    code: typeof code === "string" && /^[A-Z_0-9]{3,40}$/.test(code) ? code : "",
    message: typeof message === "string" ? message : "",
  };
}

function isMissing(error: unknown): boolean {
  const { status, name } = factsOf(error);
  return status === 404 && name !== "NoSuchBucket";
}
