// S3 against the conformance suite: an emulator in this process, a small server that keeps to conditional writes, and a
// bucket of your own where DOORBELL_TEST_S3_URL names one and credentials are in the environment. Tenants there are made
// up; nothing of theirs is deleted.
import { inspect } from "node:util";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { type FauxqsServer, startFauxqs } from "fauxqs";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { Peak } from "../../test/peak.ts";
import { S3Server } from "../../test/servers/s3.ts";
import { checkObjects } from "../boot/check-stores.ts";
import { resolveSettings } from "../config/settings.ts";
import { sha256Hex } from "../core/hash.ts";
import { bucketCases } from "../testing/bucket-suite.ts";
import { Bucket } from "./bucket.ts";
import { openBucket } from "./open.ts";
import { s3Driver } from "./s3.ts";

const secret = "pa55-w0rd-of-aws";
const megabyte = 1_024 * 1_024;
const hello = new TextEncoder().encode("hello");

// Real ones stay for the bucket that is named; servers on loopback take any.
if (process.env["DOORBELL_TEST_S3_URL"] === undefined) {
  vi.stubEnv("AWS_ACCESS_KEY_ID", "test");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", secret);
}
afterAll(() => {
  vi.unstubAllEnvs();
});

async function open(url: string): Promise<Bucket> {
  const bucket = new Bucket(await s3Driver({ url }));
  onTestFinished(() => bucket.close());
  return bucket;
}

describe("s3 (fauxqs)", () => {
  let emulator: FauxqsServer;
  const url = (settings: string) => `s3://doorbell/objects?endpoint=http://127.0.0.1:${emulator.port}${settings}`;
  beforeAll(async () => {
    emulator = await startFauxqs({ port: 0, host: "127.0.0.1", logger: false });
    const client = new S3Client({ region: "us-east-1", endpoint: emulator.address, forcePathStyle: true });
    await client.send(new CreateBucketCommand({ Bucket: "doorbell" }));
    client.destroy();
  });
  afterAll(() => emulator.stop());

  const lacks = new Map([
    ["of twenty puts of different bytes at once exactly one wins, and its bytes are there", "it has no If-None-Match"],
    ["fifty megabytes go in and come out in pieces", "it takes 11 MB at most in a request"],
  ]);
  for (const checksum of ["none", "sha256"]) {
    describe(`checksum=${checksum}`, () => {
      for (const { title, run } of bucketCases) {
        test(title, async (it) => {
          const reason = lacks.get(title);
          if (reason !== undefined) it.skip(`${reason}; the next server shows it`);
          await run(await open(url(`&conditional=0&checksum=${checksum}`)));
        });
      }
    });
  }

  test("what it lacks is lacking in cases that there are", () => {
    const titles = bucketCases.map(({ title }) => title);
    expect(titles).toEqual(expect.arrayContaining([...lacks.keys()]));
  });

  test("a service that passes over If-None-Match is refused before anything is written", async () => {
    const bucket = await open(url(""));
    const refused = { code: "option_invalid", message: expect.stringContaining("conditional=0") };
    await expect(bucket.put("acme", "unsafe", hello)).rejects.toMatchObject(refused);
    await expect(bucket.check()).rejects.toMatchObject(refused);
    expect(await bucket.stat("acme", "unsafe")).toBeNull();
  });
});

describe("s3 (a server with conditional writes)", () => {
  const server = new S3Server();
  beforeAll(() => server.start());
  afterEach(() => server.mend());
  afterAll(() => server.close());

  for (const { title, run } of bucketCases) test(title, async () => run(await open(server.url("/suite"))));

  test("keys are hashes below the prefix, and hold nothing of tenant or key", async () => {
    const bucket = await open(server.url("/a/b"));
    await bucket.put("../../acme", "../../../escape", hello);
    const keys = [...server.objects.keys()].filter((key) => !key.startsWith("suite/"));
    expect(keys).toHaveLength(3);
    for (const key of keys)
      expect(key).toMatch(/^a\/b\/(?:probe|[0-9a-f]{64}\/[0-9a-f]{2}\/[0-9a-f]{64}(?:\.[0-9a-f]{64})?)$/);
  });

  test("two prefixes of one bucket are two places", async () => {
    const [one, other] = [await open(server.url("/one")), await open(server.url("/one-more"))];
    await one.put("acme", "k", hello);
    expect(await other.stat("acme", "k")).toBeNull();
    expect(await other.list("acme", { limit: 10 })).toEqual({ objects: [], damaged: 0 });
  });

  test("an upload carries its size and hash, and the service compares both", async () => {
    const bucket = await open(server.url("/hashed", "&checksum=sha256"));
    await bucket.put("acme", "k", hello);
    const upload = server.requests.find(({ method, key }) => method === "PUT" && key.endsWith(sha256Hex(hello)));
    expect(upload?.headers).toMatchObject({
      "content-length": "5",
      "if-none-match": "*",
      "x-amz-content-sha256": sha256Hex(hello),
      "x-amz-checksum-sha256": Buffer.from(sha256Hex(hello), "hex").toString("base64"),
      "x-amz-meta-sha256": sha256Hex(hello),
      "x-amz-meta-size": "5",
    });
    const plain = await open(server.url("/plain"));
    server.requests.length = 0;
    await plain.put("acme", "k", hello);
    const names = server.requests.flatMap(({ headers }) => Object.keys(headers));
    expect(names.filter((name) => /checksum|trailer|encoding/.test(name) && name !== "transfer-encoding")).toEqual([]);
  });

  test("memory does not grow with an upload", async () => {
    server.forgetful = true;
    const driver = await s3Driver({ url: server.url("/large", "&conditional=0") });
    onTestFinished(() => driver.close());
    const peak = new Peak();
    let pieces = 0;
    const content = {
      size: 64 * megabyte,
      sha256: sha256Hex(Buffer.alloc(64 * megabyte)),
      bytes: null,
      async *pieces() {
        for (; pieces < 64; pieces += 1) {
          if (pieces % 8 === 0) peak.look();
          yield new Uint8Array(megabyte);
        }
      },
    };
    expect(await driver.put("ab", content)).toBe(true);
    expect(pieces).toBe(64);
    expect(peak.bytes()).toBeLessThan(24 * megabyte);
  });

  test("bytes that cannot be read again while they are sent fail the upload, and nothing else", async () => {
    const driver = await s3Driver({ url: server.url("/torn") });
    onTestFinished(() => driver.close());
    const content = {
      size: 8 * megabyte,
      sha256: sha256Hex(Buffer.alloc(8 * megabyte)),
      bytes: null,
      async *pieces() {
        yield new Uint8Array(megabyte);
        throw new Error("the disk is gone");
      },
    };
    await expect(driver.put("ab", content)).rejects.toThrow("the disk is gone");
    expect(server.objects.has("torn/ab")).toBe(false);
  });

  test("a reader who takes his time is sent no more than he takes", async () => {
    const bucket = await open(server.url("/slow"));
    await bucket.put("acme", "k", new Uint8Array(64 * megabyte));
    server.sentBytes = 0;
    const reading = bucket.read("acme", "k");
    await reading.next();
    await vi.waitFor(() => expect(server.reading).toBe(1));
    // What is on the way fills the buffers of both sockets, and then nothing moves any more.
    let before = -1;
    const standsStill = () => {
      const earlier = before;
      before = server.sentBytes;
      expect(before).toBe(earlier);
    };
    await vi.waitFor(standsStill, { interval: 200 });
    expect(server.sentBytes).toBeLessThan(32 * megabyte);
    await reading.return();
    await vi.waitFor(() => expect(server.reading).toBe(0));
  });

  test("a reading that is aborted frees its connection at once", async () => {
    const bucket = await open(server.url("/aborted"));
    await bucket.put("acme", "k", new Uint8Array(64 * megabyte));
    const stop = new AbortController();
    const reading = bucket.get("acme", "k", { signal: stop.signal });
    await vi.waitFor(() => expect(server.reading).toBe(1));
    stop.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
    await vi.waitFor(() => expect(server.reading).toBe(0));
  });

  test("an object that is there already does not travel again", async () => {
    const bucket = await open(server.url("/again"));
    const bytes = new Uint8Array(2 * megabyte);
    await bucket.put("acme", "k", bytes);
    server.requests.length = 0;
    await bucket.put("acme", "k", bytes);
    expect(server.requests.map(({ method }) => method)).toEqual(["GET", "HEAD"]);
  });

  test("a write that meets another of the same object is tried again", async () => {
    const bucket = await open(server.url("/met"));
    await bucket.check();
    server.fail("PUT", { status: 409, code: "ConditionalRequestConflict" }, 2);
    await bucket.put("acme", "k", hello);
    expect(await bucket.get("acme", "k")).toEqual(hello);
    server.fail("PUT", { status: 409, code: "ConditionalRequestConflict" });
    await expect(bucket.put("acme", "other", hello)).rejects.toMatchObject({ code: "objects_unavailable" });
  });

  test("an answer that was lost, or a service that asks for patience, costs a try and not the upload", async () => {
    const bucket = await open(server.url("/lost"));
    await bucket.check();
    server.fail("PUT", { status: 503, code: "SlowDown" }, 1);
    await bucket.put("acme", "k", hello);
    server.fail("GET", { status: 500, code: "InternalError" }, 1);
    expect(await bucket.get("acme", "k")).toEqual(hello);
  });

  test.each(["ignored", "refused"] as const)(
    "where If-None-Match is %s nothing is written, and conditional=0 goes without",
    async (conditions) => {
      server.conditions = conditions;
      const [strict, lax] = [
        await open(server.url(`/${conditions}`)),
        await open(server.url(`/${conditions}`, "&conditional=0")),
      ];
      await expect(strict.put("acme", "k", hello)).rejects.toMatchObject({ code: "option_invalid" });
      expect(await lax.stat("acme", "k")).toBeNull();
      await lax.put("acme", "k", hello);
      await lax.put("acme", "k", hello);
      await expect(lax.put("acme", "k", new Uint8Array(1))).rejects.toMatchObject({ code: "object_conflict" });
      expect(await strict.get("acme", "k")).toEqual(hello);
    },
  );

  test("a body that ends in the middle is a store that is unavailable, not a short object", async () => {
    const bucket = await open(server.url("/cut"));
    await bucket.put("acme", "k", new Uint8Array(2 * megabyte));
    server.fail("GET", "cut");
    expect(await bucket.stat("acme", "k")).toMatchObject({ size: 2 * megabyte });
    await expect(bucket.get("acme", "k")).rejects.toMatchObject({
      code: "objects_unavailable",
      cause: { message: expect.stringContaining("left in the middle") },
    });
  });

  test("bytes that were changed in the bucket are a mismatch; those that are gone are missing, and come back", async () => {
    const bucket = await open(server.url("/changed"));
    const { sha256 } = await bucket.put("acme", "k", hello);
    const key = [...server.objects.keys()].find((one) => one.startsWith("changed/") && one.endsWith(sha256)) ?? "";
    server.objects.set(key, Buffer.from("hellO"));
    await expect(bucket.get("acme", "k")).rejects.toMatchObject({ code: "object_mismatch" });
    expect(server.objects.delete(key)).toBe(true);
    await expect(bucket.get("acme", "k")).rejects.toMatchObject({ code: "object_missing" });
    await bucket.put("acme", "k", hello);
    expect(await bucket.get("acme", "k")).toEqual(hello);
  });

  const told: readonly (readonly [status: number, code: string, says: RegExp])[] = [
    [403, "AccessDenied", /needs s3:GetObject and s3:PutObject on bucket\/told\/\* and s3:ListBucket on bucket/],
    [403, "InvalidObjectState", /archived, and has to be restored/],
    [403, "SignatureDoesNotMatch", /does not accept the credentials \(SignatureDoesNotMatch\)/],
    [400, "ExpiredToken", /does not accept the credentials \(ExpiredToken\)/],
    [404, "NoSuchBucket", /there is no bucket bucket at 127\.0\.0\.1:/],
    [301, "PermanentRedirect", /in another region; name it with region=/],
    [400, "InvalidRequest", /InvalidRequest \(HTTP 400\): it will not/],
  ];
  test.each(told)("%i %s is told as what a person can do, and without a secret", async (status, code, says) => {
    const bucket = await open(server.url("/told"));
    const message = `it will not, with token=${secret}`;
    for (const method of ["GET", "PUT"]) server.fail(method, { status, code, message });
    for (const call of [() => bucket.get("acme", "k"), () => bucket.stat("acme", "k"), () => bucket.check()]) {
      const error = await call().catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "objects_unavailable", cause: { message: expect.stringMatching(says) } });
      expect(inspect(error, { depth: 10, showHidden: true })).not.toContain(secret);
      expect(inspect(error, { depth: 10 })).not.toContain("AWS4-HMAC-SHA256");
    }
  });

  test("what AWS says about a right that is missing is told with it", async () => {
    const bucket = await open(server.url("/kms"));
    const message = "User: arn:aws:iam::123456789012:role/shop is not authorized to perform: kms:Decrypt";
    server.fail("GET", { status: 403, code: "AccessDenied", message });
    const says = `s3:ListBucket on bucket, without which a missing object looks like a forbidden one (${message})`;
    await expect(bucket.get("acme", "k")).rejects.toMatchObject({ cause: { message: expect.stringContaining(says) } });
  });

  test("a service that says nothing is unavailable after the timeout", async () => {
    const bucket = await open(server.url("/silent", "&timeout=100ms"));
    server.fail("GET", "silent");
    await expect(bucket.get("acme", "k")).rejects.toMatchObject({
      code: "objects_unavailable",
      cause: { message: expect.stringContaining("was silent for 100 ms") },
    });
  });

  test("the doctor finds a bucket that cannot be used, and says what it needs", async () => {
    const findings = () => checkObjects(resolveSettings({ DOORBELL_OBJECTS: server.url("/doctor") }));
    expect(await findings()).toEqual([]);
    for (const method of ["PUT", "GET"]) {
      server.fail(method, { status: 403, code: "AccessDenied" });
      expect(await findings()).toMatchObject([
        {
          code: "objects_unusable",
          message: expect.stringContaining("s3:PutObject"),
          mend: expect.stringContaining("bucket"),
        },
      ]);
      server.mend();
    }
  });
});

describe("s3 (a bucket of your own)", () => {
  const url = process.env["DOORBELL_TEST_S3_URL"];
  for (const { title, run } of bucketCases) {
    test(title, { timeout: 120_000 }, async (it) => {
      if (url === undefined) return it.skip("DOORBELL_TEST_S3_URL names no bucket");
      await run(await open(url));
    });
  }
});

test("a service that is not there is unavailable, and its host is told", async () => {
  const bucket = await open("s3://bucket?endpoint=http://127.0.0.1:1");
  await expect(bucket.put("acme", "k", hello)).rejects.toMatchObject({
    code: "objects_unavailable",
    cause: { message: "s3: 127.0.0.1:1 could not be reached, or left in the middle (ECONNREFUSED)" },
  });
});

test("without credentials the driver says where they come from", async () => {
  for (const name of ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"]) vi.stubEnv(name, undefined);
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere");
  vi.stubEnv("AWS_CONFIG_FILE", "/nowhere");
  const bucket = await open("s3://bucket?endpoint=http://127.0.0.1:1");
  await expect(bucket.get("acme", "k")).rejects.toMatchObject({
    code: "objects_unavailable",
    cause: { message: expect.stringContaining("AWS_ACCESS_KEY_ID") },
  });
});

test.each([
  [`s3://key:${secret}@bucket`, "credentials do not belong in it"],
  ["s3://", "it names no bucket"],
  [`s3://Bucket_${secret}/x`, "it names no bucket"],
  ["s3://bucket--use1-az4--x-s3", "a directory bucket"],
  [`s3://bucket/a//${secret}`, "its prefix is not"],
  [`s3://bucket/${"x".repeat(200)}`, "its prefix is not"],
  [`s3://bucket?endpoint=${secret}`, "endpoint is not an http: or https: URL"],
  [`s3://bucket?endpoint=http://key:${secret}@localhost`, "endpoint is more than a host"],
  ["s3://bucket?pathStyle=yes", "pathStyle is neither 0 nor 1"],
  ["s3://bucket?checksum=md5", "checksum is neither sha256 nor none"],
  ["s3://bucket?timeout=1h", "timeout is not from 100ms to 10m"],
  [`s3://bucket?secret=${secret}`, "it has no setting secret; there are endpoint, checksum, region"],
])("the URL %s is refused, and not repeated", async (url, why) => {
  const refused = await openBucket(url).catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: "option_invalid", message: expect.stringContaining(why) });
  expect(inspect(refused, { depth: 10 })).not.toContain(secret);
});

test("without its library the driver says what to install", async () => {
  const missing = s3Driver({ url: "s3://bucket" }, () => Promise.reject(new Error("not found")));
  await expect(missing).rejects.toMatchObject({
    code: "peer_missing",
    message: expect.stringContaining("npm install @aws-sdk/client-s3"),
  });
});
