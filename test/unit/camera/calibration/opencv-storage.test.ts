// SPDX-License-Identifier: Apache-2.0
// Files that OpenCV itself wrote: every ending of its FileStorage, and a rig that OpenCV calibrated from chessboards.
import { execFileSync } from "node:child_process";
import { dirname } from "node:path";
import { expect, test } from "vitest";
import { undistort } from "../../../../camera/calibration/distortion.js";
import { loadStereoCalibration, rectify } from "../../../../camera/calibration/index.js";
import { apply } from "../../../../camera/calibration/matrix.js";
import { needs, needsData, PYTHON } from "../../../doubles/needs.js";
import { rational, temporaryFiles } from "./fixtures.js";

const SCRIPT = new URL("./opencv_storage.py", import.meta.url).pathname;

needs("opencv").suite("OpenCV's own FileStorage", () => {
  const folder = dirname(temporaryFiles()("input.txt", ""));
  const { left, right, R, T, imageSize } = rational;
  const rig = {
    size: [imageSize.width, imageSize.height],
    M1: left.K,
    D1: left.distortion.coefficients,
    M2: right.K,
    D2: right.distortion.coefficients,
    R,
    T,
  };
  execFileSync(PYTHON, [SCRIPT, "write", folder], { input: JSON.stringify(rig) });

  test.each(["yml", "xml", "json"])("stereo.%s reads back bit for bit", (ending) => {
    const { calibration, format, warnings } = loadStereoCalibration(`${folder}/stereo.${ending}`);
    expect(format).toBe("OpenCV FileStorage");
    expect(warnings).toEqual([]);
    expect(calibration.imageSize).toEqual(imageSize);
    expect(calibration.left.K).toEqual(left.K);
    expect(calibration.right.distortion).toEqual(right.distortion);
    expect(calibration.T).toEqual(T);
  });

  test("its spellings of NaN are refused by place", () => {
    expect(() => loadStereoCalibration(`${folder}/nan.yml`)).toThrow(
      /M1\.data\[4\]: expected a finite number, found NaN/,
    );
    expect(() => loadStereoCalibration(`${folder}/infinite.xml`)).toThrow(
      /T\.data\[0\]: expected a finite number, found/,
    );
  });

  needsData("calib/opencv_chessboard").suite("a rig calibrated from chessboards", (images) => {
    const output = execFileSync(PYTHON, [SCRIPT, "chessboard", images, folder], { encoding: "utf8" });
    const found = JSON.parse(output) as { rms: number; left: number[][]; right: number[][] };
    const files = [`${folder}/intrinsics.yml`, `${folder}/extrinsics.yml`];
    const imageSize = { width: 640, height: 480 };

    test("is in squares, and reports it", () => {
      const { calibration, warnings } = loadStereoCalibration(files, { imageSize });
      expect(found.rms).toBeLessThan(0.5);
      expect(calibration.T[0]).toBeCloseTo(-3.33, 1);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(
        /extrinsics\.yml: T\.data: the baseline reads 3\.3\d+ m; .* chessboard squares/,
      );
      const inMetres = loadStereoCalibration(files, { imageSize, lengthUnitMetres: 0.025 });
      expect(inMetres.warnings).toEqual([]);
      expect(rectify(inMetres.calibration).baselineMetres).toBeCloseTo(0.0836, 3);
    });

    test("puts all of its 702 corners on common rows", () => {
      const { calibration } = loadStereoCalibration(files, { imageSize });
      const { R1, R2, P1, P2 } = rectify(calibration);
      const rectifiedRow = (side: "left" | "right", [x, y]: number[]): number => {
        const { K, distortion } = calibration[side];
        const ray = undistort(distortion, (x! - K[2]) / K[0], (y! - K[5]) / K[4]);
        const [, v, w] = apply(side === "left" ? R1 : R2, [...ray, 1]);
        const P = side === "left" ? P1 : P2;
        return (P[5]! * v) / w + P[6]!;
      };
      expect(found.left).toHaveLength(702);
      const offsets = found.left.map(
        (corner, i) => rectifiedRow("right", found.right[i]!) - rectifiedRow("left", corner),
      );
      const mean = offsets.reduce((sum, value) => sum + value, 0) / offsets.length;
      const rms = Math.sqrt(offsets.reduce((sum, value) => sum + value * value, 0) / offsets.length);
      expect(Math.abs(mean)).toBeLessThan(0.05);
      expect(rms).toBeLessThan(0.3);
    });
  });
});
