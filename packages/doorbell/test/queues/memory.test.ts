// The memory driver in the suite that every driver passes.
import { describe, test } from "vitest";
import { memoryDriver } from "../../src/queue/memory.ts";
import { queueFaultTests } from "../../src/testing/queue-faults.ts";
import type { QueueUnderTest } from "../../src/testing/queue-place.ts";
import { queueTests } from "../../src/testing/queue-suite.ts";

const nothingOutside = "its messages are in the driver itself: there is nothing past it";

const memory: QueueUnderTest = {
  lacks: {
    redelivers: "it gives each doorbell out once",
    inject: nothingOutside,
    wipe: nothingOutside,
    server: nothingOutside,
  },
  async place() {
    // One driver is the whole queue, so every process of a case has the same.
    const driver = memoryDriver();
    return { redeliverMs: 300, open: async () => driver, close: () => driver.close() };
  },
};

describe("memory", () => {
  for (const { title, skip, alone, run } of [...queueTests(memory), ...queueFaultTests(memory)])
    (alone ? test : test.concurrent)(title, (it) => (skip === null ? run() : it.skip(skip)));
});
