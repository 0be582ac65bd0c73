// SPDX-License-Identifier: Apache-2.0
// Tests the files that depthwatt config writes: --init and --print --yaml.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { INITIAL_KEYS, initialFile } from "../../../../edge/commands/config/initial-file.js";
import { loadConfig } from "../../../../edge/config/index.js";
import { runInProcess } from "../../../doubles/command-line.js";
import { runProgram } from "../../../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-config-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("config --init writes a file that changes nothing until it is edited, and overwrites none", async () => {
  const file = join(folder, "new.yaml");
  const ran = await runProgram(["config", "--init", file]);
  expect(ran.code, ran.stderr).toBe(0);
  expect(ran.stdout).toContain(file);
  const { config, origins } = loadConfig({ file, environment: {} });
  expect(config).toEqual(loadConfig({ environment: {} }).config);
  expect([...origins].filter(([, { kind }]) => kind === "file").length).toBeGreaterThan(15);
  const again = await runInProcess(["config", "--init", file]);
  expect(again.code).not.toBe(0);
  expect(again.stderr).toContain("it is there already");
  expect(readFileSync(file, "utf8")).toBe(initialFile());
});

test("every line of it that is a comment may be given a value", () => {
  const edited = initialFile()
    .replace("# left: (text)", "left: /dev/video0")
    .replace("# right: (text)", "right: /dev/video2");
  const file = join(folder, "edited.yaml");
  writeFileSync(file, edited);
  const { v4l2 } = loadConfig({ file, environment: {} }).config.source;
  expect([v4l2.left, v4l2.right]).toEqual(["/dev/video0", "/dev/video2"]);
  for (const key of INITIAL_KEYS)
    expect(edited).toMatch(new RegExp(`^ *(# )?${key.split(".").at(-1)}:`, "m"));
});

test("config --print --yaml is a configuration file with the same values", async () => {
  const words = ["config", "--print", "--yaml", "--set", "match.sgm.paths=8", "--set", "device=porch"];
  const { stdout } = await runInProcess(words);
  const file = join(folder, "printed.yaml");
  writeFileSync(file, stdout);
  const expected = loadConfig({ set: ["match.sgm.paths=8", "device=porch"], environment: {} }).config;
  expect(loadConfig({ file, environment: {} }).config).toEqual(expected);
});
