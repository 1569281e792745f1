// The conformance suite of buckets: what every driver has to show, through Bucket, as Doorbell uses it.
// Needs no test framework. Run each case against a fresh bucket or a shared one; every case uses tenants of its own:
//
//     for (const { title, run } of bucketCases) test(title, () => run(bucket));
import assert from "node:assert/strict";
import { createHash, randomUUID } from "node:crypto";
import type { ErrorCode } from "../core/errors.ts";
import { sha256Hex } from "../core/hash.ts";
import { type Bucket, contentKey } from "../objects/bucket.ts";

export interface BucketCase {
  readonly title: string;
  run(bucket: Bucket): Promise<void>;
}

/** Keys that file systems, URLs and shells would trip over. */
const oddKeys: readonly string[] = [
  "a b+c %2F é 日本 (1).pdf",
  "..",
  ".",
  "/",
  "/etc/passwd",
  "../../../../etc/passwd",
  "..\\..\\windows",
  "a/../b",
  "a//b",
  "%2e%2e%2f",
  "con",
  "-rf",
  "a\nb\tc",
  "😀".repeat(256),
  "x".repeat(1_024),
  "é",
  "e\u{301}",
  "A",
  "a",
];

export const bucketCases: readonly BucketCase[] = [
  {
    title: "what was put comes back byte for byte, with its size and hash",
    async run(bucket) {
      const bytes = Uint8Array.from({ length: 300_000 }, (_, index) => (index * 31) % 256);
      const stored = await bucket.put(fresh(), "invoice.pdf", bytes);
      assert.deepEqual(stored, { key: "invoice.pdf", size: 300_000, sha256: sha256Hex(bytes) });
    },
  },
  {
    title: "get and stat find what put has stored",
    async run(bucket) {
      const tenant = fresh();
      const stored = await bucket.put(tenant, "k", bytesOf("hello"));
      assert.deepEqual(await bucket.stat(tenant, "k"), stored);
      assert.deepEqual(textOf(await bucket.get(tenant, "k")), "hello");
      assert.deepEqual(textOf(await bucket.get(tenant, "k", { expect: stored })), "hello");
    },
  },
  {
    title: "an empty object is an object",
    async run(bucket) {
      const tenant = fresh();
      await bucket.put(tenant, "empty", new Uint8Array());
      assert.equal((await bucket.get(tenant, "empty")).length, 0);
    },
  },
  {
    title: "every key of up to 1,024 bytes is just a key",
    async run(bucket) {
      const tenant = fresh();
      for (const key of oddKeys) await bucket.put(tenant, key, bytesOf(`under ${key}`));
      for (const key of oddKeys) assert.equal(textOf(await bucket.get(tenant, key)), `under ${key}`);
    },
  },
  {
    title: "keys that are no text for Postgres, too long or empty are refused",
    async run(bucket) {
      for (const key of ["", "a\0b", "\u{d800}", "x".repeat(1_025), "é".repeat(513)]) {
        await rejects("key_invalid", bucket.put(fresh(), key, bytesOf("x")));
        await rejects("key_invalid", bucket.get(fresh(), key));
        await rejects("key_invalid", bucket.stat(fresh(), key));
      }
    },
  },
  {
    title: "one tenant sees nothing of another's, also under a key that spells the other's name",
    async run(bucket) {
      const [mine, other] = [fresh(), fresh()];
      await bucket.put(mine, "k", bytesOf("mine"));
      for (const key of ["k", `../${mine}/k`, `${mine}/k`]) {
        assert.equal(await bucket.stat(other, key), null);
        await rejects("object_missing", bucket.get(other, key));
      }
      await bucket.put(other, "k", bytesOf("other"));
      assert.equal(textOf(await bucket.get(mine, "k")), "mine");
      for (const tenant of ["", "*", "a\0"]) await rejects("tenant_invalid", bucket.put(tenant, "k", bytesOf("x")));
    },
  },
  {
    title: "the same bytes again are the same object, other bytes are a conflict",
    async run(bucket) {
      const tenant = fresh();
      const first = await bucket.put(tenant, "k", bytesOf("one"));
      assert.deepEqual(await bucket.put(tenant, "k", bytesOf("one")), first);
      await rejects("object_conflict", bucket.put(tenant, "k", bytesOf("two")));
      assert.equal(textOf(await bucket.get(tenant, "k")), "one");
    },
  },
  {
    title: "twenty puts of the same bytes at once all succeed",
    async run(bucket) {
      const tenant = fresh();
      const puts = Array.from({ length: 20 }, () => bucket.put(tenant, "k", bytesOf("same")));
      const stored = await Promise.all(puts);
      assert.equal(new Set(stored.map(({ sha256 }) => sha256)).size, 1);
      assert.equal(textOf(await bucket.get(tenant, "k")), "same");
    },
  },
  {
    title: "of twenty puts of different bytes at once exactly one wins, and its bytes are there",
    async run(bucket) {
      const tenant = fresh();
      const puts = Array.from({ length: 20 }, (_, index) => bucket.put(tenant, "k", bytesOf(`bytes ${index}`)));
      const settled = await Promise.allSettled(puts);
      const winners = settled.filter((result) => result.status === "fulfilled");
      assert.equal(winners.length, 1);
      for (const result of settled) {
        if (result.status === "rejected") assert.equal(result.reason.code, "object_conflict");
      }
      assert.equal(sha256Hex(await bucket.get(tenant, "k")), winners[0]?.value.sha256);
    },
  },
  {
    title: "a stream is stored as one object",
    async run(bucket) {
      const tenant = fresh();
      async function* source(): AsyncGenerator<Uint8Array> {
        yield bytesOf("one, ");
        yield new Uint8Array();
        yield bytesOf("two");
      }
      assert.equal((await bucket.put(tenant, "k", source())).size, 8);
      assert.equal(textOf(await bucket.get(tenant, "k")), "one, two");
    },
  },
  {
    title: "a source over the limit is refused, read no further, and leaves nothing",
    async run(bucket) {
      const tenant = fresh();
      let ended = false;
      async function* endless(): AsyncGenerator<Uint8Array> {
        try {
          for (;;) yield new Uint8Array(1_000);
        } finally {
          ended = true;
        }
      }
      await rejects("object_too_large", bucket.put(tenant, "k", endless(), { maxBytes: 10_000 }));
      assert.equal(ended, true);
      await rejects("object_too_large", bucket.put(tenant, "k", new Uint8Array(11), { maxBytes: 10 }));
      assert.equal(await bucket.stat(tenant, "k"), null);
      assert.equal((await bucket.put(tenant, "k", new Uint8Array(10), { maxBytes: 10 })).size, 10);
    },
  },
  {
    title: "a source that fails leaves nothing, and its error is passed on",
    async run(bucket) {
      const tenant = fresh();
      const failure = new Error("connection reset");
      async function* failing(): AsyncGenerator<Uint8Array> {
        yield bytesOf("half");
        throw failure;
      }
      await assert.rejects(bucket.put(tenant, "k", failing()), failure);
      assert.equal(await bucket.stat(tenant, "k"), null);
    },
  },
  {
    title: "a missing object is null to stat and object_missing to get",
    async run(bucket) {
      assert.equal(await bucket.stat(fresh(), "nothing"), null);
      await rejects("object_missing", bucket.get(fresh(), "nothing"));
    },
  },
  {
    title: "an object that is not what the caller expects is a mismatch",
    async run(bucket) {
      const tenant = fresh();
      const stored = await bucket.put(tenant, "k", bytesOf("hello"));
      await rejects("object_mismatch", bucket.get(tenant, "k", { expect: { size: 4 } }));
      await rejects("object_mismatch", bucket.get(tenant, "k", { expect: { sha256: "0".repeat(64) } }));
      await rejects("object_mismatch", bucket.get(tenant, "k", { expect: { ...stored, size: stored.size + 1 } }));
    },
  },
  {
    title: "bytes that are changed after they were given or taken do not change the object",
    async run(bucket) {
      const tenant = fresh();
      const bytes = Buffer.from("hello");
      const storing = bucket.put(tenant, "k", bytes);
      bytes.fill(0);
      await storing;
      const taken = await bucket.get(tenant, "k");
      taken.fill(0);
      assert.equal(textOf(await bucket.get(tenant, "k")), "hello");
    },
  },
  {
    title: "a list has every object of the tenant once, page by page, and none of another's",
    async run(bucket) {
      const [mine, other] = [fresh(), fresh()];
      assert.deepEqual(await bucket.list(mine, { limit: 10 }), { objects: [], damaged: 0 });
      for (const key of oddKeys) await bucket.put(mine, key, bytesOf(`under ${key}`));
      await bucket.put(other, "other", bytesOf("other"));
      const listed: string[] = [];
      for (let more = true; more; ) {
        const after = listed.at(-1);
        const { objects } = await bucket.list(mine, { limit: 7, ...(after !== undefined && { after }) });
        listed.push(...objects.map((object) => object.key));
        more = objects.length === 7;
      }
      assert.deepEqual([...listed].sort(), [...oddKeys].sort());
      const { objects } = await bucket.list(other, { limit: 10 });
      assert.deepEqual(objects, [{ key: "other", size: 5, sha256: sha256Hex("other") }]);
    },
  },
  {
    title: "fifty megabytes go in and come out in pieces",
    async run(bucket) {
      const tenant = fresh();
      const megabyte = 1_024 * 1_024;
      const hash = createHash("sha256");
      async function* source(): AsyncGenerator<Uint8Array> {
        for (let index = 0; index < 50; index += 1) {
          const piece = new Uint8Array(megabyte).fill(index);
          hash.update(piece);
          yield piece;
        }
      }
      const stored = await bucket.put(tenant, "k", source());
      assert.deepEqual(stored, { key: "k", size: 50 * megabyte, sha256: hash.digest("hex") });
      const read = createHash("sha256");
      let size = 0;
      for await (const piece of bucket.read(tenant, "k", { expect: stored })) {
        assert.ok(piece.length <= megabyte, `a piece of ${piece.length} bytes`);
        size += piece.length;
        read.update(piece);
      }
      assert.deepEqual([size, read.digest("hex")], [stored.size, stored.sha256]);
    },
  },
  {
    title: "a reading that is aborted ends with the reason, and the next one is whole",
    async run(bucket) {
      const tenant = fresh();
      const bytes = new Uint8Array(4 * 1_024 * 1_024).fill(7);
      await bucket.put(tenant, "k", bytes);
      const reason = new Error("the deadline has passed");
      await assert.rejects(bucket.get(tenant, "k", { signal: AbortSignal.abort(reason) }), reason);
      const halfway = new AbortController();
      const reading = bucket.read(tenant, "k", { signal: halfway.signal });
      assert.equal((await reading.next()).done, false);
      halfway.abort(reason);
      await assert.rejects(async () => {
        for await (const _ of reading);
      }, reason);
      assert.deepEqual(Buffer.compare(await bucket.get(tenant, "k"), bytes), 0);
    },
  },
  {
    title: "a reader may stop early",
    async run(bucket) {
      const tenant = fresh();
      await bucket.put(tenant, "k", new Uint8Array(4 * 1_024 * 1_024));
      for await (const piece of bucket.read(tenant, "k")) {
        assert.ok(piece.length > 0);
        break;
      }
      assert.equal((await bucket.get(tenant, "k")).length, 4 * 1_024 * 1_024);
    },
  },
  {
    title: "twenty readings at once each have all of it",
    async run(bucket) {
      const tenant = fresh();
      const stored = await bucket.put(tenant, "k", new Uint8Array(1_000_000).fill(3));
      const readings = await Promise.all(Array.from({ length: 20 }, () => bucket.get(tenant, "k")));
      assert.deepEqual(new Set(readings.map((bytes) => sha256Hex(bytes))), new Set([stored.sha256]));
      assert.equal(readings.length, 20);
    },
  },
  {
    title: "a place that can be used passes its check, again and again",
    async run(bucket) {
      await bucket.check();
      await bucket.check();
    },
  },
  {
    title: "a content key is the hash of the bytes",
    async run(bucket) {
      const tenant = fresh();
      const bytes = bytesOf("hello");
      const stored = await bucket.put(tenant, contentKey(bytes), bytes);
      assert.equal(stored.key, `sha256/${stored.sha256}`);
    },
  },
];

function fresh(): string {
  return `tenant-${randomUUID()}`;
}

function bytesOf(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

async function rejects(code: ErrorCode, promise: Promise<unknown>): Promise<void> {
  await assert.rejects(promise, (error: { code?: unknown }) => {
    assert.equal(error.code, code);
    return true;
  });
}
