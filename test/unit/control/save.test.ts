// SPDX-License-Identifier: Apache-2.0
// Saving settings: comments, order and everything else in the file stay, or the file stays as it was.
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { loadConfig, type SettingsChange } from "../../../edge/config/index.js";
import { saveSettings, withSettings } from "../../../edge/control/save.js";

const FILE = `# robot 1, hall 2
match:
  # the shelf is 40 cm away
  numDisparities: 128 # more is slower

  minDisparity: 8
power: {minFps: 20} # dock
`;

test("comments, order and blank lines stay; a value is changed, added or removed", () => {
  const change = {
    "match.numDisparities": 64,
    "match.halfResolution": true,
    "power.minFps": undefined,
    "refine.median": false,
  };
  expect(withSettings(FILE, change)).toBe(`# robot 1, hall 2
match:
  # the shelf is 40 cm away
  numDisparities: 64 # more is slower

  minDisparity: 8
  halfResolution: true
power: {} # dock
refine:
  median: false
`);
});

test.each<[string, string, SettingsChange, string]>([
  ["an empty file", "", { "match.minDisparity": 2 }, "match:\n  minDisparity: 2\n"],
  [
    "only a comment",
    "# nothing yet\n",
    { "match.minDisparity": 2 },
    "# nothing yet\n\nmatch:\n  minDisparity: 2\n",
  ],
  [
    "an empty group",
    "match:\nlog: {level: warn}\n",
    { "match.minDisparity": 2 },
    "log: { level: warn }\nmatch:\n  minDisparity: 2\n",
  ],
  [
    "JSON",
    '{"match": {"minDisparity": 8}}\n',
    { "match.minDisparity": 2 },
    '{ "match": { "minDisparity": 2 } }\n',
  ],
  ["a value that was an alias", "a: &p 8\n", {}, "a: &p 8\n"],
])("%s", (_, before, change, after) => {
  expect(withSettings(before, change)).toBe(after);
});

test.each([
  ["an alias for a group", "refine: &r {median: true}\nmatch: *r\n", { "match.minDisparity": 2 }],
  ["an anchor that others use", "match: &m {minDisparity: 8}\nrefine: *m\n", { "match.minDisparity": 2 }],
])("%s is not written through", (_, text, change) => {
  expect(() => withSettings(text, change)).toThrow(/alias|anchor/);
});

function folderWith(text: string): { folder: string; file: string } {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-save-"));
  const file = join(folder, "depthwatt.yaml");
  writeFileSync(file, text);
  return { folder, file };
}

const load = (candidate: string) =>
  loadConfig({ file: candidate, set: ["match.minDisparity=4"], environment: {} }).config;

test("the file is replaced whole, through a link, with its mode; what a flag overrides is reported", () => {
  const { folder, file } = folderWith(FILE);
  chmodSync(file, 0o640);
  const link = join(folder, "link.yaml");
  symlinkSync(file, link);
  expect(saveSettings(link, { "match.numDisparities": 64, "match.minDisparity": 2 }, load)).toEqual({
    file: link,
    overridden: ["match.minDisparity"],
  });
  expect(readFileSync(file, "utf8")).toContain("numDisparities: 64 # more is slower");
  expect(statSync(file).mode & 0o777).toBe(0o640);
  expect(readdirSync(folder).sort()).toEqual(["depthwatt.yaml", "link.yaml"]);
});

test("a file with which the next start would fail is not written, and nothing is left next to it", () => {
  const { folder, file } = folderWith("match: {sgm: {p2: 30}}\n");
  expect(() => saveSettings(file, { "match.sgm.p1": 31 }, load)).toThrow(
    expect.objectContaining({
      code: "OUTPUT_UNWRITABLE",
      message: expect.stringContaining("at most match.sgm.p2"),
    }),
  );
  expect(readFileSync(file, "utf8")).toBe("match: {sgm: {p2: 30}}\n");
  expect(readdirSync(folder)).toEqual(["depthwatt.yaml"]);
});

test("values of a rig go into its group, and nothing else changes", () => {
  const before = "match: { numDisparities: 64 }\nrigs:\n  # at the bow\n  front: { device: bow }\n  rear:\n";
  const change = { "match.numDisparities": 128 };
  expect(withSettings(before, change, ["rigs", "front"])).toBe(
    "match: { numDisparities: 64 }\nrigs:\n  # at the bow\n  front: { device: bow, match: { numDisparities: 128 } }\n  rear:\n",
  );
  expect(withSettings(before, change, ["rigs", "rear"])).toContain(
    "rear:\n    match:\n      numDisparities: 128",
  );
});
