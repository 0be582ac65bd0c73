// SPDX-License-Identifier: Apache-2.0
// The proof of calibration, rectification, maps and remap together: corners of a real pair end up on the same row.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  buildMaps,
  type GreyImage,
  loadStereoCalibration,
  type Rectification,
  readGreyImage,
  rectify,
  type StereoCalibration,
} from "../../../../camera/index.js";
import {
  type Grey,
  matchCorners,
  meanVerticalOffset,
  medianAbsoluteOffset,
} from "../../../doubles/corners.js";
import { needsData } from "../../../doubles/needs.js";
import { native, Random, variants } from "../../../doubles/stages.js";

const stage = native.stages.rectify as unknown as (call: object) => string;

function remap({ width, height, data }: GreyImage, map: Int32Array, size: Rectification): Grey {
  const grey = new Uint8Array(size.width * size.height);
  stage({
    variant: variants[0],
    format: "GREY",
    inputWidth: width,
    inputHeight: height,
    strideBytes: width,
    image: data,
    width: size.width,
    height: size.height,
    map,
    grey,
  });
  return { width: size.width, height: size.height, data: grey };
}

function remapPair(
  calibration: StereoCalibration,
  crop: number,
  left: GreyImage,
  right: GreyImage,
): [Grey, Grey] {
  const rectification = rectify(calibration, { crop });
  const { leftMap, rightMap } = buildMaps(calibration, rectification);
  return [remap(left, leftMap, rectification), remap(right, rightMap, rectification)];
}

describe("the measure itself", () => {
  test("finds a displacement that was put in, to a twentieth of a pixel", () => {
    const random = new Random(7);
    const [width, height] = [240, 160];
    // Smoothed noise, sampled at any place by bilinear interpolation.
    const noise = random.fill(new Float64Array(80 * 60), 0, 255);
    const at = (x: number, y: number): number => {
      const [u, v] = [x / 4 + 5, y / 4 + 5];
      const [i, j] = [Math.floor(u), Math.floor(v)];
      const [fu, fv] = [u - i, v - j];
      const row = (k: number): number => noise[k * 80 + i]! * (1 - fu) + noise[k * 80 + i + 1]! * fu;
      return row(j) * (1 - fv) + row(j + 1) * fv;
    };
    const picture = (dx: number, dy: number): Grey => ({
      width,
      height,
      data: Uint8Array.from({ length: width * height }, (_, i) =>
        Math.round(at((i % width) + dx, Math.floor(i / width) + dy)),
      ),
    });
    // The right image shows what the left one shows, 6 px further left and 2.4 px further down.
    const matches = matchCorners(picture(0, 0), picture(6, -2.4), { maxDisparity: 12, rows: [4, 4] });
    expect(matches.length).toBeGreaterThan(20);
    expect(meanVerticalOffset(matches)).toBeCloseTo(2.4, 1);
    for (const { disparity } of matches) expect(Math.abs(disparity - 6)).toBeLessThanOrEqual(1);
  });
});

needsData("seq/euroc_raw").suite("EuRoC, raw, with its camchain", (folder) => {
  const { calibration } = loadStereoCalibration(join(folder, "camchain-imucam-euroc.yaml"), {
    imageSize: { width: 752, height: 480 },
  });
  const names = readdirSync(join(folder, "cam0")).filter((name) => name.endsWith(".png"));
  const pair = async (index: number): Promise<[GreyImage, GreyImage]> => [
    await readGreyImage(join(folder, "cam0", names[index]!)),
    await readGreyImage(join(folder, "cam1", names[index]!)),
  ];

  test("raw, the right image lies some twelve rows off", async () => {
    const [left, right] = await pair(0);
    const matches = matchCorners(left, right, { maxDisparity: 60, rows: [24, 24] });
    expect(matches.length).toBeGreaterThan(60);
    const mean = meanVerticalOffset(matches);
    expect(Math.abs(mean)).toBeGreaterThan(10);
    expect(Math.abs(mean)).toBeLessThan(15);
  });

  test.each([0, 7, 13, 19])("pair %i: rectified, under 0.3 px", async (index) => {
    const [left, right] = await pair(index);
    const [rectifiedLeft, rectifiedRight] = remapPair(calibration, 0, left, right);
    const matches = matchCorners(rectifiedLeft, rectifiedRight, { maxDisparity: 60, rows: [16, 16] });
    expect(matches.length).toBeGreaterThan(60);
    const mean = meanVerticalOffset(matches);
    const half = medianAbsoluteOffset(matches);
    expect(Math.abs(mean)).toBeLessThan(0.3);
    expect(half).toBeLessThan(0.3);
  });

  test("at crop 1 the rows agree as well", async () => {
    const [left, right] = await pair(10);
    const [rectifiedLeft, rectifiedRight] = remapPair(calibration, 1, left, right);
    const matches = matchCorners(rectifiedLeft, rectifiedRight, { maxDisparity: 50, rows: [12, 12] });
    expect(matches.length).toBeGreaterThan(40);
    expect(Math.abs(meanVerticalOffset(matches))).toBeLessThan(0.3);
  });
});
