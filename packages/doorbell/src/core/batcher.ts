// Lets concurrent calls share a statement: what arrives while one is under way goes together in the next. No timer and no
// wait of its own, so a lone call is not slower for it. It knows nothing of what the statement does.

export interface BatcherOptions<Item, Answer> {
  /** Answers in the order of the items. */
  readonly run: (items: readonly Item[]) => Promise<readonly Answer[]>;
  /** The largest batch. */
  readonly batchMax: number;
  /** How many batches may be under way at once. */
  readonly inFlightMax: number;
  /** Whether a batch that failed with this error is tried again item by item, so that one bad item fails alone. */
  readonly splits: (error: unknown) => boolean;
}

interface Waiting<Item, Answer> {
  readonly item: Item;
  readonly resolve: (answer: Answer) => void;
  readonly reject: (error: unknown) => void;
}

/** Returns the call. It resolves, or rejects, only when the batch that its item was in has. */
export function createBatcher<Item, Answer>(options: BatcherOptions<Item, Answer>): (item: Item) => Promise<Answer> {
  let waiting: Waiting<Item, Answer>[] = [];
  let inFlight = 0;
  let scheduled = false;

  const runBatch = async (batch: readonly Waiting<Item, Answer>[]): Promise<void> => {
    try {
      const answers = await options.run(batch.map((one) => one.item));
      batch.forEach((one, index) => {
        one.resolve(answers[index] as Answer);
      });
    } catch (error) {
      if (batch.length > 1 && options.splits(error)) {
        for (const one of batch) await runBatch([one]);
      } else {
        for (const one of batch) one.reject(error);
      }
    }
  };

  const start = (): void => {
    scheduled = false;
    while (inFlight < options.inFlightMax && waiting.length > 0) {
      const batch = waiting.slice(0, options.batchMax);
      waiting = waiting.slice(options.batchMax);
      inFlight += 1;
      void runBatch(batch).finally(() => {
        inFlight -= 1;
        start();
      });
    }
  };

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (scheduled) return;
      scheduled = true;
      queueMicrotask(start);
    });
}
