// How much memory buffers take at most, beyond what they took at the beginning.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

export class Peak {
  readonly #collect: () => void;
  readonly #before: number;
  #most = 0;

  constructor() {
    // What nobody holds any more does not count, and V8 is in no hurry to let go of it.
    setFlagsFromString("--expose-gc");
    this.#collect = runInNewContext("gc") as () => void;
    this.#before = this.#taken();
    this.look();
  }

  look(): void {
    this.#most = Math.max(this.#most, this.#taken());
  }

  bytes(): number {
    return this.#most - this.#before;
  }

  #taken(): number {
    this.#collect();
    return process.memoryUsage().arrayBuffers;
  }
}
