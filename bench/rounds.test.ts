import { describe, expect, it } from "vitest";
import type { ContenderName } from "./contenders/index.ts";
import { measureRounds, medians, ratios } from "./rounds.ts";
import { type Case, type Figures, NotThere, type Row } from "./row.ts";

const quiet = { began: () => {}, measured: () => {}, failed: () => {}, skipped: () => {} };

function rowOf(...cases: readonly Case[]): Row {
  return {
    name: "process",
    title: "",
    columns: [],
    comparisons: [
      { name: "process", figure: "jobsPerSecond", better: "higher", ours: "", theirs: "" },
      { name: "process-100", figure: "jobsPerSecond", better: "higher", ours: "100 tenants", theirs: "" },
    ],
    parts: [],
    cases: () => cases,
  };
}

function caseOf(contender: ContenderName, variant: string, rates: number[]): Case {
  const measure = async (): Promise<Figures> => {
    const jobsPerSecond = rates.shift();
    if (jobsPerSecond === undefined) throw new Error("the worker died");
    return { jobsPerSecond };
  };
  return { contender, variant, measure };
}

async function run(row: Row, rounds: number, withinMs = 60_000): ReturnType<typeof measureRounds> {
  const cases = row.cases(false).map((oneCase) => ({ row, case: oneCase }));
  return measureRounds({ cases, rounds, withinMs }, (_row, oneCase) => oneCase.measure({} as never), quiet);
}

describe("measureRounds", () => {
  it("measures in the opposite order in every other round", async () => {
    const order: string[] = [];
    const watched = (name: ContenderName): Case => ({
      contender: name,
      variant: "",
      measure: async () => {
        order.push(name);
        return { jobsPerSecond: 1 };
      },
    });
    await run(rowOf(watched("doorbell"), watched("pg-boss")), 2);
    expect(order).toEqual(["doorbell", "pg-boss", "pg-boss", "doorbell"]);
  });

  it("tells the error of a case that fails, goes on with the others, and does not try it again", async () => {
    const results = await run(rowOf(caseOf("doorbell", "", [1, 2]), caseOf("pg-boss", "", [])), 2);
    expect(results.map(({ rounds, error }) => [rounds.length, error])).toEqual([
      [2, null],
      [0, "the worker died"],
    ]);
  });
});

describe("measureRounds without a server that a case needs", () => {
  it("tells what is missing, which is no error, and asks once", async () => {
    let asked = 0;
    const measure = async (): Promise<Figures> => {
      asked += 1;
      throw new NotThere("redis-server is not there");
    };
    const row = rowOf({ contender: "doorbell-redis", variant: "", measure }, caseOf("doorbell", "", [1, 2]));
    const [absent, present] = await run(row, 2);
    expect(absent).toMatchObject({ rounds: [], error: null, missing: "redis-server is not there" });
    expect(present).toMatchObject({ rounds: [{ jobsPerSecond: 1 }, { jobsPerSecond: 2 }], missing: null });
    expect(asked).toBe(1);
  });
});

describe("measureRounds with little time", () => {
  it("measures one round, and begins no other that would end too late", async () => {
    const [result] = await run(rowOf(caseOf("doorbell", "", [1, 2])), 2, 0);
    expect(result?.rounds).toEqual([{ jobsPerSecond: 1 }]);
  });
});

describe("ratios", () => {
  it("are the median of the ratios within the rounds, for every variant of ours that is compared", async () => {
    const row = rowOf(
      caseOf("doorbell", "", [300, 100, 400]),
      caseOf("doorbell", "100 tenants", [100, 100, 100]),
      caseOf("graphile-worker", "", [100, 50, 100]),
    );
    expect(ratios(await run(row, 3))).toEqual({ "process/graphile-worker": 3, "process-100/graphile-worker": 1 });
  });

  it("are missing where no round has the figure", async () => {
    const row = { ...rowOf(caseOf("doorbell", "", [1]), caseOf("pg-boss", "", [1])), name: "other" };
    const comparisons = [{ name: "cpu", figure: "cpuUs", better: "lower" as const, ours: "", theirs: "" }];
    expect(ratios(await run({ ...row, comparisons }, 1))).toEqual({});
  });

  it("leave out a contender that failed", async () => {
    expect(ratios(await run(rowOf(caseOf("doorbell", "", [1]), caseOf("pg-boss", "", [])), 1))).toEqual({});
  });
});

describe("medians", () => {
  it("are taken figure by figure", () => {
    expect(
      medians({
        rounds: [
          { p50Ms: 1, p99Ms: 9 },
          { p50Ms: 3, p99Ms: 5 },
          { p50Ms: 2, p99Ms: 7 },
        ],
      }),
    ).toEqual({
      p50Ms: 2,
      p99Ms: 7,
    });
  });
});
