// A small server on loopback that answers as S3 does, for what the emulator lacks: conditional writes, objects of any size,
// the check of an upload against the hashes that were sent with it, and bad days on demand. One bucket, in memory.
import { createHash } from "node:crypto";
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export type S3Failure =
  | { readonly status: number; readonly code: string; readonly message?: string }
  /** Takes the request and never answers. */
  | "silent"
  /** Ends the connection halfway through what takes more than one piece. */
  | "cut";

export interface S3Request {
  readonly method: string;
  readonly key: string;
  readonly headers: IncomingHttpHeaders;
}

const bucketName = "bucket";
const pieceBytes = 65_536;

/** It listens once `start` has resolved. Everything that is public may be looked at and changed while it runs. */
export class S3Server {
  readonly objects: Map<string, Buffer> = new Map();
  readonly requests: S3Request[] = [];
  conditions: "kept" | "ignored" | "refused" = "kept";
  /** Takes uploads, and keeps none. */
  forgetful = false;
  /** Bytes of objects that were sent, and readings that are under way. */
  sentBytes = 0;
  reading = 0;
  readonly #failures = new Map<string, { readonly failure: S3Failure; times: number }>();
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => refuse(response, 500, "InternalError", String(error)));
  });

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** An s3: URL with these settings. */
  url(path: string, settings = ""): string {
    const { port } = this.#server.address() as AddressInfo;
    return `s3://${bucketName}${path}?endpoint=http://127.0.0.1:${port}${settings}`;
  }

  /** The next requests of this method fail, all of them or so many. */
  fail(method: string, failure: S3Failure, times: number = Number.POSITIVE_INFINITY): void {
    this.#failures.set(method, { failure, times });
  }

  /** Everything is as at the beginning, but for the objects. */
  mend(): void {
    this.#failures.clear();
    this.requests.length = 0;
    this.conditions = "kept";
    this.forgetful = false;
    this.sentBytes = 0;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = "", headers } = request;
    const url = new URL(request.url ?? "", "http://localhost");
    const [, named, key = ""] = /^\/([^/]*)\/?(.*)$/.exec(decodeURIComponent(url.pathname)) ?? [];
    const body = await this.#bodyOf(request);
    this.requests.push({ method, key, headers });
    const failure = this.#failureOf(method);
    if (failure === "silent") return;
    if (failure !== null && failure !== "cut") refuse(response, failure.status, failure.code, failure.message);
    else if (named !== bucketName) refuse(response, 404, "NoSuchBucket");
    else if (!/^AWS4-HMAC-SHA256 /.test(headers.authorization ?? "")) refuse(response, 403, "AccessDenied");
    else if (method === "PUT") this.#put(key, headers, body, response);
    else if (url.searchParams.has("list-type")) this.#list(url.searchParams, response);
    else await this.#get(method, key, response, failure === "cut");
  }

  #failureOf(method: string): S3Failure | null {
    const planned = this.#failures.get(method);
    if (planned === undefined || planned.times === 0) return null;
    planned.times -= 1;
    return planned.failure;
  }

  async #bodyOf(request: IncomingMessage): Promise<{ readonly bytes: Buffer; readonly sha256: Buffer }> {
    const hash = createHash("sha256");
    const pieces: Buffer[] = [];
    for await (const piece of request) {
      hash.update(piece as Buffer);
      if (!this.forgetful) pieces.push(piece as Buffer);
    }
    return { bytes: Buffer.concat(pieces), sha256: hash.digest() };
  }

  #put(
    key: string,
    headers: IncomingHttpHeaders,
    body: { readonly bytes: Buffer; readonly sha256: Buffer },
    response: ServerResponse,
  ): void {
    const checksum = headers["x-amz-checksum-sha256"] ?? body.sha256.toString("base64");
    const conditions = headers["if-none-match"] === "*" ? this.conditions : "ignored";
    if (headers["x-amz-content-sha256"] !== body.sha256.toString("hex"))
      refuse(response, 400, "XAmzContentSHA256Mismatch");
    else if (checksum !== body.sha256.toString("base64")) refuse(response, 400, "BadDigest");
    else if (conditions === "refused") refuse(response, 501, "NotImplemented");
    else if (conditions === "kept" && this.objects.has(key)) refuse(response, 412, "PreconditionFailed");
    else {
      if (!this.forgetful) this.objects.set(key, body.bytes);
      response.writeHead(200, { etag: '"x"' }).end();
    }
  }

  async #get(method: string, key: string, response: ServerResponse, isCut: boolean): Promise<void> {
    const object = this.objects.get(key);
    if (object === undefined) {
      refuse(response, 404, "NoSuchKey");
      return;
    }
    response.writeHead(200, { "content-length": object.length, etag: '"x"' });
    const end = method === "HEAD" ? 0 : isCut && object.length > pieceBytes ? object.length / 2 : object.length;
    this.reading += 1;
    response.once("close", () => {
      this.reading -= 1;
    });
    for (let at = 0; at < end && !response.destroyed; at += pieceBytes) {
      const piece = object.subarray(at, Math.min(at + pieceBytes, end));
      this.sentBytes += piece.length;
      response.write(piece);
      while (response.writableNeedDrain && !response.destroyed) await sleep(1);
    }
    if (end < object.length && method !== "HEAD") response.destroy();
    else response.end();
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const after = query.get("continuation-token") ?? query.get("start-after") ?? "";
    const prefix = query.get("prefix") ?? "";
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort();
    // Pages are shorter than what was asked for, as those of S3 may be.
    const page = keys.slice(0, Math.min(Number(query.get("max-keys")), 7));
    const isMore = keys.length > page.length;
    const contents = page.map((key) => `<Contents><Key>${key}</Key></Contents>`).join("");
    const next = isMore ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : "";
    response.writeHead(200, { "content-type": "application/xml" });
    response.end(`<ListBucketResult><IsTruncated>${isMore}</IsTruncated>${next}${contents}</ListBucketResult>`);
  }
}

function refuse(response: ServerResponse, status: number, code: string, message = code): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { "content-type": "application/xml" });
  response.end(`<Error><Code>${code}</Code><Message>${message}</Message></Error>`);
}
