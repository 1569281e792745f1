// What the bench's process and a contender's process say to each other over the IPC channel.

/** To the contender's process: run this part. One at a time. */
export interface RunMessage {
  readonly part: string;
  readonly args: unknown;
}

/** From the contender's process: something begins now, the part's result, or its error. */
export type AgentMessage =
  | { readonly type: "mark"; readonly label: string }
  | { readonly type: "result"; readonly result: unknown }
  | { readonly type: "error"; readonly message: string };
