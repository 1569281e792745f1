// The URL of a queue, or of a place for objects, and the settings in its query. A misspelt setting is refused, and the URL itself is never told: it may
// hold a password.
import { type Duration, toMs } from "../core/duration.ts";
import { DoorbellError } from "../core/errors.ts";

/** Takes the settings that a driver knows out of its URL, one by one; what is left then, nobody knows. */
export class QueueUrl {
  /** Of a copy. What was taken is gone from its query. */
  readonly url: URL;
  readonly #owner: string;
  readonly #known: string[] = [];

  /** Throws option_invalid. */
  constructor(url: string, driver: string, of: "queue" | "objects" = "queue") {
    this.#owner = `${of} ${driver}`;
    // `new URL` would throw an error that carries the text.
    if (!URL.canParse(url)) throw this.refused("it is no URL");
    this.url = new URL(url);
  }

  /** Null when it is not there. */
  text(name: string): string | null {
    this.#known.push(name);
    const value = this.url.searchParams.get(name);
    this.url.searchParams.delete(name);
    return value === "" ? null : value;
  }

  flag(name: string, byDefault: boolean): boolean {
    const value = this.text(name);
    if (value !== null && value !== "0" && value !== "1") throw this.refused(`${name} is neither 0 nor 1`);
    return value === null ? byDefault : value === "1";
  }

  integer(name: string, byDefault: number, min: number, max: number): number {
    const value = Number(this.text(name) ?? byDefault);
    if (!Number.isInteger(value) || value < min || value > max)
      throw this.refused(`${name} is not a whole number from ${min} to ${max}`);
    return value;
  }

  /** In milliseconds. */
  duration(name: string, byDefault: Duration, min: Duration, max: Duration): number {
    const value = this.text(name);
    const ms = toMs(value ?? byDefault, `${this.#owner}: ${name}`);
    if (ms < toMs(min, name) || ms > toMs(max, name)) throw this.refused(`${name} is not from ${min} to ${max}`);
    return ms;
  }

  /** After everything that is known was taken. Throws option_invalid for what is left. */
  requireNothingLeft(): void {
    const [unknown] = this.url.searchParams.keys();
    if (unknown !== undefined)
      throw this.refused(`it has no setting ${unknown.slice(0, 40)}; there are ${this.#known.join(", ")}`);
  }

  refused(why: string): DoorbellError {
    return new DoorbellError("option_invalid", `the URL of ${this.#owner}: ${why}`);
  }
}
