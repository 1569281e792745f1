// Preloaded into the demo's processes: when the demo is gone, however it went, so are they. Descriptor 3 is the line;
// nothing is ever written to it, and the kernel closes it with the demo.
import { Socket } from "node:net";
import { isMainThread } from "node:worker_threads";

/** A process that cannot take itself down, because its database has gone with the demo, is not waited for. */
const takeDownMs = 5_000;

if (isMainThread) {
  const line = new Socket({ fd: 3, readable: true, writable: false });
  line.resume();
  line.unref();
  line.once("close", () => {
    setTimeout(() => process.kill(process.pid, "SIGKILL"), takeDownMs);
    process.kill(process.pid, "SIGTERM");
  });
}
