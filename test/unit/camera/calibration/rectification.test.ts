// SPDX-License-Identifier: Apache-2.0
// Rectification and maps: against OpenCV (live where it is installed, committed numbers of it everywhere), and by geometry.
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { distortFunction, undistort } from "../../../../camera/calibration/distortion.js";
import {
  buildMap,
  buildMaps,
  loadStereoCalibration,
  rectify,
  type StereoCalibration,
} from "../../../../camera/calibration/index.js";
import { IDENTITY3 } from "../../../../camera/calibration/matrix.js";
import { needs, needsData, PYTHON } from "../../../doubles/needs.js";
import { rigs, wideFisheye } from "./fixtures.js";

interface Case {
  imageSize: [number, number];
  outputSize: [number, number];
  left: { K: readonly number[]; model: string; coefficients: readonly number[] };
  right: { K: readonly number[]; model: string; coefficients: readonly number[] };
  R: readonly number[];
  T: readonly number[];
  crop: number;
  commonPrincipalPoint: boolean;
  /** Columns and rows of the map that the oracle answers with, first and last pixel included. */
  samples: [number, number];
}

interface CameraMap {
  columns: number[];
  rows: number[];
  map: number[];
}

interface Answer {
  R1: number[];
  R2: number[];
  P1: number[];
  P2: number[];
  left: CameraMap;
  right: CameraMap;
}

const GOLDEN = new URL("./golden-rectification.json", import.meta.url);
const ORACLE = new URL("./opencv_oracle.py", import.meta.url).pathname;
/** Half a step of 1/32 px is 0.0156 px: what the fixed point itself takes of the 0.02 px. */
const TOLERANCE_PIXELS = 0.02;

type Variant = Pick<Case, "crop" | "commonPrincipalPoint" | "samples"> & { outputSize?: [number, number] };

function createCase({ imageSize, left, right, R, T }: StereoCalibration, variant: Variant): Case {
  const size: [number, number] = [imageSize.width, imageSize.height];
  return {
    imageSize: size,
    outputSize: size,
    left: { K: left.K, ...left.distortion },
    right: { K: right.K, ...right.distortion },
    R,
    T,
    ...variant,
  };
}

function createCases(
  calibrations: Record<string, StereoCalibration>,
  samples: [number, number],
): Record<string, Case> {
  const cases: Record<string, Case> = {};
  for (const [name, calibration] of Object.entries(calibrations)) {
    const { width, height } = calibration.imageSize;
    const add = (title: string, variant: Variant): void => {
      cases[`${name}, ${title}`] = createCase(calibration, variant);
    };
    for (const crop of [0, 0.4, 1]) add(`crop ${crop}`, { crop, commonPrincipalPoint: true, samples });
    add("own principal points", { crop: 0, commonPrincipalPoint: false, samples });
    const outputSize: [number, number] = [Math.round(width * 0.6), Math.round(height * 0.7)];
    add("another size", { crop: 0.2, commonPrincipalPoint: true, samples, outputSize });
  }
  return cases;
}

function askOpenCv(cases: Record<string, Case>): { opencv: string; answers: Record<string, Answer> } {
  const input = JSON.stringify(cases);
  return JSON.parse(execFileSync(PYTHON, [ORACLE], { input, maxBuffer: 1 << 28, encoding: "utf8" }));
}

function expectAgreement(calibration: StereoCalibration, wanted: Case, answer: Answer, name: string): void {
  const [width, height] = wanted.outputSize;
  const rectification = rectify(calibration, { ...wanted, outputSize: { width, height } });
  for (const matrix of ["R1", "R2"] as const) {
    for (const [i, value] of answer[matrix].entries()) {
      expect(rectification[matrix][i], `${name} ${matrix}[${i}]`).toBeCloseTo(value, 8);
    }
  }
  for (const matrix of ["P1", "P2"] as const) {
    // OpenCV frames the image in float32, which is 1e-4 px here.
    for (const [i, value] of answer[matrix].entries()) {
      expect(Math.abs(rectification[matrix][i]! - value), `${name} ${matrix}[${i}]`).toBeLessThan(1e-3);
    }
  }
  const maps = buildMaps(calibration, rectification);
  for (const side of ["left", "right"] as const) {
    const map = side === "left" ? maps.leftMap : maps.rightMap;
    let index = 0;
    let worst = 0;
    let compared = 0;
    for (const y of answer[side].rows) {
      for (const x of answer[side].columns) {
        for (const axis of [0, 1]) {
          // Our maps hold nothing further than one pixel outside the image.
          const limit = wanted.imageSize[axis]!;
          const theirs = Math.min(Math.max(answer[side].map[index++]!, -1), limit);
          worst = Math.max(worst, Math.abs(map[2 * (y * width + x) + axis]! / 32 - theirs));
          compared++;
        }
      }
    }
    expect(compared).toBe(2 * wanted.samples[0] * wanted.samples[1]);
    expect(worst, `${name} ${side}: worst difference, pixels`).toBeLessThan(TOLERANCE_PIXELS);
  }
}

const goldenCases = createCases(rigs, [7, 5]);
if (process.env.DEPTHWATT_WRITE_GOLDEN) {
  writeFileSync(GOLDEN, `${JSON.stringify(askOpenCv(goldenCases))}\n`);
}
const golden = JSON.parse(readFileSync(GOLDEN, "utf8")) as ReturnType<typeof askOpenCv>;
const namedRig = (name: string): StereoCalibration => rigs[name.split(",")[0] as keyof typeof rigs];

describe(`rectification agrees with OpenCV's committed numbers to ${TOLERANCE_PIXELS} px`, () => {
  test.each(Object.entries(goldenCases))("%s", (name, wanted) => {
    expectAgreement(namedRig(name), wanted, golden.answers[name]!, name);
  });
});

needs("opencv").suite("rectification agrees with OpenCV over the whole image", () => {
  test("constructed rigs, five lens models, every variant", () => {
    const cases = createCases(rigs, [101, 77]);
    const { answers } = askOpenCv(cases);
    for (const [name, wanted] of Object.entries(cases))
      expectAgreement(namedRig(name), wanted, answers[name]!, name);
  });

  test("fisheye lenses whose corners look backwards", () => {
    const cases = createCases({ wideFisheye }, [101, 77]);
    // At crop 1 too: the middles of the sides decide, which see 68 degrees.
    const { answers } = askOpenCv(cases);
    for (const [name, wanted] of Object.entries(cases))
      expectAgreement(wideFisheye, wanted, answers[name]!, name);
  });

  needsData("calib").suite("real calibrations", (folder) => {
    test.each([
      "kalibr/camchain-imucam-euroc.yaml",
      "kalibr/camchain-imucam-fla.yaml",
      "ros_camera_info/zed_cpu_ros",
    ])("%s", (path) => {
      const { calibration } = loadStereoCalibration(`${folder}/${path}`);
      const cases = createCases({ real: calibration }, [101, 77]);
      const { answers } = askOpenCv(cases);
      for (const [name, wanted] of Object.entries(cases)) {
        expectAgreement(calibration, wanted, answers[name]!, `${path}: ${name}`);
      }
    });
  });
});

describe.each(Object.entries(rigs))("rectification of %s, by geometry", (_name, calibration) => {
  const { left, right, R, T, imageSize } = calibration;

  /** Where a point in the left camera's frame appears in each rectified image. */
  function project(point: number[], options = {}): { x: number; y: number }[] {
    const { R1, R2, P1, P2 } = rectify(calibration, options);
    const times = (m: readonly number[], v: number[]): number[] =>
      [0, 1, 2].map((row) => m[3 * row]! * v[0]! + m[3 * row + 1]! * v[1]! + m[3 * row + 2]! * v[2]!);
    const inRight = times(R, point).map((value, i) => value + T[i]!);
    return [times(R1, point), times(R2, inRight)].map((v, side) => {
      const P = side === 0 ? P1 : P2;
      return { x: (P[0]! * v[0]!) / v[2]! + P[2]!, y: (P[5]! * v[1]!) / v[2]! + P[6]! };
    });
  }

  test("a point in space lands on the same row, and Q brings its depth back", () => {
    for (const commonPrincipalPoint of [true, false]) {
      const { qMatrix, R1, disparityOffsetPixels, focalPixels, baselineMetres } = rectify(calibration, {
        commonPrincipalPoint,
      });
      if (commonPrincipalPoint) expect(disparityOffsetPixels).toBe(0);
      else expect(Math.abs(disparityOffsetPixels)).toBeGreaterThan(0.1);
      for (const point of [
        [0.1, -0.2, 1.5],
        [-0.4, 0.3, 2],
        [0.8, 0.5, 6],
      ]) {
        const [a, b] = project(point, { commonPrincipalPoint });
        expect(a!.y).toBeCloseTo(b!.y, 9);
        const disparity = a!.x - b!.x;
        const turnedZ = R1[6] * point[0]! + R1[7] * point[1]! + R1[8] * point[2]!;
        expect((focalPixels * baselineMetres) / (disparity + disparityOffsetPixels)).toBeCloseTo(turnedZ, 9);
        const homogeneous = [a!.x, a!.y, disparity, 1];
        const [X, , Z, W] = [0, 1, 2, 3].map((row) =>
          homogeneous.reduce((sum, value, column) => sum + qMatrix[4 * row + column]! * value, 0),
        ) as [number, number, number, number];
        expect(Z / W).toBeCloseTo(turnedZ, 9);
        expect(X / W).toBeCloseTo(R1[0] * point[0]! + R1[1] * point[1]! + R1[2] * point[2]!, 9);
      }
    }
  });

  test("the map leads from the rectified pixel of a point to where the lens shows it", () => {
    const rectification = rectify(calibration);
    const { leftMap, rightMap } = buildMaps(calibration, rectification);
    const { width, height } = rectification;
    const { R1, P1 } = rectification;
    for (const [x, y] of [
      [width >> 1, height >> 1],
      [10, height - 20],
      [width - 9, 7],
    ] as const) {
      // The point behind rectified pixel (x, y) at 2 m, in the left camera's frame.
      const ray = [(x - P1[2]!) / P1[0]!, (y - P1[6]!) / P1[5]!, 1].map((value) => 2 * value);
      const point = [0, 1, 2].map((c) => R1[c]! * ray[0]! + R1[c + 3]! * ray[1]! + R1[c + 6]! * ray[2]!);
      const shown = (side: typeof left, v: number[]): [number, number] => {
        const out = new Float64Array(2);
        distortFunction(side.distortion)(v[0]! / v[2]!, v[1]! / v[2]!, out);
        return [side.K[0] * out[0]! + side.K[2], side.K[4] * out[1]! + side.K[5]];
      };
      const [u, v] = shown(left, point);
      const at = 2 * (y * width + x);
      expect(Math.abs(leftMap[at]! / 32 - u)).toBeLessThanOrEqual(1 / 64 + 1e-9);
      expect(Math.abs(leftMap[at + 1]! / 32 - v)).toBeLessThanOrEqual(1 / 64 + 1e-9);
      // Its partner in the right image: same row, x less the disparity (a fraction: compare with the two columns around it).
      const disparity = (rectification.focalPixels * rectification.baselineMetres) / 2;
      const xr = x - disparity;
      if (xr < 0) continue;
      const inRight = [0, 1, 2].map(
        (row) =>
          R[3 * row]! * point[0]! + R[3 * row + 1]! * point[1]! + R[3 * row + 2]! * point[2]! + T[row]!,
      );
      const [ur, vr] = shown(right, inRight);
      const left0 = 2 * (y * width + Math.floor(xr));
      const fraction = xr - Math.floor(xr);
      const mix = (axis: number): number =>
        (rightMap[left0 + axis]! * (1 - fraction) + rightMap[left0 + 2 + axis]! * fraction) / 32;
      expect(Math.abs(mix(0) - ur)).toBeLessThan(0.04);
      expect(Math.abs(mix(1) - vr)).toBeLessThan(0.04);
    }
  });

  test("crop 0 shows no pixel from outside either image; crop 1 keeps the valid part smaller than the image", () => {
    const tight = buildMaps(calibration, rectify(calibration, { crop: 0 }));
    for (const map of [tight.leftMap, tight.rightMap]) {
      let outside = 0;
      for (let i = 0; i < map.length; i += 2) {
        const [x, y] = [map[i]! / 32, map[i + 1]! / 32];
        if (x < -0.5 || y < -0.5 || x > imageSize.width - 0.5 || y > imageSize.height - 0.5) outside++;
      }
      // The frame is fitted to a 9 x 9 grid (fisheye: to four points), so a corner may peep out: 2 % at most.
      expect(outside / (map.length / 2)).toBeLessThan(0.02);
    }
    const loose = rectify(calibration, { crop: 1 });
    expect(loose.focalPixels).toBeLessThan(rectify(calibration, { crop: 0 }).focalPixels);
    const { validLeft } = loose;
    expect(validLeft.width * validLeft.height).toBeLessThan(loose.width * loose.height);
  });

  test("the inverse of the lens model undoes it", () => {
    const out = new Float64Array(2);
    for (const [x, y] of [
      [0, 0],
      [0.1, -0.05],
      [-0.25, 0.2],
    ] as const) {
      distortFunction(left.distortion)(x, y, out);
      const [ux, uy] = undistort(left.distortion, out[0]!, out[1]!);
      expect(ux).toBeCloseTo(x, 4);
      expect(uy).toBeCloseTo(y, 4);
    }
  });
});

describe("fisheye lenses that see almost everything", () => {
  test("corners at 90 degrees and more bound nothing: the flat image is inside them", () => {
    const rectification = rectify(wideFisheye);
    const { width, height } = wideFisheye.imageSize;
    expect(rectification.validLeft.width).toBeGreaterThan(0.95 * width);
    const { leftMap, rightMap } = buildMaps(wideFisheye, rectification);
    for (const map of [leftMap, rightMap]) {
      let outside = 0;
      for (let i = 0; i < map.length; i += 2) {
        const [x, y] = [map[i]! / 32, map[i + 1]! / 32];
        if (x < -0.5 || y < -0.5 || x > width - 0.5 || y > height - 0.5) outside++;
      }
      expect(outside / (map.length / 2)).toBeLessThan(0.02);
    }
  });

  const withCoefficients = (...coefficients: number[]): StereoCalibration => {
    const distortion = { model: "equidistant", coefficients } as const;
    const { left, right } = wideFisheye;
    return { ...wideFisheye, left: { ...left, distortion }, right: { ...right, distortion } };
  };

  test("coefficients that fold back where the rectified image looks are refused", () => {
    // theta (1 - 0.02 theta^2 - 0.12 theta^4) grows up to 64 degrees; the middles of the sides are seen at more.
    let refusal: unknown;
    try {
      rectify(withCoefficients(-0.02, -0.12, 0, 0));
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toMatchObject({ code: "CALIBRATION_INVALID", message: expect.stringContaining("grows") });
  });

  test("with every captured pixel kept, the corners of the flat image look further than its sides do", () => {
    // It grows up to 70 degrees: enough for the sides, which see 65, and not for the corners of a square.
    const rig = withCoefficients(0.13, 0, 0, -0.0358);
    const square = (side: "left" | "right") => {
      const [fx, , cx, , fy] = rig[side].K;
      return { ...rig[side], K: [fx, 0, cx, 0, fy, cx, 0, 0, 1] as const };
    };
    const size = { width: 400, height: 400 };
    const squares = { ...rig, imageSize: size, left: square("left"), right: square("right") };
    expect(() => rectify(squares, { crop: 1 })).toThrow(
      /grows up to \d\d degrees off the axis.*it does up to (69|70)/,
    );
  });

  test("coefficients that fold back beyond what the rectified image shows are no reason to refuse", () => {
    // As boards that never reached the corners left them: they grow up to 87 degrees, and the corners lie further out.
    const folding = withCoefficients(-0.01525, -0.00761, 0.016384, -0.008167);
    const { focalPixels } = rectify(folding);
    expect(Math.abs(focalPixels / rectify(wideFisheye).focalPixels - 1)).toBeLessThan(0.05);
  });
});

describe("maps", () => {
  const size = { width: 8, height: 5 };
  const K = [8, 0, 3.5, 0, 8, 2, 0, 0, 1] as const;
  const none = { model: "none", coefficients: [] } as const;
  const P = (fx: number, cx: number, cy: number): number[] => [fx, 0, cx, 0, 0, fx, cy, 0, 0, 0, 1, 0];

  test("the same camera gives the identity, in 1/32 px", () => {
    const map = buildMap({ K, distortion: none }, IDENTITY3, P(8, 3.5, 2), size, size);
    for (let i = 0; i < 40; i++)
      expect([map[2 * i], map[2 * i + 1]]).toEqual([32 * (i % 8), 32 * Math.floor(i / 8)]);
  });

  test("rounding: the nearest 1/32, halves upwards", () => {
    // Moving the principal point by 1/64 px moves every entry by half a step.
    const half = buildMap({ K, distortion: none }, IDENTITY3, P(8, 3.5 - 1 / 64, 2 + 1 / 64), size, size);
    expect([half[2 * 9], half[2 * 9 + 1]]).toEqual([32 + 1, 32]);
    const less = buildMap({ K, distortion: none }, IDENTITY3, P(8, 3.5 - 1 / 65, 2 + 1 / 63), size, size);
    expect([less[2 * 9], less[2 * 9 + 1]]).toEqual([32, 31]);
  });

  test("entries stop one pixel outside the image", () => {
    const map = buildMap({ K, distortion: none }, IDENTITY3, P(1, 3.5, 2), size, size);
    expect([map[0], map[1]]).toEqual([-32, -32]);
    expect([map[78], map[79]]).toEqual([32 * 8, 32 * 5]);
  });

  test("a ray that points backwards is outside", () => {
    const behind = [-1, 0, 0, 0, 1, 0, 0, 0, -1] as const;
    const map = buildMap({ K, distortion: none }, behind, P(8, 3.5, 2), size, size);
    expect(new Set(map)).toEqual(new Set([-32]));
  });

  test("both maps of a 1080p pair are built in some tenths of a second of CPU time", () => {
    const fhd = { width: 1920, height: 1080 };
    for (const calibration of [rigs.rational, rigs.fisheye]) {
      const rectification = rectify(calibration, { outputSize: fhd });
      const before = process.cpuUsage();
      buildMaps(calibration, rectification);
      const { user, system } = process.cpuUsage(before);
      // A quarter of a second; where neighbours share a core and its caches, more.
      expect((user + system) / 1e6).toBeLessThan(3);
    }
  });
});
