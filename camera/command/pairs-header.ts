// SPDX-License-Identifier: Apache-2.0
// The stream of a helper that matches pairs, such as "DEPTHWATT-PAIRS W640 H480 F30:1". Each frame is both rectified grey images,
// the left image's disparity (little-endian int16, 1/16 px, -32768 for none) and its confidence (uint8).
import { DepthwattError, printable } from "../../core/index.js";
import { rateFrom, type StreamHeader, type StreamLayout, tagsOf } from "./y4m.js";

const MAGIC = "DEPTHWATT-PAIRS";
const HINT = "docs/guides/other-engines.md describes what a helper writes.";
const MAX_PIXELS = 16_384;
const BYTES_PER_PIXEL = 5;
const HIGHEST_Q4 = 16 * 2047;
const INVALID = -32_768;
/** One in so many disparities is checked; the engine reads all others that are out of range as invalid. */
const CHECKED_EVERY = 61;

function pairsLayout(line: string): StreamLayout {
  const tags = tagsOf(line);
  const across = (letter: string) => {
    const pixels = /^\d{1,5}$/.test(tags.get(letter) ?? "") ? Number(tags.get(letter)) : 0;
    if (pixels >= 16 && pixels <= MAX_PIXELS) return pixels;
    throw new DepthwattError(
      "DEVICE_UNSUITABLE",
      `expected W and H of 16 to ${MAX_PIXELS} pixels in the first line, got "${printable(line.slice(0, 60))}"`,
      { hint: HINT },
    );
  };
  const [width, height] = [across("W"), across("H")];
  return {
    width,
    height,
    format: "GREY_DISPARITY",
    rateHz: rateFrom(tags.get("F")),
    strideBytes: width,
    imageBytes: BYTES_PER_PIXEL * width * height,
    skipBytes: 0,
  };
}

export const PAIRS: StreamHeader = { magic: MAGIC, layout: pairsLayout, hint: HINT };

/**
 * Checks a sample of a frame's disparities.
 * @throws DepthwattError COMMAND_FAILED
 */
export function checkDisparities(frame: Uint8Array): void {
  const pixels = frame.length / BYTES_PER_PIXEL;
  const disparities = new Int16Array(frame.buffer, frame.byteOffset + 2 * pixels, pixels);
  for (let at = 0; at < pixels; at += CHECKED_EVERY) {
    const found = disparities[at]!;
    if (found === INVALID || (found >= 0 && found <= HIGHEST_Q4)) continue;
    throw new DepthwattError(
      "COMMAND_FAILED",
      `expected disparities of 0 to 2047 px in 1/16 px, or ${INVALID} for none, got ${found}`,
      { hint: HINT, context: { found } },
    );
  }
}
