// Cuts the bytes of standard input into documents: each is a four-byte length and that many bytes.

const lengthBytes = 4;

/** What goes in front of a document. */
export function frameHeader(document: Uint8Array): Buffer {
  const header = Buffer.alloc(lengthBytes);
  header.writeUInt32BE(document.byteLength);
  return header;
}

/** The documents of a stream, in order; a last one that is cut off is dropped. */
export async function* readFrames(stream: AsyncIterable<Buffer>): AsyncGenerator<Uint8Array> {
  let chunks: Buffer[] = [];
  let held = 0;
  let wanted = lengthBytes;
  for await (const chunk of stream) {
    chunks.push(chunk);
    held += chunk.length;
    while (held >= wanted) {
      const bytes = Buffer.concat(chunks);
      const frameEnd = lengthBytes + bytes.readUInt32BE(0);
      if (held < frameEnd) {
        chunks = [bytes];
        wanted = frameEnd;
        break;
      }
      yield bytes.subarray(lengthBytes, frameEnd);
      chunks = [bytes.subarray(frameEnd)];
      held -= frameEnd;
      wanted = lengthBytes;
    }
  }
}
