// What has to be undone, whenever and however the demo ends: in reverse order, all of it, once.

export class TakeDown {
  readonly #steps: (() => Promise<unknown> | unknown)[] = [];
  #running: Promise<void> | null = null;

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** To be called right after something was brought up. When the end has begun already, it is undone at once. */
  async push(step: () => Promise<unknown> | unknown): Promise<void> {
    if (this.#running === null) this.#steps.push(step);
    else await step();
  }

  /** Resolves when everything is undone. A step that fails is told, and keeps none of the others from their turn. */
  run(): Promise<void> {
    this.#running ??= this.#run();
    return this.#running;
  }

  async #run(): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        console.error(`while taking down: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
  }
}
