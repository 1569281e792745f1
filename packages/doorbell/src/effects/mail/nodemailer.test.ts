import { expect, test } from "vitest";
import { loadNodemailer } from "./nodemailer.ts";

test("the installed nodemailer is found", async () => {
  expect((await loadNodemailer()).createTransport).toBeTypeOf("function");
});

test("a nodemailer of version 6, whose exports are the default, is found too", async () => {
  const createTransport = () => ({});
  expect(await loadNodemailer(async () => ({ default: { createTransport } }))).toEqual({ createTransport });
});

test.each([() => Promise.reject(new Error("Cannot find package 'nodemailer'")), async () => ({ default: {} })])(
  "where there is none, or none that we know, the error says what to install",
  async (importPeer) => {
    await expect(loadNodemailer(importPeer)).rejects.toMatchObject({
      code: "peer_missing",
      message: expect.stringMatching(/install/),
    });
  },
);
