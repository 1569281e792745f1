// What the demo says while it runs: lines, and a bar on a terminal. In a file or a pipe the bar becomes a line now and then.
import type { WriteStream } from "node:tty";

interface Progress {
  readonly total: number;
  readonly uploaded: number;
  readonly decided: number;
}

export interface Narrator {
  say(line: string): void;
  /** Shows how far it is: over the last one on a terminal, else when another quarter is decided. */
  progress(now: Progress): void;
}

const barWidth = 30;

export function createNarrator(out: Pick<WriteStream, "write" | "isTTY">): Narrator {
  let barIsShown = false;
  let quarterTold = 0;

  const clearBar = (): void => {
    if (barIsShown) out.write("\r\x1b[2K");
    barIsShown = false;
  };
  return {
    say(line) {
      clearBar();
      out.write(`${line}\n`);
    },
    progress({ total, uploaded, decided }) {
      const text = `${uploaded} of ${total} uploaded, ${decided} decided`;
      if (out.isTTY) {
        clearBar();
        const filled = Math.round((barWidth * (uploaded + decided)) / (2 * Math.max(1, total)));
        out.write(`  [${"█".repeat(filled)}${"░".repeat(barWidth - filled)}] ${text}`);
        barIsShown = true;
        return;
      }
      const quarter = Math.floor((4 * decided) / Math.max(1, total));
      if (quarter > quarterTold) out.write(`  ${text}\n`);
      quarterTold = Math.max(quarter, quarterTold);
    },
  };
}
