// Waiting for something that happens once.

export interface Signal {
  /** Resolves when `raise` has been called. */
  readonly raised: Promise<void>;
  raise(): void;
}

export function createSignal(): Signal {
  let raise = (): void => {};
  const raised = new Promise<void>((resolve) => {
    raise = resolve;
  });
  return { raised, raise };
}
