// From a URL to a driver. The one place that knows which there are.
import { DoorbellError } from "../core/errors.ts";
import type { Tx } from "../store/database.ts";
import type { QueueDriver } from "./driver.ts";
import { memoryDriver } from "./memory.ts";
import { postgresDriver } from "./postgres.ts";

/** Throws DoorbellError option_invalid, naming the choices. */
export function openQueueDriver(url: string, tx: Tx): QueueDriver {
  const scheme = /^([a-z]+):/.exec(url)?.[1];
  switch (scheme) {
    case "postgres":
      return postgresDriver(tx);
    case "memory":
      return memoryDriver();
    default:
      throw new DoorbellError(
        "option_invalid",
        `no queue driver for "${scheme ?? url.slice(0, 40)}"; choose postgres: or memory:`,
      );
  }
}
