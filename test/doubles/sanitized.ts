// SPDX-License-Identifier: Apache-2.0
// Test files that run once more, with an addon that AddressSanitizer and UBSan watch (test/sanitize/sanitize.mjs).
import { spawn } from "node:child_process";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect } from "vitest";
import { packageRoot } from "../../core/index.js";

interface Report {
  failed: unknown[];
  sanitizerReports: string[];
  rows: [{ testFiles: number; passed: number }];
}

/** Builds the addon in a copy of the project and runs the files; nothing may fail there, and no sanitizer may say anything. */
export async function runSanitized(
  addon: "depthwatt" | "v4l2_camera",
  files: readonly string[],
  fewestTests: number,
): Promise<void> {
  const root = packageRoot();
  const words = [join(root, "test/sanitize/sanitize.mjs"), "--addon", addon, "--quick", ...files];
  // Some test commands print in colours by default.
  const env = { ...process.env, NO_COLOR: "1", FORCE_COLOR: "0" };
  const child = spawn(process.execPath, words, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = new Promise((resolve) => child.once("close", resolve));
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  const last = stdout.trim().split("\n").at(-1);
  if (!last?.startsWith("{"))
    throw new Error(`no report of test/sanitize/sanitize.mjs: ${stderr.slice(-4000)}`);
  const { failed, sanitizerReports, rows } = JSON.parse(last) as Report;
  const [{ testFiles, passed }] = rows;
  expect(sanitizerReports.join("\n")).toBe("");
  expect(failed, stderr.slice(-4000)).toEqual([]);
  expect(code, stderr.slice(-4000)).toBe(0);
  expect(testFiles).toBe(files.length);
  expect(passed).toBeGreaterThanOrEqual(fewestTests);
}
