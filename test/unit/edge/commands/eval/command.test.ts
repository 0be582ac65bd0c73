// SPDX-License-Identifier: Apache-2.0
// depthwatt eval as a whole, on two scenes of one disparity each: one whose ground truth is right, one whose truth is far off.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { encodePfm, encodePng } from "../../../../../camera/index.js";
import { ALGORITHMS } from "../../../../../cuda/index.js";
import "../../../../../edge/commands/eval/command.js";
import { runInProcess } from "../../../../doubles/command-line.js";
import { Random } from "../../../../doubles/random.js";

const [WIDTH, HEIGHT] = [64, 40];
/** The images are shifted by this. */
const DISPARITY = 6;
const folder = mkdtempSync(join(tmpdir(), "depthwatt-eval-"));
const [data, other, plots] = [join(folder, "data"), join(folder, "other"), join(folder, "plots")];
const before = process.cwd();

const MASKS = ["nonocc", "all", "disc"] as const;

async function writeScene(dataset: string, name: string, truth: number, masks: readonly string[]) {
  const random = new Random(7);
  const at = (y: number, x: number) => y * (WIDTH + DISPARITY) + x;
  const wide = Uint8Array.from({ length: (WIDTH + DISPARITY) * HEIGHT }, () => random.whole(0, 255));
  const view = (shift: number) =>
    Uint8Array.from(
      { length: WIDTH * HEIGHT },
      (_, i) => wide[at(Math.floor(i / WIDTH), (i % WIDTH) + shift)]!,
    );
  // Next to the edges the matcher may be wrong.
  const inside = (i: number) => {
    const [x, y] = [i % WIDTH, Math.floor(i / WIDTH)];
    return x >= 30 && x < WIDTH - 8 && y >= 8 && y < HEIGHT - 8;
  };
  const size = { width: WIDTH, height: HEIGHT };
  const place = join(dataset, name);
  mkdirSync(place, { recursive: true });
  writeFileSync(join(place, "left.png"), await encodePng({ data: view(0), ...size }));
  writeFileSync(join(place, "right.png"), await encodePng({ data: view(DISPARITY), ...size }));
  const map = Float32Array.from({ length: WIDTH * HEIGHT }, (_, i) =>
    inside(i) ? truth : Number.POSITIVE_INFINITY,
  );
  writeFileSync(join(place, "truth.pfm"), encodePfm({ data: map, ...size }));
  const mask = Uint8Array.from({ length: WIDTH * HEIGHT }, (_, i) => (inside(i) ? 255 : 0));
  for (const one of masks) writeFileSync(join(place, `${one}.png`), await encodePng({ data: mask, ...size }));
  return {
    name,
    left: `${name}/left.png`,
    right: `${name}/right.png`,
    groundTruth: { path: `${name}/truth.pfm`, scale: 1, invalid: "inf" },
    masks: Object.fromEntries(masks.map((one) => [one, `${name}/${one}.png`])),
    numDisparities: 16,
    badThresholdPx: 1,
  };
}

beforeAll(async () => {
  for (const each of [data, other, plots]) mkdirSync(each);
  const scenes = [await writeScene(data, "right", DISPARITY, MASKS), await writeScene(data, "wrong", 40, [])];
  writeFileSync(join(data, "dataset.json"), JSON.stringify({ scenes }));
  const more = [await writeScene(other, "third", DISPARITY, [])];
  writeFileSync(join(other, "dataset.json"), JSON.stringify({ scenes: more }));
  process.chdir(plots);
});
afterAll(() => {
  process.chdir(before);
  rmSync(folder, { recursive: true });
});

const evaluate = (...words: string[]) =>
  runInProcess(["eval", data, "--frames", "1", "--backend", "cpu", ...words]);

interface Scene {
  name: string;
  numDisparities: number;
  thresholdPx: number;
  masks: Record<string, { badPercent: number }>;
}
async function scenesOf(...words: string[]): Promise<(string | number)[][]> {
  const { code, stdout, stderr } = await evaluate("--json", ...words);
  expect([code, stderr]).toEqual([0, ""]);
  const { scenes } = JSON.parse(stdout) as { scenes: Scene[] };
  return scenes.map(({ name, numDisparities, thresholdPx, masks }) => [
    name,
    numDisparities,
    thresholdPx,
    masks.valid!.badPercent,
  ]);
}

/** Cells of the lines of a table. */
const cells = (lines: readonly string[]) => lines.map((line) => line.split(/ {2,}/));

test("the tables: scores of each mask, measures of every and of matched pixels, and the surest pixels", async () => {
  const { code, stdout, stderr } = await evaluate();
  expect([code, stderr]).toEqual([0, "% bad counts pixels without an estimate as wrong.\n"]);
  const lines = stdout.split("\n");
  const blank = lines.indexOf("");
  const scores = cells(lines.slice(0, blank - 1));
  expect(scores[0]!.slice(-2)).toEqual(["error px", "ms"]);
  // The last two columns are an error below 1/16 px, or 34 px, and a time.
  expect(scores.map((row) => row.slice(0, -2))).toEqual([
    ["scene", "mask", "threshold px", "% bad", "% bad of valid", "density %"],
    ...["valid", ...MASKS].map((mask) => ["right", mask, "1", "0.00", "0.00", "100.0"]),
    ["wrong", "valid", "1", "100.00", "100.00", "100.0"],
    ["mean", "valid", "1", "50.00", "50.00", "100.0"],
    ...MASKS.map((mask) => ["mean", mask, "1", "0.00", "0.00", "100.0"]),
  ]);
  expect(scores[5]!.at(-2)).toBe("34.00");
  expect(lines[blank - 1]).toBe("Middlebury v2, mean of nonocc, all and disc: 0.000 %");
  const [second] = [lines.indexOf("", blank + 1)];
  const measures = cells(lines.slice(blank + 1, second));
  const rowsOf = (name: string, mask: string, bad: string) =>
    ["every", "matched"].map((pixels) => [name, mask, pixels, bad, bad, bad, bad, bad, "100.0"]);
  expect(measures.map((row) => row.slice(0, -1))).toEqual([
    ["scene", "mask", "pixels", "D1 %", "bad 0.5 %", "bad 1 %", "bad 2 %", "bad 4 %", "density %"],
    ...["all", "nonocc", "disc"].flatMap((mask) => rowsOf("right", mask, "0.00")),
    ...rowsOf("wrong", "all", "100.00"),
    ...rowsOf("mean", "all", "50.00"),
    ...["nonocc", "disc"].flatMap((mask) => rowsOf("mean", mask, "0.00")),
  ]);
  const tenths = Array.from({ length: 10 }, (_, at) => `${10 * (at + 1)} %`);
  expect(cells(lines.slice(second + 1))).toEqual([
    ["% bad of the surest", ...tenths],
    ["right", ...tenths.map(() => "0.00")],
    ["wrong", ...tenths.map(() => "100.00")],
    ["mean", ...tenths.map(() => "50.00")],
    [""],
  ]);
});

test("scenes without Middlebury's masks have no mean of them", async () => {
  const { stdout } = await evaluate("--scenes", "wrong");
  expect(stdout).toContain("% bad of the surest");
  expect(stdout).not.toContain("Middlebury");
});

test("each scene has its own search range and threshold, unless a flag or setting says another", async () => {
  expect(await scenesOf()).toEqual([
    ["right", 16, 1, 0],
    ["wrong", 16, 1, 100],
  ]);
  expect(await scenesOf("--set", "match.numDisparities=24")).toEqual([
    ["right", 24, 1, 0],
    ["wrong", 24, 1, 100],
  ]);
  // The far-off truth is 34 px away.
  expect(await scenesOf("--threshold", "35")).toEqual([
    ["right", 16, 35, 0],
    ["wrong", 16, 35, 0],
  ]);
  const refused = await evaluate("--threshold", "0");
  expect([refused.code, refused.stdout]).toEqual([2, ""]);
  expect(refused.stderr).toContain('expected a number above 0 for --threshold, got "0"');
});

test("scenes of several folders, and those that --scenes names", async () => {
  expect((await scenesOf(other)).map(([name]) => name)).toEqual(["right", "wrong", "third"]);
  expect((await scenesOf(other, "--scenes", "third, right")).map(([name]) => name)).toEqual([
    "right",
    "third",
  ]);
  const { code, stderr } = await evaluate("--scenes", "right,left");
  expect(code).toBe(2);
  expect(stderr).toContain(
    'expected --scenes to name scenes of the data, of which there are right, wrong; got "left"',
  );
});

test("a matcher that reads colours says which scenes have none", async () => {
  const { code, stderr } = await evaluate("--algorithm", "sad");
  expect(code).toBe(0);
  expect(stderr).toContain(
    "sad reads colours, right, wrong: the pictures have no colours: red, green and blue are the grey value\n",
  );
});

/** Lines of CSV, whose last number is a time, without it. */
const withoutTimes = (csv: string) => csv.trimEnd().replace(/,\d+\.\d{4}$/gm, "");

const COLUMNS = [
  ...["valid", ...MASKS].map((mask) => `right ${mask}`),
  "wrong valid",
  ...["valid", ...MASKS].map((mask) => `mean ${mask}`),
];
/** % bad of these columns: the shift is found, or below the search. */
const FOUND = COLUMNS.map((name) => (name === "mean valid" ? 50 : name.startsWith("wrong") ? 100 : 0));
const MISSED = COLUMNS.map(() => 100);
const csvOf = (...lines: (string | number)[][]) =>
  lines
    .map(([head, ...rest]) => [head, ...rest.map((one) => (typeof one === "number" ? one.toFixed(4) : one))])
    .join("\n");

test("a sweep: a line of CSV for each value, and a plot", async () => {
  const { code, stdout, stderr } = await evaluate("--sweep", "minDisparity=0:8:8");
  expect(code).toBe(0);
  // Disparities from 8 do not hold the shift of 6.
  expect(withoutTimes(stdout)).toBe(
    csvOf(["match.minDisparity", ...COLUMNS, "milliseconds"], ["0", ...FOUND], ["8", ...MISSED]),
  );
  expect(stderr.split("\n")).toEqual([
    "match.minDisparity = 0",
    "match.minDisparity = 8",
    "plot: sweep-match.minDisparity.svg",
    "",
  ]);
  const svg = readFileSync("sweep-match.minDisparity.svg", "utf8");
  expect(svg).toContain("data: % bad over match.minDisparity");
});

test("a sweep as JSON, with a plot of another name, and one that cannot be written", async () => {
  const words = ["--sweep", "minDisparity=0,8", "--json", "--plot"];
  const { code, stdout } = await evaluate(...words, join(folder, "mine.svg"));
  const { parameter, plot, rows } = JSON.parse(stdout);
  expect([code, parameter, plot]).toEqual([0, "match.minDisparity", join(folder, "mine.svg")]);
  expect(
    rows.map(({ value, mean }: { value: number; mean: Scene }) => [value, mean.masks.valid!.badPercent]),
  ).toEqual([
    [0, 50],
    [8, 100],
  ]);
  expect(existsSync(plot)).toBe(true);
  const lost = await evaluate(...words, join(folder, "none/mine.svg"));
  expect(lost.code).not.toBe(0);
  expect(JSON.parse(lost.stdout).rows).toHaveLength(2);
  expect(lost.stderr).toContain(`cannot write ${join(folder, "none/mine.svg")}: `);
});

test("a grid: every value of the first with every value of the second, as CSV and as two plots", async () => {
  const { code, stdout, stderr } = await evaluate("--sweep", "minDisparity=0,8", "--sweep", "p1=5,9");
  expect(code).toBe(0);
  expect(withoutTimes(stdout)).toBe(
    csvOf(
      ["match.minDisparity", "match.sgm.p1", "% bad", ...COLUMNS, "milliseconds"],
      ["0", "5", 0, ...FOUND],
      ["0", "9", 0, ...FOUND],
      ["8", "5", 100, ...MISSED],
      ["8", "9", 100, ...MISSED],
    ),
  );
  const [plot, heat] = [
    "sweep-match.minDisparity-match.sgm.p1.svg",
    "heat-match.minDisparity-match.sgm.p1.svg",
  ];
  expect(stderr.split("\n")).toEqual([
    ...[0, 8].flatMap((x) => [5, 9].map((y) => `match.minDisparity = ${x}, match.sgm.p1 = ${y}`)),
    `plot: ${plot}, heat map: ${heat}`,
    "",
  ]);
  expect(readFileSync(heat!, "utf8")).toContain("data, % bad");
  expect(readFileSync(plot!, "utf8")).toContain("<svg");
  const named = ["--plot", "a.svg", "--heat-map", "b.svg", "--json"];
  const ran = await evaluate("--sweep", "minDisparity=0,8", "--sweep", "p1=5", "--scenes", "wrong", ...named);
  const { parameters, plot: first, heatMap, rows } = JSON.parse(ran.stdout);
  expect([parameters, first, heatMap]).toEqual([["match.minDisparity", "match.sgm.p1"], "a.svg", "b.svg"]);
  // Without Middlebury's masks the number is the mean of all valid pixels.
  expect(
    rows.map(({ values, badPercent }: { values: number[]; badPercent: number }) => [values, badPercent]),
  ).toEqual([
    [[0, 5], 100],
    [[8, 5], 100],
  ]);
  expect(existsSync("a.svg") && existsSync("b.svg")).toBe(true);
});

test.each([
  [
    ["--sweep", "p1=5", "--sweep", "match.sgm.p1=6"],
    "expected two parameters to sweep, got match.sgm.p1 twice",
  ],
  [["--sweep", "p1=5", "--set", "match.sgm.p1=7"], "expected --sweep or --set of match.sgm.p1, got both"],
  [
    ["--sweep", "minDisparity=0", "--sweep", "p1=5", "--set", "match.sgm.p1=7"],
    "expected --sweep or --set of match.sgm.p1, got both",
  ],
  // Halves reach numbers that are not whole.
  [["--sweep", "p1=5:6:0.5"], "match.sgm.p1"],
  [["--sweep", "minDisparity=0", "--sweep", "p1=5:6:0.5"], "match.sgm.p1"],
  [
    ["--sweep", "p1=5", "--sweep", "p2=60", "--plot", "c.svg", "--heat-map", "c.svg"],
    "--heat-map and --plot",
  ],
  // Each alone is possible, the largest of both are not.
  [["--sweep", "minDisparity=0,1600", "--sweep", "numDisparities=16,512"], "at most 2047, got 2112"],
])("%j is refused before a scene is read", async (words, message) => {
  const { code, stdout, stderr } = await runInProcess(["eval", join(folder, "none"), ...words]);
  expect([code, stdout]).toEqual([2, ""]);
  expect(stderr).toContain(message);
});

test("--algorithm all: a line for each matcher", async () => {
  const { code, stdout, stderr } = await evaluate("--algorithm", "all");
  expect(code).toBe(0);
  const rows = cells(stdout.trimEnd().split("\n"));
  expect(rows[0]).toEqual([
    "matcher",
    ...["valid", ...MASKS].map((mask) => `% bad, ${mask}`),
    ...["nonocc, all, disc", "ms", "MDE/s"],
  ]);
  expect(rows.slice(1).map((row) => row.slice(0, -2))).toEqual(
    ALGORITHMS.map((name) => [name, "50.00", "0.00", "0.00", "0.00", "0.000"]),
  );
  for (const [at, name] of ALGORITHMS.entries()) {
    expect(stderr).toMatch(new RegExp(`^${name}$`, "m"));
    // Both scenes have 64 x 40 pixels and 16 disparities; the time has one decimal place.
    const [ms, rate] = rows[at + 1]!.slice(-2).map(Number) as [number, number];
    const disparities = (WIDTH * HEIGHT * 16) / 1000;
    expect(rate).toBeGreaterThan(disparities / (ms + 0.06) - 1);
    if (ms > 0.1) expect(rate).toBeLessThan(disparities / (ms - 0.06) + 1);
  }
});

test("--algorithm all of scenes without Middlebury's masks", async () => {
  const few = await evaluate("--algorithm", "all", "--scenes", "wrong");
  expect(few.stdout.split("\n")[1]).toMatch(/^sgm +100\.00 +- /);
});
