import { expect, test } from "vitest";
import { messageFields, stableMessageId } from "./message-fields.ts";

test("a Message-ID is the same for a key, different for another, and in the sender's domain", () => {
  const id = stableMessageId("job-1/reminder", "Billing <billing@Acme.Example>");
  expect(id).toMatch(/^<[0-9a-f]{40}@acme\.example>$/);
  expect(stableMessageId("job-1/reminder", "billing@acme.example")).toBe(id);
  expect(stableMessageId("job-2/reminder", "billing@acme.example")).not.toBe(id);
});

test("a Message-ID can be made for any sender and is always accepted", () => {
  for (const from of ["", "nobody", "a@", "x@y\r\nBcc: z", "Ünï <a@münchen.example>"]) {
    const id = stableMessageId("key", from);
    expect(() => messageFields({ from, to: "a@example.com", subject: "", text: "" }, id), from).not.toThrow();
  }
});

test("only known fields are passed on", () => {
  const message = { from: "a@b.c", to: "d@e.f", subject: "s", text: "t", raw: "evil", path: "/etc/passwd" };
  expect(messageFields(message, "<a@b>")).toEqual({
    messageId: "<a@b>",
    from: ["a@b.c"],
    to: ["d@e.f"],
    subject: "s",
    text: "t",
    attachments: [],
  });
});
