// SPDX-License-Identifier: Apache-2.0
// Measures the formats among which source.v4l2.format "auto" chooses: the decoder of Motion JPEG, and the rectification that
// reads raw formats. It takes a few milliseconds for each format, once in a process.
import { availableParallelism } from "node:os";
import {
  type CaptureFormat,
  loadVideo,
  type MeasureDecoding,
  SAMPLE_SIZE,
  sampleJpeg,
  sampleRaw,
} from "../../../camera/index.js";
import { hasCode, hasColours } from "../../../core/index.js";
import { loadNative } from "../../contracts/native.js";

const RUNS = 9;
/** After this time a format is not run again; a slow machine gets by with one run. */
const ENOUGH_NS = 20_000_000n;
const PIXELS = SAMPLE_SIZE.width * SAMPLE_SIZE.height;

/** Nanoseconds a pixel, by format and whether colours are read. */
const measured = new Map<string, number>();

/** Measures on one core, and keeps the result for this process. */
export const measureDecoding: MeasureDecoding = async (formats, colours) => {
  const nsPerPixel = new Map<CaptureFormat, number>();
  for (const format of formats) {
    const key = `${format} ${colours}`;
    const cost = measured.get(key) ?? measure(format, colours);
    if (cost === undefined) continue;
    measured.set(key, cost);
    nsPerPixel.set(format, cost);
  }
  return { nsPerPixel, cores: availableParallelism() };
};

/** Returns undefined for Motion JPEG without its library; opening the camera then reports the missing package. */
function measure(format: CaptureFormat, colours: boolean): number | undefined {
  if (format !== "MJPEG") return rectifyNs(format, colours) / PIXELS;
  const jpeg = sampleJpeg();
  try {
    const decodeNs = loadVideo().timeDecoding({ jpeg, ...SAMPLE_SIZE, decode: colours ? "rgb" : "grey" });
    return (decodeNs + rectifyNs(colours ? "RGB8" : "GREY", colours)) / PIXELS;
  } catch (error) {
    if (hasCode(error, "DEVICE_UNSUITABLE")) return undefined;
    throw error;
  }
}

/** Returns the shortest time of the rectification stage for one image, nanoseconds. */
function rectifyNs(capture: Exclude<CaptureFormat, "MJPEG">, colours: boolean): number {
  const { width, height } = SAMPLE_SIZE;
  const { stages, cpuFeatures } = loadNative();
  const { format, ...source } = sampleRaw(capture);
  const map = new Int32Array(2 * PIXELS);
  for (let i = 0; i < PIXELS; i++) {
    map[2 * i] = 32 * (i % width) + 8;
    map[2 * i + 1] = 32 * Math.floor(i / width) + 8;
  }
  const call = {
    variant: cpuFeatures().best,
    format,
    ...source,
    inputWidth: width,
    inputHeight: height,
    width,
    height,
    map,
    grey: new Uint8Array(PIXELS),
    ...(colours && hasColours(format) && { rgb: new Uint8Array(3 * PIXELS) }),
  };
  const rectify = stages.rectify as unknown as (call: object) => string;
  let shortestNs = Number.POSITIVE_INFINITY;
  const startNs = process.hrtime.bigint();
  for (let run = 0; run < RUNS; run++) {
    const beforeNs = process.hrtime.bigint();
    rectify(call);
    const afterNs = process.hrtime.bigint();
    shortestNs = Math.min(shortestNs, Number(afterNs - beforeNs));
    if (afterNs - startNs > ENOUGH_NS) break;
  }
  return shortestNs;
}
