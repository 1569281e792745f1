// The process of `npm run admin`: says what came of it, and ends with 0, 1 (failed) or 2 (usage).
import { administer, explain, UsageError, usage } from "./admin.ts";

try {
  console.log(await administer(process.argv.slice(2), process.env["DATABASE_URL"]));
} catch (error) {
  const isUsage = error instanceof UsageError;
  console.error(isUsage ? `${error.message}\n\n${usage}` : explain(error));
  process.exitCode = isUsage ? 2 : 1;
}
