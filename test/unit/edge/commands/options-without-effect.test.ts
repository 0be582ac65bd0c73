// SPDX-License-Identifier: Apache-2.0
// Options that would have no effect are refused before anything is read or written.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { runInProcess } from "../../../doubles/command-line.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-options-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const recording = join(folder, "x.mcap");
writeFileSync(recording, "no recording");
for (const side of ["left", "right"]) mkdirSync(join(folder, "archive", side), { recursive: true });
const archive = join(folder, "archive");

test.each([
  [["batch", archive, join(folder, "out"), "--ack-wait", "5"], /expected --queue with --ack-wait/],
  [["batch", archive, join(folder, "out"), "--enqueue"], /expected --queue with --enqueue/],
  [["batch", archive, join(folder, "out"), "--again"], /expected --enqueue with --again/],
  [["batch", archive, `${archive}/`], /expected another folder than the archive/],
  [["convert", recording, join(folder, "x.csv"), "--rate", "5"], /expected --rate only with --to mcap/],
  [["convert", recording, join(folder, "x"), "--calibration", "c.yaml"], /expected --calibration only with/],
  [["convert", recording, ""], /expected a folder or file to write, got an empty name/],
  [["set", "fps=1", "fps=2", "--device", "x"], /expected each key once, got "fps" twice/],
])("%j", async (words, message) => {
  const { code, stderr } = await runInProcess(words);
  expect(code, stderr).toBe(2);
  expect(stderr).toMatch(message);
  expect(readdirSync(folder).sort()).toEqual(["archive", "x.mcap"]);
});

test("a run whose recording is off does not say that it records", async () => {
  const file = join(folder, "off.mcap");
  const set = [
    `outputs.mcap.file=${file}`,
    "outputs.mcap.recording=false",
    "outputs.viewer.enabled=false",
    "board=none",
    "source.synthetic.width=96",
    "source.synthetic.height=64",
    "match.numDisparities=16",
  ];
  const words = ["run", "--broker", "none", "--frames", "1", ...set.flatMap((one) => ["--set", one])];
  const { code, stdout, stderr } = await runInProcess(words);
  expect(code, stderr).toBe(0);
  expect(stdout).toContain(`recording off, until outputs.mcap.recording is true: ${file}`);
  expect(existsSync(file)).toBe(false);
});
