// SPDX-License-Identifier: Apache-2.0
// Turns and mirrors images: as an exact change of the rectification map that reads them, or of a grey copy.
import { allocate, DepthwattError } from "../core/index.js";
import type { ImageSize } from "./calibration/index.js";
import type { GreyImage } from "./recordings/images/index.js";

/** Operations that make a captured image upright. Rotations are clockwise; mirror exchanges left and right, flip top and bottom. */
export const ORIENTATIONS = ["none", "rotate90", "rotate180", "rotate270", "mirror", "flip"] as const;
export type Orientation = (typeof ORIENTATIONS)[number];

export interface PairOrientation {
  left: Orientation;
  right: Orientation;
}

/** `swap`: x of the upright image runs along y of the captured one. `back`: that captured axis runs backwards. */
const AXES: Record<Orientation, { swap: boolean; backX: boolean; backY: boolean }> = {
  none: { swap: false, backX: false, backY: false },
  rotate90: { swap: true, backX: false, backY: true },
  rotate180: { swap: false, backX: true, backY: true },
  rotate270: { swap: true, backX: true, backY: false },
  mirror: { swap: false, backX: true, backY: false },
  flip: { swap: false, backX: false, backY: true },
};

const either = (swap: boolean) => {
  const words = ORIENTATIONS.filter((word) => AXES[word].swap === swap).join("|");
  return `(${words})(,(${words}))?`;
};
/** One orientation for both images, or two joined by a comma for left and right; both have the same size. */
export const PAIR_ORIENTATION = new RegExp(`^(${either(false)}|${either(true)})$`);

/** @param text "rotate180", or "none,mirror" for left and right, as PAIR_ORIENTATION has it */
export function parseOrientation(text: string): PairOrientation {
  const [left, right = left] = text.split(",") as [Orientation, Orientation?];
  return { left, right };
}

/** Returns the size of the upright image. */
export function orientedSize({ width, height }: ImageSize, orientation: Orientation): ImageSize {
  return AXES[orientation].swap ? { width: height, height: width } : { width, height };
}

/** Returns the orientation that undoes another one. */
const undone = (orientation: Orientation): Orientation =>
  orientation === "rotate90" ? "rotate270" : orientation === "rotate270" ? "rotate90" : orientation;
export const reverseOrientation = ({ left, right }: PairOrientation): PairOrientation => ({
  left: undone(left),
  right: undone(right),
});

/**
 * Returns a map into the captured image, from a map into the upright one (without a map: of the upright image itself).
 * Places are moved exactly, so the rectified image has the same bits as one from an upright camera.
 * @param captured size of the captured image
 * @param map [height][width][2], x then y, 1/32 px
 */
export function orientedMap(orientation: Orientation, captured: ImageSize, map?: Int32Array): Int32Array {
  const { swap, backX, backY } = AXES[orientation];
  const { width, height } = orientedSize(captured, orientation);
  const from = map ?? identityMap(width, height);
  const result = new Int32Array(allocate(from.byteLength, "a rectification map"));
  const [lastX, lastY] = [32 * (captured.width - 1), 32 * (captured.height - 1)];
  for (let i = 0; i < from.length; i += 2) {
    const [x, y] = swap ? [from[i + 1]!, from[i]!] : [from[i]!, from[i + 1]!];
    result[i] = backX ? lastX - x : x;
    result[i + 1] = backY ? lastY - y : y;
  }
  return result;
}

/** Returns the map that reads an image as it is. */
export function identityMap(width: number, height: number): Int32Array {
  const map = new Int32Array(allocate(8 * width * height, "a rectification map"));
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      map[at++] = 32 * x;
      map[at++] = 32 * y;
    }
  }
  return map;
}

export interface GreyPair {
  left: GreyImage;
  right: GreyImage;
}

/** Returns the upright images of captured ones. */
export const orientPair = ({ left, right }: GreyPair, orientation: PairOrientation): GreyPair => ({
  left: orientGrey(left, orientation.left),
  right: orientGrey(right, orientation.right),
});

/** Returns the upright copy of a grey image; the image itself where nothing changes. */
export function orientGrey(image: GreyImage, orientation: Orientation): GreyImage {
  if (orientation === "none") return image;
  const { swap, backX, backY } = AXES[orientation];
  const { width, height } = orientedSize(image, orientation);
  const data = image.data.slice();
  for (let y = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const [column, row] = swap ? [y, x] : [x, y];
      const from =
        (backY ? image.height - 1 - row : row) * image.width + (backX ? image.width - 1 - column : column);
      data[y * width + x] = image.data[from]!;
    }
  }
  return { ...image, data, width, height };
}

/** @throws DepthwattError CALIBRATION_SIZE_MISMATCH unless the calibration is for the upright images */
export function checkCalibratedSize(found: ImageSize, captured: ImageSize, { left }: PairOrientation): void {
  const expected = orientedSize(captured, left);
  if (found.width === expected.width && found.height === expected.height) return;
  throw new DepthwattError(
    "CALIBRATION_SIZE_MISMATCH",
    `Expected a calibration of ${expected.width}x${expected.height} (one image of ${captured.width}x${captured.height} with rig.orientation ${left}), got ${found.width}x${found.height}.`,
    { hint: "Calibrate with this rig.orientation, or change it.", context: { expected, found } },
  );
}
