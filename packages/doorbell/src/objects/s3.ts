// `s3://BUCKET/PREFIX` — objects in S3, or in a service that speaks as S3 does.
// Owns how an entry is created once and for all: by a write with If-None-Match, which of two that come at once refuses
// one. A service that does not keep to that condition is found out before the first write, and refused, unless the URL
// says conditional=0.
//
// Entry point `doorbell-jobs/s3`.
import { setTimeout as sleep } from "node:timers/promises";
import { DoorbellError } from "../core/errors.ts";
import { type Content, contentOf } from "./content.ts";
import type { BucketDriver } from "./driver.ts";
import { type ImportS3, loadS3, S3Requests } from "./s3-client.ts";
import { readS3Url, type S3Settings } from "./s3-url.ts";

export interface S3Options {
  /** `s3://BUCKET/PREFIX`, with settings as parameters of its query: see docs/objects. */
  readonly url: string;
}

/** From this size on it is worth a look whether the bytes are there, before they travel. */
const lookFirstBytes = 1_024 * 1_024;
const triesMax = 6;
const firstPauseMs = 50;

/** Asks nothing of S3 before the first call. Throws option_invalid, peer_missing. */
export async function s3Driver(options: S3Options, importPeer?: ImportS3): Promise<BucketDriver> {
  const settings = readS3Url(options.url);
  const requests = new S3Requests(await loadS3(importPeer), settings);
  const store = new S3Store(requests, settings);
  const keyOf = (path: string): string => settings.prefix + path;

  return {
    name: "s3",
    capabilities: { durable: true },
    async put(path, content) {
      await store.requireConditions();
      if (content.size >= lookFirstBytes && (await requests.exists(keyOf(path)))) return false;
      return await store.create(keyOf(path), content);
    },
    async get(path, signal) {
      const body = await requests.read(keyOf(path), signal);
      return body === null ? null : requests.pieces(body);
    },
    async list(folder, after, max) {
      const keys = await requests.list(keyOf(`${folder}/`), after === "" ? null : keyOf(after), max);
      return keys.map((key) => key.slice(settings.prefix.length));
    },
    async check() {
      await store.check();
    },
    async close() {
      requests.close();
    },
  };
}

/** No path of a bucket is like it: it is not hex. */
const probeName = "probe";
const probe = contentOf(new TextEncoder().encode("Written by Doorbell, to see whether it may.\n"));

class S3Store {
  readonly #requests: S3Requests;
  readonly #settings: S3Settings;
  #conditions: Promise<void> | null = null;

  constructor(requests: S3Requests, settings: S3Settings) {
    this.#requests = requests;
    this.#settings = settings;
  }

  /** True if this call created it. */
  async create(key: string, content: Content): Promise<boolean> {
    if (!this.#settings.conditional) {
      if (await this.#requests.exists(key)) return false;
      await this.#requests.write(key, content, false);
      return true;
    }
    for (let tries = 0; tries < triesMax; tries += 1) {
      if (tries > 0) await sleep(firstPauseMs * 2 ** tries * Math.random());
      const written = await this.#requests.write(key, content, true);
      if (written === "unsupported") throw withoutConditions();
      if (written !== "again") return written === "created";
    }
    throw new Error(`s3: other writes of the same object were under way, ${triesMax} times`);
  }

  /** Once for each process that writes: that the service refuses a second write. */
  requireConditions(): Promise<void> {
    if (!this.#settings.conditional) return Promise.resolve();
    this.#conditions ??= this.#tryConditions().catch((error: unknown) => {
      this.#conditions = null;
      throw error;
    });
    return this.#conditions;
  }

  /** Writes, reads and lists, as the objects of jobs are. */
  async check(): Promise<void> {
    const { bucket, prefix } = this.#settings;
    const key = prefix + probeName;
    if (this.#settings.conditional) await this.#tryConditions();
    else await this.#requests.write(key, probe, false);
    const body = await this.#requests.read(key, null);
    if (body === null) throw new Error(`s3: what was just written to ${bucket}/${key} is not there`);
    let size = 0;
    for await (const piece of this.#requests.pieces(body)) size += piece.length;
    if (size !== probe.size) throw new Error(`s3: ${bucket}/${key} is not what was written there`);
    const [listed] = await this.#requests.list(key, null, 1);
    if (listed !== key) throw new Error(`s3: ${bucket} does not list what was just written to it (${key})`);
  }

  async #tryConditions(): Promise<void> {
    const key = this.#settings.prefix + probeName;
    // Mostly the first write is refused already, since a process before this one has made the same.
    const created = (await this.create(key, probe)) && (await this.create(key, probe));
    if (created) throw withoutConditions();
  }
}

function withoutConditions(): DoorbellError {
  return new DoorbellError(
    "option_invalid",
    "objects: this service does not keep to If-None-Match, so that two uploads at once could replace each other; use one that does, or add conditional=0 to the URL and read in docs/objects what that means",
  );
}
