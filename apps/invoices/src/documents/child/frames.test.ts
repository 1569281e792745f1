import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { frameHeader, readFrames } from "./frames.ts";

async function* chunksOf(bytes: Buffer, sizes: readonly number[]): AsyncGenerator<Buffer> {
  let start = 0;
  for (const size of sizes) {
    yield bytes.subarray(start, start + size);
    start += size;
  }
  yield bytes.subarray(start);
}

async function collect(stream: AsyncIterable<Buffer>): Promise<readonly Buffer[]> {
  const frames: Buffer[] = [];
  for await (const frame of readFrames(stream)) frames.push(Buffer.from(frame));
  return frames;
}

describe("readFrames", () => {
  test("gives back the documents that were written, however the stream is cut", async () => {
    const documents = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 });
    const cuts = fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(documents, cuts, async (written, sizes) => {
        const stream = Buffer.concat(written.flatMap((document) => [frameHeader(document), document]));
        const read = await collect(chunksOf(stream, sizes));
        expect(read.map((frame) => frame.toString("hex"))).toEqual(
          written.map((document) => Buffer.from(document).toString("hex")),
        );
      }),
    );
  });

  test("drops a document that is cut off", async () => {
    const document = Buffer.from("whole");
    const stream = Buffer.concat([frameHeader(document), document, frameHeader(document), Buffer.from("wh")]);
    expect(await collect(chunksOf(stream, []))).toEqual([document]);
  });
});
