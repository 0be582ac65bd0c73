// SPDX-License-Identifier: Apache-2.0
// Publishes the preview: now and then a small colour image of the disparity, as a plain JPEG or PNG file, for programs
// such as Home Assistant. The frame's slot is free again before the image is encoded.
import { colourDisparity, encodeJpeg, encodePng, type FloatImage } from "../../../camera/index.js";
import type { ComputedFrame, FrameSink } from "../../contracts/computed-frame.js";
import type { Publisher } from "./index.js";
import type { MqttSettings } from "./settings.js";

/** At most two pictures a second, at most this wide. */
const PERIOD_MS = 500;
const MAX_WIDTH = 320;
const INVALID_DISPARITY_Q4 = -32_768;

export interface PreviewOptions {
  publisher: Pick<Publisher, "preview">;
  encoding: MqttSettings["preview"]["encoding"];
  /** Disparities shown as the first and the last colour, pixels. */
  range: () => { min: number; max: number };
  onDropped: (cause: string) => void;
  /** Milliseconds of a clock that never goes back. */
  now?: () => number;
}

/** One pixel of each square, never a mean of several: between two surfaces there is nothing. */
function reduced({ slot, width, height }: ComputedFrame): FloatImage {
  const step = Math.max(1, Math.ceil(width / MAX_WIDTH));
  const image = { width: Math.floor(width / step), height: Math.max(1, Math.floor(height / step)) };
  const data = new Float32Array(image.width * image.height);
  const centre = Math.min(step >> 1, height - 1);
  for (let y = 0, at = 0; y < image.height; y++) {
    const row = (y * step + centre) * width + (step >> 1);
    for (let x = 0; x < image.width; x++, at++) {
      const value = slot.disparityQ4[row + x * step]!;
      data[at] = value === INVALID_DISPARITY_Q4 ? Number.POSITIVE_INFINITY : value / 16;
    }
  }
  return { ...image, data };
}

export function previewSink(options: PreviewOptions): FrameSink {
  const { publisher, encoding, range, onDropped, now = () => performance.now() } = options;
  const encode = encoding === "png" ? encodePng : encodeJpeg;
  let nextMs = Number.NEGATIVE_INFINITY;
  let busy = false;
  return (frame, release) => {
    if (busy || now() < nextMs) {
      release();
      return;
    }
    busy = true;
    nextMs = now() + PERIOD_MS;
    const picture = colourDisparity(reduced(frame), range());
    release();
    encode(picture)
      .then((file) => {
        const dropped = publisher.preview(file, `image/${encoding}`);
        if (dropped !== undefined) onDropped(`preview.${dropped}`);
      })
      .catch(() => onDropped("preview.encoderFailed"))
      .finally(() => {
        busy = false;
      });
  };
}
