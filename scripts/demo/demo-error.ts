// What whoever runs the demo can act upon: it is told as it stands, without a stack.

/** The demo could not do its work. */
export class DemoError extends Error {
  readonly exitCode: number = 1;
}

/** It was asked for something that it cannot do. */
export class UsageError extends DemoError {
  override readonly exitCode: number = 2;
}
