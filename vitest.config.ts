import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["doorbell-source"] },
  ssr: { resolve: { conditions: ["doorbell-source"] } },
  test: {
    include: ["packages/**/*.test.ts", "apps/**/*.test.ts", "scripts/**/*.test.ts", "bench/*.test.ts"],
    globalSetup: ["packages/doorbell/test/global-setup.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
