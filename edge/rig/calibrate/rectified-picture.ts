// SPDX-License-Identifier: Apache-2.0
// One rectified image for the report, bilinear: a picture for people, not the engine's rectification.
import { capturedPoint, type GreyImage, rectify, type StereoCalibration } from "../../../camera/index.js";

/** Rectified and scaled to `width` pixels; black where the camera saw nothing. */
export function rectifiedPicture(
  image: GreyImage,
  calibration: StereoCalibration,
  side: "left" | "right",
  width: number,
): { data: Uint8Array; width: number; height: number } {
  const rectification = rectify(calibration);
  const scale = rectification.width / width;
  const height = Math.round(rectification.height / scale);
  const data = new Uint8Array(width * height);
  const top =
    image.data instanceof Uint16Array ? image.data.reduce((max, value) => Math.max(max, value), 1) : 255;
  const at = (x: number, y: number) => image.data[y * image.width + x]!;
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [u, v] = capturedPoint(
        calibration[side],
        rectification,
        side,
        (x + 0.5) * scale - 0.5,
        (y + 0.5) * scale - 0.5,
      );
      if (!(u >= 0 && v >= 0 && u < image.width - 1 && v < image.height - 1)) continue;
      const [x0, y0] = [Math.floor(u), Math.floor(v)];
      const [fx, fy] = [u - x0, v - y0];
      const upper = at(x0, y0) * (1 - fx) + at(x0 + 1, y0) * fx;
      const lower = at(x0, y0 + 1) * (1 - fx) + at(x0 + 1, y0 + 1) * fx;
      data[y * width + x] = Math.round(((upper * (1 - fy) + lower * fy) * 255) / top);
    }
  }
  return { data, width, height };
}
