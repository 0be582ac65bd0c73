// SPDX-License-Identifier: Apache-2.0
// Tests the files of a calibration: which places are refused before anything is computed, which forms come back, and the report.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  type CalibrationResult,
  COVERAGE_COLUMNS,
  COVERAGE_ROWS,
  type SeenPair,
} from "../../../../camera/index.js";
import type { DepthwattError } from "../../../../core/index.js";
import { rectifiedPicture } from "../../../../edge/rig/calibrate/rectified-picture.js";
import { lengthWords, reportPage } from "../../../../edge/rig/calibrate/report.js";
import { checkPlaces, type Outputs, writeOutputs } from "../../../../edge/rig/calibrate/write.js";
import { createRig } from "../../../doubles/calibration-rig.js";
import { svgElements } from "../../../doubles/svg-elements.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-calibration-files-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const rig = createRig("fisheye", { width: 64, height: 48 });
/** Names in the folder of this test. */
const places = (names: object) =>
  Object.fromEntries(
    Object.entries(names).map(([key, name]) => [key, join(folder, name)]),
  ) as unknown as Outputs;

describe("places", () => {
  test.each<[string, object, string, RegExp]>([
    ["one file for two results", { output: "a.json", report: "a.json" }, "USAGE", /two go to .*a\.json$/],
    [
      "a file of ROS for another result",
      { output: "left.yaml", ros: "" },
      "USAGE",
      /two go to .*left\.yaml$/,
    ],
    ["a folder", { output: "there" }, "OUTPUT_UNWRITABLE", /cannot write .*there: it is a folder$/],
    ["a folder below a file", { output: "file/a.json" }, "OUTPUT_UNWRITABLE", /file/],
    [
      "a file that is there",
      { output: "b.json", kalibr: "file" },
      "FILE_EXISTS",
      /file: expected no such file/,
    ],
  ])("%s is refused", (_what, names, code, message) => {
    mkdirSync(join(folder, "there"));
    writeFileSync(join(folder, "file"), "");
    const check = () => checkPlaces(places(names), false);
    expect(check).toThrow(expect.objectContaining({ code, message: expect.stringMatching(message) }));
  });

  test("with force a file that is there may be replaced", () => {
    writeFileSync(join(folder, "a.json"), "");
    expect(() => checkPlaces(places({ output: "a.json" }), true)).not.toThrow();
  });
});

test.each<[string, object, string | undefined, string[]]>([
  ["only the result", { output: "a.json" }, undefined, ["a.json"]],
  ["a report that was not made", { output: "a.json", report: "r.html" }, undefined, ["a.json"]],
  [
    "every form",
    { output: "new/a.json", report: "r.html", kalibr: "k.yaml", opencv: "o.yaml", ros: "ros" },
    "<p>",
    ["new/a.json", "r.html", "k.yaml", "o.yaml", "ros/left.yaml", "ros/right.yaml"],
  ],
])("writes %s, in this order", async (_what, names, report, expected) => {
  const written = await writeOutputs(places(names), rig, report, false);
  expect(written).toEqual(expected.map((name) => join(folder, name)));
  for (const file of written) expect(readFileSync(file, "utf8").length).toBeGreaterThan(0);
});

test("a form that cannot hold the lens is an error; what was written before stays and is named", async () => {
  const radtan = createRig("radtan", { width: 64, height: 48 });
  const outputs = places({ output: "a.json", kalibr: "k.yaml", opencv: "o.yaml" });
  const error = await writeOutputs(outputs, radtan, undefined, false).then(
    () => undefined,
    (cause: DepthwattError) => cause,
  );
  expect(error).toMatchObject({ code: "CALIBRATION_INVALID" });
  expect(error!.message).toMatch(/a\.json: written all the same\.$/);
  expect([outputs.output, outputs.kalibr!, outputs.opencv!].map(existsSync)).toEqual([true, false, false]);
});

test.each([
  [Number.NaN, "unknown"],
  [0.00123, "1.23 mm"],
  [0.01, "1.00 cm"],
  [0.12, "12.0 cm"],
  [1, "1.00 m"],
  [2.5, "2.50 m"],
])("%f metres are %s", (metres, words) => expect(lengthWords(metres)).toBe(words));

describe("the report", () => {
  const corners = (x: number) => ({ points: Float64Array.of(x, 10, x + 10, 20) });
  const seen = [1, 2].map((x) => ({
    name: `pair ${x}`,
    left: corners(x),
    right: corners(x + 30),
  })) as never as SeenPair[];
  const coverage = {
    counts: Array.from({ length: COVERAGE_COLUMNS * COVERAGE_ROWS }, (_, at) => at % 2),
    share: 0.5,
  };
  const result = {
    calibration: rig,
    lens: "fisheye",
    board: { pattern: "chessboard", columns: 9, rows: 6, squareMetres: 0.025 },
    rmsPixels: 0.2,
    epipolarRmsPixels: 0.15,
    pairs: [
      {
        name: "<a>",
        used: true,
        leftRmsPixels: 0.1,
        rightRmsPixels: 0.2,
        epipolarRmsPixels: 0.3,
        cornersLeftOut: 4,
      },
      { name: "b", used: false, reason: "blurred & dark" },
    ],
    pairsUsed: 1,
    baselineMetres: 0.12,
    deviations: {
      leftFocalPixels: 0.5,
      rightFocalPixels: 0.6,
      baselineMetres: 0.0001,
      rotationDegrees: 0.01,
    },
    depthErrors: [{ depthMetres: 2, calibrationMetres: 0.003, matchingMetres: 0.02, totalMetres: 0.0202 }],
    matchingErrorPixels: 0.25,
    others: [
      {
        name: "top<1>",
        images: 15,
        rmsPixels: 0.052,
        deviations: { positionMetres: 0.0002, rotationDegrees: 0.02 },
      },
    ],
    coverage: { left: coverage, right: coverage },
    blurPixels: { left: 0.7, right: 0.8 },
    warnings: ["few tilts"],
  } as unknown as CalibrationResult;
  const input = { result, seen, example: undefined, notes: [], date: new Date("2026-01-02T03:04:05Z") };
  const plain = (html: string) =>
    html
      .replace(/<style>.*?<\/style>/s, "")
      .replace(/<[^>]+>/g, " ")
      .replace(/\s+/g, " ");

  test("has every quantity, the pair that was left out with its reason, and escapes names", async () => {
    const page = await reportPage(input);
    expect(page).not.toContain("<a>");
    const text = plain(page);
    for (const part of [
      "reprojection error (rms) 0.200 px",
      "rows apart after rectification (rms) 0.150 px",
      "pairs used 1 of 2",
      "baseline 12.0 cm &plusmn; 0.100 mm",
      "camera top&#60;1&#62; 0.052 px (rms) in 15 images, position &plusmn; 0.200 mm, rotation &plusmn; 0.0200&deg;",
      "9x6 inner corners, 2.50 cm",
      "2 m 3.00 mm 2.00 cm 2.02 cm 1.01 %",
      "1 &#60;a&#62; 0.100 0.200 0.300 4",
      "b blurred &#38; dark",
      "few tilts",
      "left: 50 % of the cells hold corners",
    ])
      expect(text).toContain(part);
    // Corners of the pair that was left out are not drawn.
    expect([page.includes("M1.0 10.0h0"), page.includes("M2.0 10.0h0")]).toEqual([true, false]);
  });

  test("has unknown deviations, and no remarks where there are none", async () => {
    const bare = { ...result, deviations: undefined, epipolarRmsPixels: undefined, warnings: [] };
    const used = bare.pairs.filter((pair) => pair.used);
    const page = await reportPage({
      ...input,
      seen: seen.slice(0, 1),
      result: { ...bare, pairs: used } as CalibrationResult,
    });
    expect(plain(page)).toContain("rows apart after rectification (rms) unknown px");
    expect(plain(page)).toContain("baseline 12.0 cm &plusmn; unknown");
    expect(plain(page)).toContain("Pairs left out None.");
    expect(page).not.toContain('class="remarks"');
  });

  test("draws a rectified pair where its images are known and can be rectified", async () => {
    const image = { data: new Uint8Array(64 * 48).fill(90), width: 64, height: 48 };
    const example = { name: "pair <1>", left: image, right: image };
    const page = await reportPage({ ...input, example });
    expect(page.match(/data:image\/jpeg/g)?.length).toBe(2);
    expect(page).toContain("pair &#60;1&#62;");
    const flat = { ...result, epipolarRmsPixels: undefined };
    expect(await reportPage({ ...input, result: flat, example })).not.toContain("data:image/jpeg");
  });

  const pair = (name: string, ...errors: number[]) => {
    const [leftRmsPixels, rightRmsPixels, epipolarRmsPixels] = errors;
    const verdict = { name, used: true, cornersLeftOut: 0, leftRmsPixels, rightRmsPixels, epipolarRmsPixels };
    return verdict as never as CalibrationResult["pairs"][number];
  };
  const drawn = async (
    change: Partial<CalibrationResult>,
    more: Partial<Parameters<typeof reportPage>[0]> = {},
  ) =>
    svgElements(
      await reportPage({
        ...input,
        seen: [],
        ...more,
        result: { ...result, ...change } as CalibrationResult,
      }),
    );
  const between = (elements: readonly string[], first: string, last: string) => {
    const at = elements.findIndex((element) => element.includes(first));
    return elements.slice(
      at,
      elements.findIndex((element, index) => index > at && element.includes(last)),
    );
  };

  test("three bars for each pair, lines at quarters of the largest error, numbers below", async () => {
    const pairs = [pair("<a>", 0.5, 1, 0.25), pair("b", 0.75)];
    expect(between(await drawn({ pairs }), "errors of each pair", "coverage")).toMatchInlineSnapshot(`
      [
        "svg 0 0 900 220 img errors of each pair",
        "line grid 40 900 156.8181818181818 156.8181818181818",
        "text 0 160.8181818181818 0.25",
        "line grid 40 900 113.63636363636364 113.63636363636364",
        "text 0 117.63636363636364 0.50",
        "line grid 40 900 70.45454545454547 70.45454545454547",
        "text 0 74.45454545454547 0.75",
        "line grid 40 900 27.27272727272728 27.27272727272728",
        "text 0 31.27272727272728 1.00",
        "rect s0 100.2 113.6 94.6 86.4 &#60;a&#62;: 0.500 px",
        "rect s1 203.4 27.3 94.6 172.7 &#60;a&#62;: 1.000 px",
        "rect s2 306.6 156.8 94.6 43.2 &#60;a&#62;: 0.250 px",
        "rect s0 530.2 70.5 94.6 129.5 b: 0.750 px",
        "rect s1 633.4 200.0 94.6 0.0 b: 0.000 px",
        "rect s2 736.6 200.0 94.6 0.0 b: 0.000 px",
        "text middle 255 215 &#60;a&#62;",
        "text middle 685 215 b",
      ]
    `);
    // Without an error of a pair, the whole error is the scale. Without any error it is a hundredth of a pixel.
    for (const [rmsPixels, largest] of [
      [2, "2.00"],
      [0, "0.01"],
    ] as const) {
      const elements = await drawn({ pairs: [pair("a")], rmsPixels });
      expect(elements.filter((element) => element.startsWith("text 0 ")).at(-1)).toMatch(`${largest}`);
    }
    // The numbers are left out where they would overlap.
    for (const [count, numbers] of [
      [61, 61],
      [62, 0],
    ] as const) {
      const elements = await drawn({ pairs: Array.from({ length: count }, (_, i) => pair(String(i))) });
      expect(elements.filter((element) => element.startsWith("text middle"))).toHaveLength(numbers);
    }
  });

  test("cells that are darker the more corners they hold, and the corners of both images", async () => {
    const counts = Array.from({ length: COVERAGE_COLUMNS * COVERAGE_ROWS }, () => 0);
    Object.assign(counts, { 1: 4, [COVERAGE_COLUMNS]: 2 });
    const right = { counts: counts.map(() => 0), share: 0.256 };
    const imageSize = { width: 500, height: 400 };
    const elements = await drawn(
      { calibration: { ...rig, imageSize }, coverage: { left: { counts, share: 0.5 }, right } },
      { seen },
    );
    const [left, other] = [
      between(elements, "coverage of the left image", "coverage of the right image"),
      elements.slice(elements.findIndex((element) => element.includes("coverage of the right image"))),
    ];
    expect([...left.slice(0, 4), left[2 + COVERAGE_COLUMNS], left.at(-1)]).toMatchInlineSnapshot(`
      [
        "svg 0 0 500 400 img coverage of the left image",
        "rect frame 500 400",
        "rect cell 0 0 100 100 0.00 0 corners",
        "rect cell 100 0 100 100 0.65 4 corners",
        "rect cell 0 100 100 100 0.40 2 corners",
        "path points 2.0 M1.0 10.0h0M11.0 20.0h0",
      ]
    `);
    expect(other.at(2)).toMatch(/ 0\.00 0 corners$/);
    expect(other.at(-1)).toMatch(/^path points 2\.0 M31\.0 10\.0h0M41\.0 20\.0h0$/);
    const small = await drawn({}, { seen });
    expect(small.at(-1)).toMatch(/^path points 1\.0 /);
  });

  test("the rectified pair side by side, with fifteen lines across", async () => {
    const image = { data: new Uint8Array(64 * 48).fill(90), width: 64, height: 48 };
    const elements = await drawn({}, { seen, example: { name: "a", left: image, right: image } });
    const found = between(elements, "rectified pair", "errors of each pair");
    expect(found.map((element) => element.replace(/data:.*/, "data"))).toMatchInlineSnapshot(`
      [
        "svg 0 0 1280 480 img rectified pair with lines",
        "image 0 640 480 data",
        "image 640 640 480 data",
        "line row0 0 1280 30.0 30.0",
        "line row1 0 1280 60.0 60.0",
        "line row0 0 1280 90.0 90.0",
        "line row1 0 1280 120.0 120.0",
        "line row0 0 1280 150.0 150.0",
        "line row1 0 1280 180.0 180.0",
        "line row0 0 1280 210.0 210.0",
        "line row1 0 1280 240.0 240.0",
        "line row0 0 1280 270.0 270.0",
        "line row1 0 1280 300.0 300.0",
        "line row0 0 1280 330.0 330.0",
        "line row1 0 1280 360.0 360.0",
        "line row0 0 1280 390.0 390.0",
        "line row1 0 1280 420.0 420.0",
        "line row0 0 1280 450.0 450.0",
      ]
    `);
  });

  test("every quantity of the summary, each with its digits", async () => {
    const R = [1, 0, 0, 0, 0.8, -0.6, 0, 0.6, 0.8] as const;
    const K = (focal: number) => [focal, 0, 32, 0, focal, 24, 0, 0, 1] as const;
    const calibration = {
      ...rig,
      R,
      left: { ...rig.left, K: K(100.126) },
      right: { ...rig.right, K: K(99.5) },
    };
    const page = await reportPage({
      ...input,
      result: { ...result, calibration } as CalibrationResult,
      notes: ["a note"],
    });
    const summary = page.slice(page.indexOf("<tbody>"), page.indexOf("</tbody>"));
    const rows = [...summary.matchAll(/<td>(.*?)<\/td><td>(.*?)<\/td>/g)].map(
      ([, name, value]) => `${name}: ${value}`,
    );
    expect(
      rows.map((row) =>
        row.replace(/depthwatt [\d.]+\S*$/, "depthwatt").replace(/[0-9a-f]{16}</, "16 digits<"),
      ),
    ).toEqual([
      "reprojection error (rms): 0.200 px",
      "rows apart after rectification (rms): 0.150 px",
      "pairs used: 1 of 2",
      "focal length, left: 100.13 px &plusmn; 0.50",
      "focal length, right: 99.50 px &plusmn; 0.60",
      "baseline: 12.0 cm &plusmn; 0.100 mm",
      "rotation between the cameras: 36.870&deg; &plusmn; 0.0100",
      "camera top&#60;1&#62;: 0.052 px (rms) in 15 images, position &plusmn; 0.200 mm, rotation &plusmn; 0.0200&deg;",
      "lens model: fisheye",
      "board: 9x6 inner corners, 2.50 cm",
      "image size: 64x48",
      "blur of edges, left and right: 0.70 and 0.80 px",
      "made: 2026-01-02 03:04 UTC, depthwatt",
      "hash: <code>16 digits</code>",
    ]);
    expect(page).toContain("<li>few tilts</li><li>a note</li>");
    // A product of rotations may exceed 1 or -1 by its last bit.
    for (const [turn, words] of [
      [[1.0000001, 0, 0, 0, 1, 0, 0, 0, 1], "0.000&deg;"],
      [[1, 0, 0, 0, -1.0000001, 0, 0, 0, -1], "180.000&deg;"],
    ] as const) {
      const turned = { ...result, calibration: { ...calibration, R: turn } } as unknown as CalibrationResult;
      expect(await reportPage({ ...input, result: turned })).toContain(`<td>${words} &plusmn;`);
    }
  });
});

describe("the picture of a rig that needs no rectification", () => {
  const [width, height] = [16, 8];
  const camera = (name: string) => ({
    name,
    K: [20, 0, 7.5, 0, 20, 3.5, 0, 0, 1],
    distortion: { model: "plumb_bob" as const, coefficients: [0, 0, 0, 0, 0] },
  });
  const plain = {
    ...rig,
    imageSize: { width, height },
    left: camera("left"),
    right: camera("right"),
    R: [1, 0, 0, 0, 1, 0, 0, 0, 1],
    T: [-0.1, 0, 0],
  } as unknown as typeof rig;
  const plane = Array.from({ length: width * height }, (_, i) => 4 * (i % width) + 8 * Math.floor(i / width));

  test.each(["left", "right"] as const)("%s: half as large, each pixel the mean of four", (side) => {
    const picture = rectifiedPicture({ data: Uint8Array.from(plane), width, height }, plain, side, 8);
    const means = Array.from({ length: 32 }, (_, i) => 8 * (i % 8) + 16 * Math.floor(i / 8) + 6);
    expect({ ...picture, data: [...picture.data] }).toEqual({ width: 8, height: 4, data: means });
  });

  test("16-bit images are scaled to their largest value", () => {
    const data = Uint16Array.from(plane, (value) => 10 * value);
    const picture = rectifiedPicture({ data, width, height }, plain, "left", 8);
    // The largest value is 10 * (4 * 15 + 8 * 7).
    expect([...picture.data.subarray(0, 2)]).toEqual(
      [60, 140].map((value) => Math.round((value * 255) / 1160)),
    );
  });

  test("twice as large, the border is black, where the camera saw nothing", () => {
    const data = new Uint8Array(width * height).fill(200);
    const picture = rectifiedPicture({ data, width, height }, plain, "left", 32);
    const inside = (at: number, size: number) => at > 0 && at < size - 1;
    const expected = Array.from({ length: 32 * 16 }, (_, i) =>
      inside(i % 32, 32) && inside(Math.floor(i / 32), 16) ? 200 : 0,
    );
    expect([...picture.data]).toEqual(expected);
  });
});
