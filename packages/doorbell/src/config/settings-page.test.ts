import { expect, test } from "vitest";
import { defaultText } from "./default-text.ts";
import { settingNames } from "./settings.ts";
import { type Setting, settingsTable } from "./table.ts";

const head = `# Settings

Every setting of the binary: its variable, the option of \`doorbell start\` that wins over it, its default and the reason for
it. An empty variable is none. A bad value ends the command with exit code 2 and names the variable; a variable that begins
with \`DOORBELL_\` and is not in this table is told by \`doorbell doctor\`. Durations are written with their unit: \`250ms\`,
\`30s\`, \`5m\`, \`1h\`, \`7d\`. What a command line would show to everyone on the machine has no option.
`;

const tail = `## In the database

These hold for all processes at once, so they are rows of \`doorbell.settings\`. Whoever migrates
changes them: \`set role doorbell_owner; update doorbell.settings set value = '60' where name = 'retention_days'\`.

| name | default | meaning, and why this default |
|---|---|---|
| \`max_value_bytes\` | \`65536\` | The most that a payload, a result or the value of an effect may have, as compact JSON. A process reads it when it starts. Rows stay small, and what is large goes into the object store, where a replay finds it unchanged. |
| \`retention_days\` | \`30\` | How long a settled job stays, with its attempts, logs, effects and keys. A month's invoice run can still be explained when the next one is made. Unfinished jobs and dead letters never go by themselves. |
| \`process_killer_after\` | \`3\` | After so many lost leases in a row a job is a dead letter, with attempts left or not; \`0\`: never. One death is an accident, and two may be. |
| \`breaker_failures\` | \`10\` | So many jobs of a kind and tenant that fail alike, without a success in between, pause that kind for that tenant; \`0\`: never. |
| \`breaker_window_ms\` | \`60000\` | Within so long. Slower failures are kept apart by the backoff of retries. |
| \`breaker_pause_ms\` | \`60000\` | The first pause. Each next one is twice as long, up to 15 minutes. |
`;

function shownDefault(setting: Setting<unknown>): string {
  if (setting.env === "DOORBELL_ENV") return "depends";
  return defaultText(setting, (text) => `\`${text}\``) ?? "none";
}

/** On `vitest -u` the page is written anew from the table. */
test("docs/settings.md says what the table of settings says", async () => {
  const rows = settingNames.map((name) => {
    const setting = settingsTable[name];
    const option = setting.flag === null ? "" : `\`${setting.flag}\``;
    return `| \`${setting.env}\` | ${option} | ${setting.unit} | ${shownDefault(setting)} | ${setting.meaning} ${setting.reason} |`;
  });
  const title = "| variable | option | value | default | meaning, and why this default |\n|---|---|---|---|---|";
  const page = `${head}\n## Of a process\n\n${title}\n${rows.join("\n")}\n\n${tail}`;
  await expect(page).toMatchFileSnapshot("../../../../docs/settings.md");
});

test("every variable and every option is there once", () => {
  const settings = settingNames.map((name) => settingsTable[name]);
  const names = [...settings.map(({ env }) => env), ...settings.flatMap(({ flag }) => flag ?? [])];
  expect(new Set(names).size).toBe(names.length);
});
