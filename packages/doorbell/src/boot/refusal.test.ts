import { expect, test } from "vitest";
import type { Finding, FindingCode } from "./finding.ts";
import { reasonsToRefuse, refusalText } from "./refusal.ts";

const finding = (code: FindingCode, severity: Finding["severity"] = "refuse"): Finding => ({
  code,
  severity,
  subject: "subject",
  message: "the fact",
  mend: "the mend",
});

test("production starts with warnings only", () => {
  const findings = [finding("queue_in_process"), finding("setting_unknown", "warn"), finding("schema_behind")];
  expect(reasonsToRefuse(findings, "production").map(({ code }) => code)).toEqual([
    "queue_in_process",
    "schema_behind",
  ]);
  expect(reasonsToRefuse([finding("setting_unknown", "warn")], "production")).toEqual([]);
});

test("development starts with what production refuses, unless nothing could work", () => {
  const findings = [finding("queue_in_process"), finding("login_superuser"), finding("database_unreachable")];
  expect(reasonsToRefuse(findings, "development").map(({ code }) => code)).toEqual(["database_unreachable"]);
});

test("each reason is one line, whatever is in its text", () => {
  const findings = [{ ...finding("check_failed"), message: "first\n  second\u{1b}[2J" }, finding("schema_behind")];
  expect(refusalText(findings, "production").split("\n")).toEqual([
    "doorbell: refused to start in production: first second [2J (the mend)",
    "doorbell: refused to start in production: the fact (the mend)",
    "",
  ]);
});
