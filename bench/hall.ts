// The hall where the contenders meet: the server, the processes, and the stage that a row gets for one measurement.
// Whatever it has started it also ends, after each measurement and at the end, however that comes.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Agent, spawnAgent } from "./agent/agent.ts";
import type { ContenderName } from "./contenders/index.ts";
import type { Case, Figures, Row, Stage } from "./row.ts";
import { type Description, describePart, schemaPart } from "./rows/schema.ts";
import { openServer, type Server } from "./server.ts";

export interface HallOptions {
  readonly contenders: readonly ContenderName[];
  readonly node: string;
  /** A superuser's URL; the embedded server if undefined. */
  readonly serverUrl: string | undefined;
  /** The contenders' own output goes here, one file for each case. */
  readonly logFolder: string;
}

export interface Hall {
  readonly server: Pick<Server, "version" | "settings">;
  describe(contender: ContenderName): Promise<Description>;
  measure(row: Row, oneCase: Case): Promise<Figures>;
  close(): Promise<void>;
}

export async function openHall({ contenders, node, serverUrl, logFolder }: HallOptions): Promise<Hall> {
  rmSync(logFolder, { recursive: true, force: true });
  mkdirSync(logFolder, { recursive: true });
  const server = await openServer(serverUrl, contenders);
  const running = new Set<Agent>();
  /** One process for each contender that only makes its schema: never measured, so it may stay. */
  const installers = new Map<ContenderName, Agent>();

  function start(contender: ContenderName, log: string): Agent {
    const agent = spawnAgent({
      node,
      contender,
      databaseUrl: server.databaseUrl(contender),
      logPath: join(logFolder, `${log}.log`),
    });
    running.add(agent);
    return agent;
  }

  function installer(contender: ContenderName): Agent {
    const known = installers.get(contender);
    if (known !== undefined) return known;
    const agent = start(contender, `install-${contender}`);
    installers.set(contender, agent);
    return agent;
  }

  async function end(agents: Iterable<Agent>): Promise<void> {
    for (const agent of agents) {
      await agent.close();
      running.delete(agent);
    }
  }

  return {
    server,
    describe: (contender) => installer(contender).run(describePart, null),
    measure: async (row, oneCase) => {
      const log = [row.name, oneCase.contender, oneCase.variant.replaceAll(/[^a-z0-9]+/g, "-")];
      const started: Agent[] = [];
      const stage: Stage = {
        freshDatabase: async (contender) => {
          await server.recreateDatabase(contender);
          await installer(contender).run(schemaPart, null);
        },
        settleDatabase: (contender) => server.settleDatabase(contender),
        sample: () => server.sample(),
        spawn: (contender) => {
          const agent = start(contender, log.filter((word) => word !== "").join("-"));
          started.push(agent);
          return agent;
        },
      };
      try {
        return await oneCase.measure(stage);
      } finally {
        await end(started);
      }
    },
    close: async () => {
      await end([...running]);
      await server.stop();
    },
  };
}
