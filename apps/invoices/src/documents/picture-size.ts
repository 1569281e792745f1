// How large pictures would be once decoded, by the size that they declare: PNG and JPEG headers, the image dictionaries
// and JBIG2 pages inside a PDF. Nothing is decoded here; that is the point. Picture bombs are a few kilobytes that
// claim gigabytes.
import { RejectedDocument } from "./rejection.ts";

interface PictureSize {
  readonly width: number;
  readonly height: number;
  readonly bitsPerPixel: number;
}

/** Throws `image_too_large` if the picture, once decoded, would take more than `bytesMax`. */
export function refuseOversizedImage(bytes: Uint8Array, bytesMax: number): void {
  const size = pngSize(view(bytes)) ?? jpegSize(view(bytes));
  if (size !== null) refuseOversized(size, bytesMax);
}

/** The same for every picture that a PDF holds, used or not. Streams are never compressed away into other objects. */
export function refuseOversizedPdfPictures(bytes: Uint8Array, bytesMax: number): void {
  const file = view(bytes);
  for (const size of pdfImageSizes(file)) refuseOversized(size, bytesMax);
  for (const size of jbig2Sizes(file)) refuseOversized(size, bytesMax);
}

function refuseOversized(size: PictureSize, bytesMax: number): void {
  const decodedBytes = (size.width * size.height * size.bitsPerPixel) / 8;
  if (decodedBytes > bytesMax) {
    throw new RejectedDocument("image_too_large", `${size.width} x ${size.height} pixels`);
  }
}

const rgbaBits = 32;

function pngSize(file: Buffer): PictureSize | null {
  const hasHeader =
    file.length >= 24 && file.toString("latin1", 1, 4) === "PNG" && file.toString("latin1", 12, 16) === "IHDR";
  return hasHeader ? { width: file.readUInt32BE(16), height: file.readUInt32BE(20), bitsPerPixel: rgbaBits } : null;
}

/** Walks the JPEG segments to the frame header, which is the first one that states a size. */
function jpegSize(file: Buffer): PictureSize | null {
  if (file.length < 4 || file.readUInt16BE(0) !== 0xffd8) return null;
  let offset = 2;
  while (offset + 9 <= file.length && file[offset] === 0xff) {
    const marker = file.readUInt8(offset + 1);
    const isFrameHeader = marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
    if (isFrameHeader) {
      return { height: file.readUInt16BE(offset + 5), width: file.readUInt16BE(offset + 7), bitsPerPixel: rgbaBits };
    }
    offset += 2 + file.readUInt16BE(offset + 2);
  }
  return null;
}

/** How far around `/Subtype /Image` the rest of its dictionary is looked for. */
const dictionaryReachBytes = 1024;

function* pdfImageSizes(file: Buffer): Generator<PictureSize> {
  for (let at = file.indexOf("/Image"); at >= 0; at = file.indexOf("/Image", at + 1)) {
    const before = file.toString("latin1", Math.max(0, at - dictionaryReachBytes), at);
    const after = file.toString("latin1", at, at + dictionaryReachBytes);
    const dictionary = before.slice(Math.max(0, before.lastIndexOf(" obj"))) + after.slice(0, endOf(after, "stream"));
    const width = /\/Width\s+(\d{1,9})(?!\s+\d+\s+R)/.exec(dictionary)?.[1];
    const height = /\/Height\s+(\d{1,9})(?!\s+\d+\s+R)/.exec(dictionary)?.[1];
    if (width === undefined || height === undefined) continue;
    yield { width: Number(width), height: Number(height), bitsPerPixel: bitsPerPixel(dictionary) };
  }
}

/**
 * Four components unless the dictionary names a colour space with fewer; one bit for stencil masks, which name none.
 */
function bitsPerPixel(dictionary: string): number {
  const bits = Number(/\/BitsPerComponent\s+(\d{1,2})/.exec(dictionary)?.[1] ?? 1);
  if (/\/DeviceGray\b|\/ImageMask\s+true/.test(dictionary) || bits === 1) return bits;
  return bits * (/\/DeviceRGB\b/.test(dictionary) ? 3 : 4);
}

const jbig2PageInformation = 48;
/** What a striped page, which is legitimate, states in place of its height. */
const jbig2HeightUnknown = 0xffff_ffff;

/** A JBIG2 stream opens with a segment of type "page information", which states the size of the bitmap. */
function* jbig2Sizes(file: Buffer): Generator<PictureSize> {
  for (let at = file.indexOf("/JBIG2Decode"); at >= 0; at = file.indexOf("/JBIG2Decode", at + 1)) {
    const stream = file.indexOf("stream", at);
    if (stream < 0 || stream - at > dictionaryReachBytes) continue;
    const lineEnd = file[stream + 6] === 0x0d ? 2 : 1;
    const segment = stream + 6 + lineEnd;
    if (segment + 19 > file.length) continue;
    const segmentType = file.readUInt8(segment + 4) & 0x3f;
    if (segmentType !== jbig2PageInformation) continue;
    const height = file.readUInt32BE(segment + 15);
    if (height === jbig2HeightUnknown) continue;
    yield { width: file.readUInt32BE(segment + 11), height, bitsPerPixel: 1 };
  }
}

function endOf(text: string, needle: string): number {
  const index = text.indexOf(needle);
  return index < 0 ? text.length : index;
}

function view(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
