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
import { lengthWords, reportPage } from "../../../../edge/rig/calibrate/report.js";
import { checkPlaces, type Outputs, writeOutputs } from "../../../../edge/rig/calibrate/write.js";
import { createRig } from "../../../doubles/calibration-rig.js";

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
  [0.12, "12.0 cm"],
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
});
