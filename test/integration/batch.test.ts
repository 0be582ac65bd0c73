// SPDX-License-Identifier: Apache-2.0
// Whole archives: results equal to match's byte for byte, killed and gone on with, in parts, with bad pairs among the good.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeScene } from "../../camera/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { until } from "../doubles/frames.js";
import { lastJson, runProgram, startProgram } from "../doubles/program.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-batch-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const place = (...names: string[]) => join(folder, ...names);
const PAIRS = 24;
const QUICK = ["--num-disparities", "16", "--set", "board=none"];

interface Summary {
  pairs: number;
  written: number;
  kept: number;
  skipped: Record<string, number>;
  unmatched: number;
  occupancy: Record<string, number>;
}
const batch = async (out: string, ...words: string[]) => {
  const ran = await runProgram(["batch", place("archive"), place(out), "--json", ...QUICK, ...words]);
  return {
    ...ran,
    summary: ran.code === 0 || ran.code === 6 ? lastJson<Summary & Record<string, unknown>>(ran) : undefined,
  };
};
const resultsIn = (out: string) =>
  existsSync(place(out))
    ? (readdirSync(place(out), { recursive: true }) as string[])
        .filter((name) => name.endsWith(".pfm"))
        .sort()
    : [];

/** The complete run whose results other tests compare with theirs. */
let first: Awaited<ReturnType<typeof batch>>;
beforeAll(async () => {
  const options = { frames: PAIRS, width: 128, height: 96, truth: "left", view: "ideal" } as const;
  await writeScene(loadNative(), { ...options, folder: place("archive/scene") });
  first = await batch("first");
}, 60_000);

test("each result is that of match, byte for byte", async () => {
  const { code, summary, stderr } = first;
  expect(code, stderr).toBe(0);
  expect(summary).toMatchObject({ pairs: PAIRS, written: PAIRS, kept: 0, skipped: {} });
  expect(Object.keys(summary!.occupancy)).toEqual(["decode", "open", "match", "write"]);
  for (const percent of Object.values(summary!.occupancy)) {
    expect(percent).toBeGreaterThan(0);
    expect(percent).toBeLessThanOrEqual(100);
  }
  expect(stderr).not.toMatch(/\r|\[#/);
  for (const name of ["000000", "000017"]) {
    const out = place(`${name}.pfm`);
    const images = ["left", "right"].map((side) => place("archive/scene", side, `${name}.png`));
    expect((await runProgram(["match", ...images, "-o", out, ...QUICK])).code).toBe(0);
    expect(readFileSync(place("first/scene", `${name}.pfm`)).equals(readFileSync(out)), name).toBe(true);
  }
});

test("killed and started again: nothing is computed twice, and all of it is there", async () => {
  const words = ["batch", place("archive"), place("killed"), "--json", "--ahead", "2", ...QUICK];
  const before = new Map<string, number>();
  for (let kill = 0; kill < 2; kill++) {
    const { child, ended } = startProgram(words);
    let over = false;
    void ended.then(() => {
      over = true;
    });
    const there = resultsIn("killed").length;
    // On a fast machine it may have finished before the check.
    const some = () => over || resultsIn("killed").length >= there + 3;
    await until("some results are there", some, 60_000);
    child.kill("SIGKILL");
    await ended;
    for (const name of resultsIn("killed")) {
      const { mtimeMs, ino } = statSync(place("killed", name));
      if (before.has(name)) expect(mtimeMs + ino).toBe(before.get(name));
      before.set(name, mtimeMs + ino);
      // Whole, or not there.
      expect(readFileSync(place("killed", name)).equals(readFileSync(place("first", name))), name).toBe(true);
    }
  }
  const { summary } = await batch("killed");
  expect(summary!.kept).toBe(before.size);
  expect(summary!.written + summary!.kept).toBe(PAIRS);
  expect(resultsIn("killed")).toEqual(resultsIn("first"));
});

test("three parts are disjoint and together all of it; a scheduler may say which", async () => {
  const parts = [
    await runProgram(["batch", place("archive"), place("parts"), "--json", "--shard", "1/3", ...QUICK]),
    await runProgram(["batch", place("archive"), place("parts"), "--json", "--shard", "3", ...QUICK], {
      JOB_COMPLETION_INDEX: "1",
    }),
    await runProgram(["batch", place("archive"), place("parts"), "--json", ...QUICK], {
      SLURM_ARRAY_TASK_ID: "2",
      SLURM_ARRAY_TASK_COUNT: "3",
    }),
  ].map((ran) => lastJson<Summary>(ran));
  for (const part of parts) expect(part).toMatchObject({ pairs: PAIRS / 3, written: PAIRS / 3, kept: 0 });
  expect(resultsIn("parts")).toEqual(resultsIn("first"));
});

test("bad pairs are skipped, reported and counted, and set the exit code", async () => {
  mkdirSync(place("bad/left"), { recursive: true });
  mkdirSync(place("bad/right"));
  for (const side of ["left", "right"]) {
    for (const name of ["000000", "000001", "000002", "000003"])
      copyFileSync(place("archive/scene", side, `${name}.png`), place("bad", side, `${name}.png`));
  }
  writeFileSync(place("bad/left/000001.png"), "no picture");
  rmSync(place("bad/right/000003.png"));
  const ran = await runProgram(["batch", place("bad"), place("bad-out"), "--json", ...QUICK]);
  expect(ran.code).toBe(6);
  const summary = lastJson<Summary>(ran);
  expect(summary).toMatchObject({ pairs: 3, written: 2, unmatched: 1 });
  expect(Object.values(summary.skipped)).toEqual([1]);
  expect(ran.stderr).toMatch(/skipped: 000001: .*000001\.png: expected/);
});

test("results of other settings are not mixed in, and an archive without pairs is refused", async () => {
  const other = await batch("first", "--set", "match.sgm.p1=9");
  expect(other.code).toBe(2);
  expect(other.stderr).toMatch(/found results of other settings/);
  mkdirSync(place("empty"));
  const none = await runProgram(["batch", place("empty"), place("empty-out"), ...QUICK]);
  expect(none.code).toBe(3);
  expect(none.stderr).toMatch(/expected dataset\.json, left\/ and right\/, or mav0\//);
  expect(existsSync(place("empty-out")), "nothing was computed, so nothing is claimed").toBe(false);
});

test("an archive that cannot be looked at is an error of one line, and claims no folder", async () => {
  symlinkSync("circle", place("circle"));
  for (const archive of [place("circle"), place("n".repeat(300)), place("archive/scene/left/000000.png/x")]) {
    const ran = await runProgram(["batch", archive, place("unclaimed"), ...QUICK]);
    expect(ran.code, ran.stderr).toBe(3);
    expect(ran.stderr).toMatch(/^error: expected a folder of image pairs at .*\nhint: .*\n$/);
  }
  expect(existsSync(place("unclaimed"))).toBe(false);
});

test("pictures of the archive are not taken for results", async () => {
  const left = place("archive/scene/left");
  const before = readdirSync(left).sort();
  const ran = await runProgram(["batch", place("archive/scene"), left, "--format", "png", ...QUICK]);
  expect(ran.code, ran.stdout).toBe(2);
  expect(ran.stderr).toMatch(/found 000000\.png without batch\.json/);
  expect(readdirSync(left).sort()).toEqual(before);
});
