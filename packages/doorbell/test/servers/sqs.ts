// An emulator of SQS on loopback, in this process: what it has is in memory, and gone with it.
import { startFauxqs } from "fauxqs";

export interface SqsEmulator {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Also gives this process, and those that it starts, credentials if there are none: the SDK asks for some, and the emulator
 * takes any.
 */
export async function startSqs(): Promise<SqsEmulator> {
  process.env["AWS_ACCESS_KEY_ID"] ??= "test";
  process.env["AWS_SECRET_ACCESS_KEY"] ??= "test";
  const emulator = await startFauxqs({ port: 0, host: "127.0.0.1", logger: false });
  return {
    url: `sqs://sqs.eu-central-1.amazonaws.com/000000000000/doorbell?endpoint=http://127.0.0.1:${emulator.port}`,
    close: async () => void (await emulator.stop()),
  };
}
