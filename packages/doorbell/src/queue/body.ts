// From the bytes of a message to what a delivery carries.

/** JSON as a value; anything else as the text that it is, which is then no doorbell. Never throws. */
export function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
