// SPDX-License-Identifier: Apache-2.0
// A camera as EuRoC describes it (sensor.yaml). The body's frame is that of the left camera.
import type { StereoCalibration } from "../../../camera/index.js";

const MODELS: Record<string, string> = {
  plumb_bob: "radial-tangential",
  equidistant: "equidistant",
  none: "none",
};

export function sensorYaml(
  { imageSize, left, right, R, T }: StereoCalibration,
  camera: "cam0" | "cam1",
  rateHz: number | undefined,
): string {
  const { K, distortion } = camera === "cam0" ? left : right;
  // T_BS takes points of the sensor to the body: the inverse of x_right = R x_left + T.
  const rows =
    camera === "cam0"
      ? [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0]
      : [0, 1, 2].flatMap((row) => {
          const column = [R[row]!, R[row + 3]!, R[row + 6]!];
          return [...column, -(column[0]! * T[0] + column[1]! * T[1] + column[2]! * T[2])];
        });
  // Radial-tangential has k1 k2 p1 p2.
  const coefficients = distortion.model === "none" ? [0, 0, 0, 0] : distortion.coefficients.slice(0, 4);
  return [
    "sensor_type: camera",
    "T_BS:",
    "  cols: 4",
    "  rows: 4",
    `  data: [${[...rows, 0, 0, 0, 1].join(", ")}]`,
    ...(rateHz === undefined ? [] : [`rate_hz: ${rateHz}`]),
    `resolution: [${imageSize.width}, ${imageSize.height}]`,
    "camera_model: pinhole",
    `intrinsics: [${K[0]}, ${K[4]}, ${K[2]}, ${K[5]}]`,
    `distortion_model: ${MODELS[distortion.model] ?? distortion.model}`,
    `distortion_coefficients: [${coefficients.join(", ")}]`,
    "",
  ].join("\n");
}
