import { describe, expect, test } from "vitest";
import { refuseOversizedImage, refuseOversizedPdfPictures } from "./picture-size.ts";

const megabyte = 1024 * 1024;

function png(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(33);
  Buffer.from("89504e470d0a1a0a0000000d49484452", "hex").copy(header);
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  return header;
}

function jpeg(width: number, height: number): Uint8Array {
  const application = Buffer.from("ffe000104a46494600010100000100010000", "hex");
  const frame = Buffer.from("ffc0001108000000000301220002110103110100", "hex");
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from("ffd8", "hex"), application, frame]);
}

function jbig2(width: number, height: number): Uint8Array {
  const segment = Buffer.from("00000000300001000000130000000000000000", "hex");
  segment.writeUInt32BE(width, 11);
  segment.writeUInt32BE(height, 15);
  return Buffer.concat([Buffer.from("5 0 obj << /Filter /JBIG2Decode >>\nstream\n"), segment]);
}

describe("refuseOversizedImage", () => {
  test("refuses by the size that the header declares", () => {
    expect(() => refuseOversizedImage(png(30_000, 30_000), 160 * megabyte)).toThrow("30000 x 30000");
    expect(() => refuseOversizedImage(jpeg(20_000, 20_000), 160 * megabyte)).toThrow("20000 x 20000");
  });

  test("lets ordinary pictures through", () => {
    refuseOversizedImage(png(2480, 3508), 160 * megabyte);
    refuseOversizedImage(jpeg(2480, 3508), 160 * megabyte);
  });

  test("has nothing to say about headers that are cut off", () => {
    refuseOversizedImage(png(30_000, 30_000).subarray(0, 20), 1);
    refuseOversizedImage(jpeg(30_000, 30_000).subarray(0, 24), 1);
    refuseOversizedImage(new Uint8Array(0), 1);
  });
});

describe("refuseOversizedPdfPictures", () => {
  const dictionary = (entries: string) => Buffer.from(`1 0 obj << /Type /XObject ${entries} >>\nstream\n`);

  test("refuses an image dictionary that declares too much, in whatever order", () => {
    const before = dictionary("/Width 60000 /Height 60000 /BitsPerComponent 8 /Subtype /Image");
    const after = dictionary("/Subtype/Image/Height 60000/BitsPerComponent 8/Width 60000");
    expect(() => refuseOversizedPdfPictures(before, 160 * megabyte)).toThrow("60000 x 60000");
    expect(() => refuseOversizedPdfPictures(after, 160 * megabyte)).toThrow("60000 x 60000");
  });

  test("lets a black-and-white scan of A3 at 600 dpi through, where colour would be too much", () => {
    refuseOversizedPdfPictures(
      dictionary("/Subtype /Image /Width 7016 /Height 9921 /BitsPerComponent 1"),
      100 * megabyte,
    );
  });

  test("counts the components of the colour space that is named", () => {
    const scan = (colourSpace: string) =>
      dictionary(`/Subtype /Image /Width 8000 /Height 8000 /BitsPerComponent 8 /ColorSpace ${colourSpace}`);
    refuseOversizedPdfPictures(scan("/DeviceGray"), 64 * megabyte);
    refuseOversizedPdfPictures(scan("/DeviceRGB"), 192 * megabyte);
    expect(() => refuseOversizedPdfPictures(scan("/DeviceRGB"), 180 * megabyte)).toThrow("8000 x 8000");
    expect(() => refuseOversizedPdfPictures(scan("/DeviceCMYK"), 192 * megabyte)).toThrow("8000 x 8000");
  });

  test("refuses a JBIG2 stream by its page segment, but not a striped one of unknown height", () => {
    expect(() => refuseOversizedPdfPictures(jbig2(100_000, 100_000), 160 * megabyte)).toThrow("100000 x 100000");
    refuseOversizedPdfPictures(jbig2(5000, 0xffff_ffff), 160 * megabyte);
  });
});
