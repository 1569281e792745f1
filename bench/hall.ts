// The hall where the contenders meet: the server, the processes, and the stage that a row gets for one measurement.
// Whatever it has started it also ends, after each measurement and at the end, however that comes.

import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type Agent, spawnAgent } from "./agent/agent.ts";
import { Brokers } from "./brokers.ts";
import type { ContenderName } from "./contenders/index.ts";
import type { Case, Figures, Row, SpawnOptions, Stage } from "./row.ts";
import { type Description, schemaPart } from "./rows/schema.ts";
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
  /** Installs the contender's schema, if that is not done yet, and tells who it is. Rejects when it cannot be installed. */
  describe(contender: ContenderName): Promise<Description>;
  measure(row: Row, oneCase: Case): Promise<Figures>;
  close(): Promise<void>;
}

export async function openHall({ contenders, node, serverUrl, logFolder }: HallOptions): Promise<Hall> {
  rmSync(logFolder, { recursive: true, force: true });
  mkdirSync(logFolder, { recursive: true });
  const server = await openServer(serverUrl, contenders);
  const brokers = new Brokers();
  const running = new Set<Agent>();
  const described = new Map<ContenderName, Promise<Description>>();

  function start(contender: ContenderName, databaseUrl: string, log: string, options: SpawnOptions = {}): Agent {
    const agent = spawnAgent({ node, contender, databaseUrl, logPath: join(logFolder, `${log}.log`), ...options });
    running.add(agent);
    return agent;
  }

  /** Installs the contender's schema in its template, once, and asks who it is. */
  async function prepare(contender: ContenderName): Promise<Description> {
    const agent = start(contender, await server.createTemplate(contender), `install-${contender}`);
    try {
      return await agent.run(schemaPart, null);
    } finally {
      await end([agent]);
    }
  }

  function describe(contender: ContenderName): Promise<Description> {
    const preparing = described.get(contender) ?? prepare(contender);
    described.set(contender, preparing);
    return preparing;
  }

  async function end(agents: Iterable<Agent>): Promise<void> {
    for (const agent of agents) {
      await agent.close();
      running.delete(agent);
    }
  }

  return {
    server,
    describe,
    measure: async (row, oneCase) => {
      const log = [row.name, oneCase.contender, oneCase.variant.replaceAll(/[^a-z0-9]+/g, "-")];
      const started: Agent[] = [];
      const stage: Stage = {
        freshDatabase: async (contender) => {
          await describe(contender);
          await server.copyTemplate(contender);
        },
        settleDatabase: (contender) => server.settleDatabase(contender),
        sample: () => server.sample(),
        freshQueue: (broker) => brokers.freshQueue(broker),
        spawn: (contender, options) => {
          const name = log.filter((word) => word !== "").join("-");
          const agent = start(contender, server.databaseUrl(contender), name, options);
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
      await brokers.close();
      await server.stop();
    },
  };
}
