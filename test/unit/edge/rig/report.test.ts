// SPDX-License-Identifier: Apache-2.0
// Tests the report of a calibration: every number of the page, its diagrams and the rectified pair, computed by hand.
import { expect, test } from "vitest";
import { withHash } from "../../../../camera/calibration/index.js";
import type { CalibrationResult, GreyImage, SeenPair } from "../../../../camera/index.js";
import { VERSION } from "../../../../edge/contracts/version.js";
import { rectifiedPicture } from "../../../../edge/rig/calibrate/rectified-picture.js";
import { lengthWords, type ReportInput, reportPage } from "../../../../edge/rig/calibrate/report.js";

type Vector9 = [number, number, number, number, number, number, number, number, number];
const IDENTITY: Vector9 = [1, 0, 0, 0, 1, 0, 0, 0, 1];

/** Two equal pinhole cameras, 0.12 m apart. */
function pinholeRig(width: number, height: number, R: Vector9 = IDENTITY) {
  const camera = (name: string) => ({
    name,
    K: [400, 0, (width - 1) / 2, 0, 400, (height - 1) / 2, 0, 0, 1] as Vector9,
    distortion: { model: "none" as const, coefficients: [] },
  });
  const [left, right] = [camera("left"), camera("right")];
  return withHash({ imageSize: { width, height }, left, right, R, T: [-0.12, 0, 0], files: [] });
}

const RIG = pinholeRig(500, 400);

const counts = (filled: Record<number, number>) => Array.from({ length: 20 }, (_, at) => filled[at] ?? 0);

const RESULT = {
  calibration: RIG,
  lens: "radtan",
  board: { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.025 },
  rmsPixels: 0.6,
  epipolarRmsPixels: 0.1555,
  pairs: [
    { name: "a<1>", used: true, leftRmsPixels: 0.5, rightRmsPixels: 0.25, cornersLeftOut: 3 },
    { name: "b&2", used: false, reason: 'it\'s "blurred"' },
    {
      name: "c3",
      used: true,
      leftRmsPixels: 1,
      rightRmsPixels: 0.5,
      epipolarRmsPixels: 0.75,
      cornersLeftOut: 0,
    },
    { name: "d4", used: false },
  ],
  pairsUsed: 2,
  baselineMetres: 0.12,
  deviations: {
    leftFocalPixels: 0.504,
    rightFocalPixels: 0.606,
    baselineMetres: 0.0001,
    rotationDegrees: 0.01234,
  },
  depthErrors: [
    { depthMetres: 1, calibrationMetres: 0.003, matchingMetres: 0.004, totalMetres: 0.005 },
    { depthMetres: 4, calibrationMetres: 0.05, matchingMetres: 1.2, totalMetres: Number.NaN },
  ],
  matchingErrorPixels: 0.25,
  others: [
    {
      name: "r<gb",
      images: 15,
      rmsPixels: 0.0523,
      deviations: { positionMetres: 0.0002, rotationDegrees: 0.02 },
    },
    { name: "rear", images: 3, rmsPixels: 0.1 },
  ],
  // Cells are counted row by row, five in each.
  coverage: {
    left: { counts: counts({ 0: 8, 6: 4 }), share: 0.1 },
    right: { counts: counts({}), share: 0 },
  },
  blurPixels: { left: 0.876, right: Number.NaN },
  warnings: ["few <tilts>"],
} as unknown as CalibrationResult;

const seen = RESULT.pairs.map(({ name }, at) => ({
  name,
  left: { points: Float64Array.of(10 * at + 1.26, 2, 10 * at + 3, 4.04) },
  right: { points: Float64Array.of(10 * at + 5, 6) },
})) as unknown as SeenPair[];

const DATE = new Date("2031-02-03T04:05:59Z");
const input = (change: Partial<CalibrationResult> = {}, more: Partial<ReportInput> = {}): ReportInput => ({
  result: { ...RESULT, ...change },
  seen,
  example: undefined,
  notes: ["the board is guessed"],
  date: DATE,
  ...more,
});

/** Cells of the tables of a part of the page, row by row. */
const cells = (html: string) =>
  [...html.matchAll(/<tr>(.*?)<\/tr>/g)].map(([, row]) =>
    [...row!.matchAll(/<t[hd]>(.*?)<\/t[hd]>/g)].map(([, cell]) => cell),
  );
const part = (page: string, from: string, to: string) => page.slice(page.indexOf(from), page.indexOf(to));
const attributes = (html: string, tag: RegExp, names: readonly string[]) =>
  (html.match(tag) ?? []).map((text) =>
    names.map((name) => new RegExp(` ${name}="([^"]*)"`).exec(text)?.[1]),
  );

test("the summary has every number of the result, with its deviation", async () => {
  const page = await reportPage(input());
  expect(cells(part(page, "<h1>", "<h2>Expected"))).toEqual([
    ["quantity", "value"],
    ["reprojection error (rms)", "0.600 px"],
    ["rows apart after rectification (rms)", "0.155 px"],
    ["pairs used", "2 of 4"],
    ["focal length, left", "400.00 px &plusmn; 0.50"],
    ["focal length, right", "400.00 px &plusmn; 0.61"],
    ["baseline", "12.0 cm &plusmn; 0.100 mm"],
    ["rotation between the cameras", "0.000&deg; &plusmn; 0.0123"],
    [
      "camera r&#60;gb",
      "0.052 px (rms) in 15 images, position &plusmn; 0.200 mm, rotation &plusmn; 0.0200&deg;",
    ],
    ["camera rear", "0.100 px (rms) in 3 images, position &plusmn; unknown, rotation &plusmn; unknown&deg;"],
    ["lens model", "radtan"],
    ["board", "9x6 inner corners, 2.50 cm"],
    ["image size", "500x400"],
    ["blur of edges, left and right", "0.88 and unknown px"],
    ["made", `2031-02-03 04:05 UTC, depthwatt ${VERSION}`],
    ["hash", `<code>${RIG.hash.slice(0, 16)}</code>`],
  ]);
  expect(page).toContain(
    '<ul class="remarks"><li>few &#60;tilts&#62;</li><li>the board is guessed</li></ul>\n',
  );
  expect(page).not.toContain("Rectified pair");
});

test("the summary without deviations, of a rig that is turned, and without remarks", async () => {
  // Turned by 30 degrees about the vertical axis: the trace is 1 + 2 cos 30.
  const [c, s] = [Math.cos(Math.PI / 6), Math.sin(Math.PI / 6)];
  const calibration = pinholeRig(500, 400, [c, 0, s, 0, 1, 0, -s, 0, c]);
  const bare = { calibration, deviations: undefined, epipolarRmsPixels: undefined, warnings: [], others: [] };
  const page = await reportPage(input(bare, { notes: [] }));
  expect(cells(part(page, "<h1>", "<h2>Expected")).slice(2, 8)).toEqual([
    ["rows apart after rectification (rms)", "unknown px"],
    ["pairs used", "2 of 4"],
    ["focal length, left", "400.00 px &plusmn; unknown"],
    ["focal length, right", "400.00 px &plusmn; unknown"],
    ["baseline", "12.0 cm &plusmn; unknown"],
    ["rotation between the cameras", "30.000&deg; &plusmn; unknown"],
  ]);
  expect(page).not.toContain('<ul class="remarks">');
  // 120 degrees about the axis (1, 1, 1) exchange the axes: no element of the diagonal remains.
  const turned = await reportPage(input({ calibration: { ...RIG, R: [0, 0, 1, 1, 0, 0, 0, 1, 0] } }));
  expect(turned).toContain("<td>120.000&deg; ");
});

test("the expected depth error, the pairs, and those left out with their reasons", async () => {
  const page = await reportPage(input());
  expect(page).toContain("right within 0.25 px;");
  expect(cells(part(page, "<h2>Expected", "<h2>Errors"))).toEqual([
    ["distance", "by the calibration", "by matching", "together", "share"],
    ["1 m", "3.00 mm", "4.00 mm", "5.00 mm", "0.50 %"],
    ["4 m", "5.00 cm", "1.20 m", "unknown", "unknown %"],
  ]);
  expect(cells(part(page, "<h2>Errors", "<h2>Pairs left out"))).toEqual([
    ["", "pair", "left", "right", "rows", "corners left out"],
    ["1", "a&#60;1&#62;", "0.500", "0.250", "unknown", "3"],
    ["2", "c3", "1.000", "0.500", "0.750", "0"],
  ]);
  expect(cells(part(page, "<h2>Pairs left out", "<h2>Coverage"))).toEqual([
    ["pair", "reason"],
    ["b&#38;2", "it&#39;s &#34;blurred&#34;"],
    ["d4", ""],
  ]);
  const all = await reportPage(
    input({ pairs: RESULT.pairs.filter(({ used }) => used) }, { seen: seen.slice(2) }),
  );
  expect(part(all, "<h2>Pairs left out", "<h2>Coverage")).toContain("<p>None.</p>");
});

test("the bars of each pair are as high as its errors, the highest 10 % below the top", async () => {
  const diagram = part(await reportPage(input()), "<h2>Errors", '<div class="wide">');
  // Two groups of 430 px right of the scale of 40. 190 px are 1.1 px of error, from the base line at 200 upwards.
  expect(attributes(diagram, /<rect class="s.*?>/g, ["class", "x", "y", "width", "height"])).toEqual([
    ["s0", "100.2", "113.6", "94.6", "86.4"],
    ["s1", "203.4", "156.8", "94.6", "43.2"],
    ["s2", "306.6", "200.0", "94.6", "0.0"],
    ["s0", "530.2", "27.3", "94.6", "172.7"],
    ["s1", "633.4", "113.6", "94.6", "86.4"],
    ["s2", "736.6", "70.5", "94.6", "129.5"],
  ]);
  expect(diagram).toContain("<title>a&#60;1&#62;: 0.500 px</title>");
  const lines = attributes(diagram, /<line class="grid".*?>/g, ["x1", "x2", "y1", "y2"]);
  const labels = [...diagram.matchAll(/<text x="0" y="([^"]*)">([^<]*)</g)];
  expect(labels.map(([, , text]) => text)).toEqual(["0.25", "0.50", "0.75", "1.00"]);
  for (const [at, y] of [156.818, 113.636, 70.455, 27.273].entries()) {
    expect(lines[at]!.slice(0, 2)).toEqual(["40", "900"]);
    for (const found of lines[at]!.slice(2)) expect(Number(found)).toBeCloseTo(y, 2);
    expect(Number(labels[at]![1])).toBeCloseTo(y + 4, 2);
  }
  expect(diagram.match(/<text class="middle".*?<\/text>/g)).toEqual([
    '<text class="middle" x="255" y="215"><title>a&#60;1&#62;</title>1</text>',
    '<text class="middle" x="685" y="215"><title>c3</title>2</text>',
  ]);
  expect(diagram).toMatch(
    /^<h2>.*\n<p class="legend"><b class="s0"><\/b>left reprojection .* one group a pair<\/p><svg viewBox="0 0 900 220"/,
  );
});

test("more than 61 pairs have no numbers, and errors of 0 a scale of 0.01 px", async () => {
  const pairs = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ ...RESULT.pairs[2]!, name: `${at}` }));
  const looked = (count: number) => Array.from({ length: count }, () => seen[0]!);
  for (const [count, numbers] of [
    [61, 61],
    [62, 0],
  ] as const) {
    const page = await reportPage(input({ pairs: pairs(count) }, { seen: looked(count) }));
    expect(page.match(/class="middle" /g) ?? []).toHaveLength(numbers);
  }
  const page = await reportPage(input({ pairs: [], rmsPixels: 0 }, { seen: [] }));
  const labels = [...page.matchAll(/<text x="0" y="[^"]*">([^<]*)</g)].map(([, text]) => text);
  // Quarters of 0.01.
  expect(labels).toEqual(["0.00", "0.01", "0.01", "0.01"]);
});

test("the coverage has 5 x 4 cells, darker with more corners, and the corners of the used pairs", async () => {
  const page = await reportPage(input());
  const [left, right] = page.match(/<figure>.*?<\/figure>/g)!;
  const found = attributes(left!, /<rect class="cell".*?>/g, ["x", "y", "width", "height", "fill-opacity"]);
  expect(found).toHaveLength(20);
  // 0.15 and half of the share of the fullest cell.
  const opacity: Record<number, string> = { 0: "0.65", 6: "0.40" };
  expect(found).toEqual(
    counts({}).map((_, at) => [
      `${100 * (at % 5)}`,
      `${100 * Math.floor(at / 5)}`,
      ...["100", "100", opacity[at] ?? "0.00"],
    ]),
  );
  expect(left).toContain("<title>8 corners</title>");
  expect(left).toContain(
    '<path class="points" stroke-width="2.0" d="M1.3 2.0h0M3.0 4.0h0M21.3 2.0h0M23.0 4.0h0"/></svg>' +
      "<figcaption>left: 10 % of the cells hold corners</figcaption></figure>",
  );
  expect(left).toMatch(
    /^<figure><svg viewBox="0 0 500 400" role="img" aria-label="coverage of the left image"><rect class="frame" width="500" height="400"\/>/,
  );
  expect(attributes(right!, /<rect class="cell".*?>/g, ["fill-opacity"])).toEqual(
    counts({}).map(() => ["0.00"]),
  );
  expect(right).toContain('d="M5.0 6.0h0M25.0 6.0h0"');
  const small = await reportPage(input({ calibration: pinholeRig(100, 80) }));
  expect(small).toContain('stroke-width="1.0"');
});

const grey = (width: number, height: number): GreyImage => ({
  data: Uint8Array.from({ length: width * height }, (_, at) => at % 251),
  width,
  height,
});

test("the rectified pair is shown with 15 lines, and not of lenses that cannot be rectified", async () => {
  const calibration = pinholeRig(400, 50);
  const example = { name: "c<3", left: grey(400, 50), right: grey(400, 50) };
  const page = await reportPage(input({ calibration }, { example }));
  const shown = part(page, "<h2>Rectified", "<h2>Expected");
  expect(shown).toMatch(/^<h2>Rectified pair<\/h2><p>c&#60;3\. The same .*<\/p><svg viewBox="0 0 1280 80"/);
  expect(attributes(shown, /<image .*?>/g, ["x", "width", "height"])).toEqual([
    ["0", "640", "80"],
    ["640", "640", "80"],
  ]);
  expect(shown.match(/href="data:image\/jpeg;base64,\/9j\//g)).toHaveLength(2);
  expect(attributes(shown, /<line .*?>/g, ["class", "x1", "x2", "y1", "y2"])).toEqual(
    Array.from({ length: 15 }, (_, at) => [
      `row${at % 2}`,
      ...["0", "1280", `${5 * (at + 1)}.0`, `${5 * (at + 1)}.0`],
    ]),
  );
  expect(await reportPage(input({ epipolarRmsPixels: undefined }, { example }))).not.toContain("Rectified");
});

test("a rectified picture of a rig that needs no rectification is the image, black where four pixels are missing", () => {
  const rig = pinholeRig(8, 6);
  const image = { data: Uint8Array.from({ length: 48 }, (_, at) => 5 * at), width: 8, height: 6 };
  const { data, ...size } = rectifiedPicture(image, rig, "right", 8);
  expect(size).toEqual({ width: 8, height: 6 });
  // Rounding decides whether the first column and row are inside.
  for (const [at, value] of image.data.entries()) {
    const [x, y] = [at % 8, Math.floor(at / 8)];
    if (x > 0 && y > 0) expect(data[at], `${x} ${y}`).toBe(x < 7 && y < 5 ? value : 0);
  }
  // Half as wide: each pixel is the mean of four. The first are 0, 5, 40 and 45.
  const half = rectifiedPicture(image, rig, "left", 4);
  expect(half).toEqual({
    data: Uint8Array.from({ length: 12 }, (_, at) =>
      Math.round(22.5 + 10 * (at % 4) + 80 * Math.floor(at / 4)),
    ),
    width: 4,
    height: 3,
  });
  // 16 bits: the brightest value is 255.
  const deep = { ...image, data: Uint16Array.from(image.data, (value) => 100 * value) };
  const shown = rectifiedPicture(deep, rig, "left", 8).data;
  expect([shown[9], shown[10], shown[38]]).toEqual([9, 10, 38].map((at) => Math.round((255 * at) / 47)));
});

test.each([
  [0.0012345, "1.23 mm"],
  [0.0099, "9.90 mm"],
  [0.01, "1.00 cm"],
  [0.99, "99.0 cm"],
  [1, "1.00 m"],
  [12.345, "12.3 m"],
  [Number.NaN, "unknown"],
  [Number.POSITIVE_INFINITY, "unknown"],
])("%f m in words is %s", (metres, words) => {
  expect(lengthWords(metres)).toBe(words);
});
