// SPDX-License-Identifier: Apache-2.0
// Tests which pairs an archive holds: data sets, folders of both sides, folders of these, and images without a partner.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listArchive } from "../../../../../edge/commands/batch/archive.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-archive-"));
});
afterEach(() => rmSync(folder, { recursive: true }));
const write = (...names: string[]) => {
  for (const name of names) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), "");
  }
};

test("pairs by name, with their paths below the archive; images without a partner are counted", async () => {
  write("left/1.png", "left/2.png", "left/4.png", "right/1.png", "right/2.png", "right/3.png");
  expect(await listArchive(folder)).toEqual({
    pairs: ["1", "2"].map((name) => ({ name, left: `left/${name}.png`, right: `right/${name}.png` })),
    unmatched: 2,
  });
});

test("folders within folders, four deep, without hidden ones; a data set among them", async () => {
  write("b/left/1.png", "b/right/1.png", "a/x/y/z/left/1.png", "a/x/y/z/right/1.png");
  write("a/x/y/z/v/left/1.png", ".hidden/left/1.png", ".hidden/right/1.png", "notes.txt");
  write("deep/x/y/z/v/left/1.png", "deep/x/y/z/v/right/1.png", "set/l.png", "set/r.png", "set/t.pfm");
  const scene = {
    name: "scene",
    left: "l.png",
    right: "r.png",
    groundTruth: { path: "t.pfm", scale: 1, invalid: "inf" },
    masks: {},
    numDisparities: 16,
    badThresholdPx: 1,
  };
  writeFileSync(join(folder, "set/dataset.json"), JSON.stringify({ scenes: [scene] }));
  expect(await listArchive(folder)).toEqual({
    pairs: [
      { name: "a/x/y/z/1", left: "a/x/y/z/left/1.png", right: "a/x/y/z/right/1.png" },
      { name: "b/1", left: "b/left/1.png", right: "b/right/1.png" },
      { name: "set/scene", left: "set/l.png", right: "set/r.png" },
    ],
    unmatched: 0,
  });
});

test("an empty archive, a file and a missing folder are refused", async () => {
  write("images.txt");
  await expect(listArchive(folder)).rejects.toMatchObject({ code: "SOURCE_EMPTY" });
  for (const name of ["images.txt", "none"])
    await expect(listArchive(join(folder, name))).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: expect.stringContaining("found none"),
    });
});
