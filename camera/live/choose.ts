// SPDX-License-Identifier: Apache-2.0
// Which format to ask of one or two cameras: the cheapest that all offer at the size wanted. Pure logic.
import type { CaptureFormat } from "v4l2-camera";
import {
  FORMAT_TRAITS,
  type FormatTrait,
  type NativeDescription,
  type NativeFormat,
  type NativeSize,
} from "v4l2-camera/parts";
import { DepthwattError, hasColours } from "../../core/index.js";

export interface FormatRequest {
  /** Size of the captured image, both images of a side-by-side camera together. */
  width: number;
  height: number;
  format: CaptureFormat | "auto";
  /** Colours are read: "auto" takes a format without them only where there is no other. */
  colours?: boolean;
}

const fits = (value: number, low: number, high: number, step: number) =>
  value >= low && value <= high && (step <= 1 || (value - low) % step === 0);

export const sizeFits = (size: NativeSize, width: number, height: number): boolean =>
  fits(width, size.minWidth, size.maxWidth, size.stepWidth) &&
  fits(height, size.minHeight, size.maxHeight, size.stepHeight);

/** A driver that lists no sizes takes what it is given; what it makes of it is read back at open. */
const offersSize = (format: NativeFormat, width: number, height: number): boolean =>
  format.sizes.length === 0 || format.sizes.some((size) => sizeFits(size, width, height));

/**
 * @param cameras one (side by side) or two
 * @throws DepthwattError DEVICE_UNSUITABLE that lists what the camera offers
 */
export function chooseFormat(cameras: readonly NativeDescription[], request: FormatRequest): FormatTrait {
  for (const camera of cameras) requireCamera(camera);
  const offered = (trait: FormatTrait, camera: NativeDescription) =>
    camera.formats.find((format) => format.fourcc === trait.fourcc && !format.emulated);
  const wanted = FORMAT_TRAITS.filter(
    (trait) => request.format === "auto" || trait.format === request.format,
  );
  const shared = wanted.filter((trait) => cameras.every((camera) => offered(trait, camera)));
  const usable = shared
    .filter((trait) =>
      cameras.every((camera) => offersSize(offered(trait, camera)!, request.width, request.height)),
    )
    .sort((one, other) => formatRank(one, request) - formatRank(other, request));
  if (usable[0]) return usable[0];
  const size = `${request.width}x${request.height}`;
  const expected =
    request.format === "auto" ? `a format that depthwatt reads at ${size}` : `${request.format} at ${size}`;
  const lacking =
    cameras.find((camera) => {
      const formats = wanted.map((trait) => offered(trait, camera)).filter((format) => format !== undefined);
      return !formats.some((format) => offersSize(format, request.width, request.height));
    }) ?? cameras[0]!;
  throw new DepthwattError(
    "DEVICE_UNSUITABLE",
    `${lacking.path} (${lacking.card}): expected ${expected}, the camera offers ${offerText(lacking)}.`,
    {
      hint: "Choose a size and format that it offers (source.v4l2.width, source.v4l2.height, source.v4l2.format).",
      context: { device: lacking.path, expected: request },
    },
  );
}

const formatRank = ({ format, preference }: FormatTrait, { colours }: FormatRequest): number =>
  colours && format !== "MJPEG" && !hasColours(format) ? preference + FORMAT_TRAITS.length : preference;

function requireCamera(camera: NativeDescription): void {
  if (camera.captures && camera.streams) return;
  throw new DepthwattError(
    "DEVICE_UNSUITABLE",
    `${camera.path} (${camera.card}): expected a camera, got a device that does not capture video.`,
    { context: { device: camera.path } },
  );
}

/** "YUYV 640x480 1280x720, MJPG 1920x1080", at most a line long. */
export function offerText(camera: NativeDescription): string {
  const texts = camera.formats.map((format) => `${format.fourcc.trim()} ${sizesText(format)}`.trim());
  const text = texts.slice(0, 6).join(", ");
  return texts.length > 6 ? `${text} and ${texts.length - 6} more` : text || "nothing";
}

function sizesText(format: NativeFormat): string {
  const texts = format.sizes.map((size) =>
    size.minWidth === size.maxWidth
      ? `${size.maxWidth}x${size.maxHeight}`
      : `${size.minWidth}x${size.minHeight} to ${size.maxWidth}x${size.maxHeight}`,
  );
  return texts.length > 5 ? `${texts.slice(0, 5).join(" ")} ...` : texts.join(" ");
}
