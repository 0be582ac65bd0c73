// SPDX-License-Identifier: Apache-2.0
// Chooses the format to request from one or two cameras: the cheapest one that reaches the requested rate at this size.
import type { CaptureFormat } from "v4l2-camera";
import {
  FORMAT_TRAITS,
  type FormatTrait,
  isInterleaved,
  type NativeDescription,
  type NativeFormat,
  type NativeSize,
} from "v4l2-camera/parts";
import { DepthwattError, hasColours } from "../../core/index.js";
import { isPairOfBytes } from "./pair-layout.js";

export interface FormatRequest {
  /** Size of the captured image, both images of a side-by-side camera together. */
  width: number;
  height: number;
  /** The size in words for messages; default: WIDTHxHEIGHT. */
  words?: string;
  format: CaptureFormat | "auto";
  /** Every pixel has a sample of each image (Y8I, Y12I); default false. */
  interleaved?: boolean;
  /** Frames per second to reach; absent: any rate will do. */
  rateHz?: number;
  /** Colours are read: "auto" takes a format without them only where there is no other. */
  colours?: boolean;
}

export interface ChosenFormat {
  trait: FormatTrait;
  /** Why "auto" passed over cheaper formats, with their rates; undefined if it took the cheapest one. */
  reason: string | undefined;
}

/** The link between a USB camera and its host controller. */
export interface UsbLink {
  /** Cameras with the same number share one bus. */
  bus: string;
  megabitsPerSecond: number;
}

/** Share of a USB bus that the kernel gives to video: 80 % of USB 2's time, and about as much of a faster bus. */
const USB_VIDEO_SHARE = 0.8;
/** A rate counts as reached from here on, because drivers round intervals. */
const RATE_TOLERANCE = 0.99;

const fits = (value: number, low: number, high: number, step: number) =>
  value >= low && value <= high && (step <= 1 || (value - low) % step === 0);

export const sizeFits = (size: NativeSize, width: number, height: number): boolean =>
  fits(width, size.minWidth, size.maxWidth, size.stepWidth) &&
  fits(height, size.minHeight, size.maxHeight, size.stepHeight);

/** A driver that lists no sizes takes what it is given; what it makes of it is read back at open. */
const offersSize = (format: NativeFormat, width: number, height: number): boolean =>
  format.sizes.length === 0 || format.sizes.some((size) => sizeFits(size, width, height));

interface Candidate {
  trait: FormatTrait;
  /** The slowest camera's fastest rate at this size; Infinity if a driver lists no rates. */
  fastestHz: number;
  /** Both cameras' streams at the requested rate need more than their common USB bus carries. */
  overloadsBus: boolean;
}

/**
 * A named format is taken as it is. `auto` takes the first of these groups that has a format, and from it the cheapest
 * one: formats that reach the rate and fit the USB bus; formats that reach the rate; the fastest format.
 * @param cameras one (side by side) or two
 * @param links each camera's USB link, in the same order; undefined for cameras that are not on USB
 * @throws DepthwattError DEVICE_UNSUITABLE that lists the camera's formats
 */
export function chooseFormat(
  cameras: readonly NativeDescription[],
  request: FormatRequest,
  links: readonly (UsbLink | undefined)[] = [],
): ChosenFormat {
  for (const camera of cameras) requireCamera(camera);
  const { width, height, rateHz } = request;
  const offered = (trait: FormatTrait, camera: NativeDescription) =>
    camera.formats.find((format) => format.fourcc === trait.fourcc && !format.emulated);
  const wanted = FORMAT_TRAITS.filter(
    (trait) =>
      (request.format === "auto" || trait.format === request.format) &&
      (request.interleaved ? canInterleave(trait.format, request.format) : !isInterleaved(trait.format)),
  );
  const candidates: Candidate[] = wanted
    .filter((trait) =>
      cameras.every((camera) => {
        const format = offered(trait, camera);
        return format !== undefined && offersSize(format, width, height);
      }),
    )
    .sort((one, other) => formatRank(one, request) - formatRank(other, request))
    .map((trait) => {
      const fastest = cameras.map((camera) => fastestHz(offered(trait, camera)!, width, height));
      const streamHz = cameras.map((_, i) => Math.min(rateHz ?? 0, fastest[i]!));
      return {
        trait,
        fastestHz: Math.min(...fastest),
        overloadsBus: overloadsBus(trait, request, streamHz, links),
      };
    });
  const first = candidates[0];
  if (first !== undefined) {
    const reaching = candidates.filter(
      (one) => rateHz === undefined || one.fastestHz >= RATE_TOLERANCE * rateHz,
    );
    const chosen =
      reaching.find((one) => !one.overloadsBus) ??
      reaching[0] ??
      candidates.reduce((best, one) => (one.fastestHz > best.fastestHz ? one : best));
    return { trait: chosen.trait, reason: chosen === first ? undefined : reasonText(chosen, candidates) };
  }
  const size = request.words ?? `${width}x${height}`;
  const expected =
    request.format === "auto" ? `a format that depthwatt reads at ${size}` : `${request.format} at ${size}`;
  const lacking =
    cameras.find((camera) => {
      const formats = wanted.map((trait) => offered(trait, camera)).filter((format) => format !== undefined);
      return !formats.some((format) => offersSize(format, width, height));
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

/** Some cameras list a pair's bytes under another format of two bytes a pixel: read as a pair if the user names it. */
const canInterleave = (format: CaptureFormat, requested: CaptureFormat | "auto"): boolean =>
  isInterleaved(format) || (format === requested && isPairOfBytes(format));

const formatRank = ({ format, preference }: FormatTrait, { colours }: FormatRequest): number =>
  colours && format !== "MJPEG" && !isInterleaved(format) && !hasColours(format)
    ? preference + FORMAT_TRAITS.length
    : preference;

/** Frames per second at this size; Infinity if the driver lists none. */
function fastestHz(format: NativeFormat, width: number, height: number): number {
  const ratesHz = format.sizes
    .filter((size) => sizeFits(size, width, height))
    .flatMap((size) => size.ratesHz);
  return ratesHz.length === 0 ? Number.POSITIVE_INFINITY : Math.max(...ratesHz);
}

/** Motion JPEG never counts as too much: its images' sizes are not known in advance. */
function overloadsBus(
  { bytesPerPixel, format }: FormatTrait,
  { width, height }: FormatRequest,
  streamHz: readonly number[],
  links: readonly (UsbLink | undefined)[],
): boolean {
  const bitsPerPixel = format === "NV12" ? 12 : 8 * bytesPerPixel;
  const needed = new Map<string, number>();
  return links.some((link, i) => {
    if (link === undefined) return false;
    const megabits = (needed.get(link.bus) ?? 0) + (width * height * bitsPerPixel * streamHz[i]!) / 1e6;
    needed.set(link.bus, megabits);
    return megabits > USB_VIDEO_SHARE * link.megabitsPerSecond;
  });
}

function reasonText(chosen: Candidate, candidates: readonly Candidate[]): string {
  const rate = ({ fastestHz }: Candidate) =>
    Number.isFinite(fastestHz) ? `${Number(fastestHz.toFixed(2))} Hz` : "an unlisted rate";
  const passed = candidates
    .slice(0, candidates.indexOf(chosen))
    .map((one) => `${one.trait.format} ${rate(one)}${one.overloadsBus ? ", too much for the USB bus" : ""}`);
  return `source.v4l2.format auto takes ${chosen.trait.format} (${rate(chosen)}); cheaper formats: ${passed.join("; ")}.`;
}

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
