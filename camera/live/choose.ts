// SPDX-License-Identifier: Apache-2.0
// Chooses the format to request from one or two cameras: the cheapest for this machine that reaches the rate at this size.
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
import { cheapest, type DecodingCosts } from "./decoding-costs.js";
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
  /** The settings' section for messages; default: source.v4l2. */
  section?: string;
  /** Colours are read: "auto" takes a format without them only where there is no other. */
  colours?: boolean;
}

export interface ChosenFormat {
  trait: FormatTrait;
  /** The choice of "auto" and the alternatives, with rates and measured costs; undefined for a named format. */
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
  /** Without the colours that are read. */
  lacksColours: boolean;
  /** The slowest camera's fastest rate at this size; Infinity if a driver lists no rates. */
  listedHz: number;
  /** The rate at which this machine has its pixels: of Motion JPEG no faster than it decodes. */
  fastestHz: number;
  /** Milliseconds of a core for both images; undefined: not measured. */
  costMs: number | undefined;
  /** Both cameras' streams at the requested rate need more than their common USB bus carries. */
  overloadsBus: boolean;
}

/**
 * A named format is taken as it is. `auto` takes the first of these groups that has a format, and from it the format
 * that costs this machine least: formats that reach the rate and fit the USB bus; formats that reach the rate; the fastest
 * format. Where costs are not known or nearly equal, the order of the table decides.
 * @param cameras one (side by side) or two
 * @param links each camera's USB link, in the same order; undefined for cameras that are not on USB
 * @param costs of the formats that formatsToMeasure() returns
 * @throws DepthwattError DEVICE_UNSUITABLE that lists the camera's formats
 */
export function chooseFormat(
  cameras: readonly NativeDescription[],
  request: FormatRequest,
  links: readonly (UsbLink | undefined)[] = [],
  costs?: DecodingCosts,
): ChosenFormat {
  for (const camera of cameras) requireCamera(camera);
  const candidates = candidatesFor(cameras, request, links, costs);
  const group = bestGroup(candidates, request);
  const chosen = cheapest(group.filter(({ lacksColours }) => !lacksColours)) ?? cheapest(group);
  if (chosen === undefined) throw nothingFits(cameras, request);
  const reason = request.format === "auto" ? reasonText(chosen, candidates, request) : undefined;
  return { trait: chosen.trait, reason };
}

/** Returns the formats among which the cost decides; none where the choice does not depend on it. */
export function formatsToMeasure(
  cameras: readonly NativeDescription[],
  request: FormatRequest,
  links: readonly (UsbLink | undefined)[] = [],
): CaptureFormat[] {
  if (request.format !== "auto") return [];
  const candidates = candidatesFor(cameras, request, links);
  const group = bestGroup(candidates, request).map(({ trait }) => trait.format);
  if (group.length > 1) return group;
  // The rate of Motion JPEG depends on its cost, and with it whether a slower format takes its place.
  const isDoubtful = group[0] === "MJPEG" && request.rateHz !== undefined && candidates.length > 1;
  return isDoubtful ? group : [];
}

/** Formats that all cameras have at the size, in the table's order. */
function candidatesFor(
  cameras: readonly NativeDescription[],
  request: FormatRequest,
  links: readonly (UsbLink | undefined)[],
  costs?: DecodingCosts,
): Candidate[] {
  const { width, height, rateHz } = request;
  const pixels = width * height;
  const images = request.interleaved ? 2 : cameras.length;
  return wantedTraits(request)
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
      const listedHz = Math.min(...fastest);
      const imageNs = costs?.nsPerPixel.has(trait.format)
        ? pixels * costs.nsPerPixel.get(trait.format)!
        : undefined;
      // Each camera has a thread that decodes its images.
      const decodedHz =
        trait.format === "MJPEG" && imageNs !== undefined
          ? (1e9 / imageNs) * Math.min(1, costs!.cores / cameras.length)
          : Number.POSITIVE_INFINITY;
      return {
        trait,
        lacksColours: formatRank(trait, request) >= FORMAT_TRAITS.length,
        listedHz,
        fastestHz: Math.min(listedHz, decodedHz),
        costMs: imageNs === undefined ? undefined : (images * imageNs) / 1e6,
        overloadsBus: overloadsBus(trait, request, streamHz, links),
      };
    });
}

function bestGroup(candidates: readonly Candidate[], { rateHz }: FormatRequest): readonly Candidate[] {
  const reaching = candidates.filter(
    (one) => rateHz === undefined || one.fastestHz >= RATE_TOLERANCE * rateHz,
  );
  const fitting = reaching.filter((one) => !one.overloadsBus);
  if (fitting.length > 0) return fitting;
  if (reaching.length > 0) return reaching.slice(0, 1);
  return candidates.length === 0
    ? []
    : [candidates.reduce((best, one) => (one.fastestHz > best.fastestHz ? one : best))];
}

const offered = (trait: FormatTrait, camera: NativeDescription) =>
  camera.formats.find((format) => format.fourcc === trait.fourcc && !format.emulated);

const wantedTraits = (request: FormatRequest): FormatTrait[] =>
  FORMAT_TRAITS.filter(
    (trait) =>
      (request.format === "auto" || trait.format === request.format) &&
      (request.interleaved ? canInterleave(trait.format, request.format) : !isInterleaved(trait.format)),
  );

function nothingFits(cameras: readonly NativeDescription[], request: FormatRequest): DepthwattError {
  const { width, height, section = "source.v4l2" } = request;
  const size = request.words ?? `${width}x${height}`;
  const expected =
    request.format === "auto" ? `a format that depthwatt reads at ${size}` : `${request.format} at ${size}`;
  const lacking =
    cameras.find((camera) => {
      const formats = wantedTraits(request)
        .map((trait) => offered(trait, camera))
        .filter((format) => format !== undefined);
      return !formats.some((format) => offersSize(format, width, height));
    }) ?? cameras[0]!;
  return new DepthwattError(
    "DEVICE_UNSUITABLE",
    `${lacking.path} (${lacking.card}): expected ${expected}, the camera offers ${offerText(lacking)}.`,
    {
      hint: `Choose a size and format that it offers (${section}.width, ${section}.height, ${section}.format).`,
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

/** "source.v4l2.format auto takes YUYV (30 Hz, 0.2 ms a pair); also possible: MJPEG (60 Hz, 1.9 ms)." */
function reasonText(
  chosen: Candidate,
  candidates: readonly Candidate[],
  { section = "source.v4l2" }: FormatRequest,
): string {
  const others = candidates.filter((one) => one !== chosen);
  const alternatives = others.map((one) => `${one.trait.format} (${factsText(one, "")})`);
  const also = alternatives.length === 0 ? "" : `; also possible: ${alternatives.join(", ")}`;
  return `${section}.format auto takes ${chosen.trait.format} (${factsText(chosen, " a pair")})${also}.`;
}

function factsText({ listedHz, fastestHz, costMs, overloadsBus }: Candidate, unit: string): string {
  const hertz = (rate: number) => `${Number(rate.toFixed(2))} Hz`;
  const rate = Number.isFinite(listedHz) ? hertz(listedHz) : "an unlisted rate";
  return [
    fastestHz < listedHz ? `${rate}, decoded at ${hertz(Math.floor(fastestHz))}` : rate,
    ...(costMs === undefined ? [] : [`${Number(costMs.toPrecision(2))} ms${unit}`]),
    ...(overloadsBus ? ["too much for the USB bus"] : []),
  ].join(", ");
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
