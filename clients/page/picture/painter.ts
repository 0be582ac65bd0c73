// SPDX-License-Identifier: Apache-2.0
// Draws frame sets onto the two canvases, keeps the displayed range, and reads the value at a pixel.
import type { Counts, PictureStream } from "depthwatt-consumer/frames";
import type { FrameSet, Picture } from "../frame-set.js";
import type { Options, Quantity } from "../options.js";
import { type ColourMapName, colourTable } from "./colour-maps.js";
import {
  buildTable,
  colourise,
  hideUnsure,
  markFilled,
  meant,
  type Paint,
  paintGrey,
  type Range,
} from "./colourise.js";
import { autoRange, buildHistogram, eased, type Histogram, type Scale } from "./histogram.js";

const HISTOGRAM_MS = 200;
const MEASURE_STEP = 4;
export const SCALES: Record<Quantity, Scale> = {
  depth: { min: 0.1, max: 66, logarithmic: true },
  disparity: { min: 0, max: 256, logarithmic: false },
  confidence: { min: 0, max: 255, logarithmic: false },
};

/** Share of pixels with a match, of every fourth pixel. */
function matchedShare(confidence: Counts): number {
  let matched = 0;
  for (let i = 0; i < confidence.length; i += MEASURE_STEP) if (confidence[i] !== 0) matched++;
  return matched / Math.max(1, Math.ceil(confidence.length / MEASURE_STEP));
}

/** A canvas and the memory of its picture, recreated only where the size changes. */
class Sheet {
  #image: ImageData | undefined;
  words = new Uint32Array(0);

  constructor(readonly canvas: HTMLCanvasElement) {}

  fit(width: number, height: number): void {
    if (this.#image?.width === width && this.#image.height === height) return;
    this.canvas.width = width;
    this.canvas.height = height;
    this.#image = new ImageData(width, height);
    this.words = new Uint32Array(this.#image.data.buffer);
  }

  clear(width: number, height: number): void {
    this.fit(width, height);
    this.words.fill(0);
    this.show();
  }

  show(): void {
    if (this.#image) this.canvas.getContext("2d")?.putImageData(this.#image, 0, 0);
  }
}

export interface PixelFacts {
  x: number;
  y: number;
  /** undefined: the stream is not sent; NaN: no value here. */
  depthMetres: number | undefined;
  disparityPixels: number | undefined;
  confidence: number | undefined;
  grey: number | undefined;
  filled: boolean;
}

export class Painter {
  readonly #left: Sheet;
  readonly #value: Sheet;
  #set: FrameSet | undefined;
  #table: Uint32Array = new Uint32Array(0);
  #tableKey = "";
  #colours: Uint32Array | undefined;
  #map: ColourMapName | undefined;
  #auto: Partial<Record<Quantity, Range>> = {};
  #histogram: Histogram | undefined;
  #matchedShare: number | undefined;
  #histogramMs = Number.NEGATIVE_INFINITY;

  constructor(left: HTMLCanvasElement, value: HTMLCanvasElement) {
    this.#left = new Sheet(left);
    this.#value = new Sheet(value);
  }

  get set(): FrameSet | undefined {
    return this.#set;
  }

  get histogram(): Histogram | undefined {
    return this.#histogram;
  }

  /** 0 to 1; undefined if the confidence is not sent. */
  get matchedShare(): number | undefined {
    return this.#matchedShare;
  }

  /** Returns the displayed quantity, if the device sends it: depth without a calibration is disparity. */
  quantity(options: Options): Quantity | undefined {
    const pictures = this.#set?.pictures;
    if (!pictures) return undefined;
    const order: Quantity[] = [options.quantity, "depth", "disparity", "confidence"];
    return order.find((quantity) => pictures[quantity]);
  }

  range(options: Options): Range | undefined {
    const quantity = this.quantity(options);
    if (quantity === undefined) return undefined;
    return options.autoRange ? (this.#auto[quantity] ?? options.ranges[quantity]) : options.ranges[quantity];
  }

  draw(set: FrameSet, options: Options, nowMs = performance.now()): void {
    const fresh = set !== this.#set;
    this.#set = set;
    const { left, confidence } = set.pictures;
    if (left && left.header.element === "u8") {
      this.#left.fit(left.header.width, left.header.height);
      paintGrey(left.counts, this.#left.words);
      this.#left.show();
    }
    const quantity = this.quantity(options);
    const picture = quantity && set.pictures[quantity];
    if (!picture) return;
    this.#measure(quantity, picture, fresh, nowMs);
    const { width, height } = picture.header;
    this.#value.fit(width, height);
    // A missing left image leaves a hole of the same size, so that the layout stays.
    if (!left) this.#left.clear(width, height);
    const paint = this.#paint(quantity, options);
    colourise(
      picture.counts,
      picture.header,
      paint,
      this.#tableFor(picture, paint, options.map),
      this.#value.words,
    );
    const fits = confidence && confidence.counts.length === picture.counts.length;
    if (options.filled && fits && quantity !== "confidence")
      markFilled(confidence.counts, width, this.#value.words);
    if (options.minConfidence > 0 && fits)
      hideUnsure(confidence.counts, options.minConfidence, this.#value.words);
    this.#value.show();
  }

  #paint(quantity: Quantity, options: Options): Paint {
    if (this.#map !== options.map || !this.#colours) {
      this.#map = options.map;
      this.#colours = colourTable(options.map);
    }
    const range = this.range(options) ?? SCALES[quantity];
    return { colours: this.#colours, range, reversed: quantity === "depth" };
  }

  #tableFor({ header }: Picture, { range, reversed }: Paint, map: string): Uint32Array {
    const { element, unitScale, valueOffset, invalidRule } = header;
    const size = element === "u8" ? 256 : 65536;
    const key = [map, range.min, range.max, reversed, size, unitScale, valueOffset, invalidRule].join(" ");
    if (key !== this.#tableKey && element !== "f32") {
      this.#tableKey = key;
      this.#table = buildTable(header, { colours: this.#colours as Uint32Array, range, reversed }, size);
    }
    return this.#table;
  }

  /** Measures a few times a second, from every fourth pixel: faster changes are unreadable. */
  #measure(quantity: Quantity, { header, counts }: Picture, fresh: boolean, nowMs: number): void {
    if (!fresh || nowMs - this.#histogramMs < HISTOGRAM_MS) return;
    this.#histogramMs = nowMs;
    this.#histogram = buildHistogram(counts, header, SCALES[quantity], MEASURE_STEP);
    const sure = this.#set?.pictures.confidence?.counts;
    this.#matchedShare = sure && matchedShare(sure);
    const found = autoRange(this.#histogram, SCALES[quantity]);
    if (found) this.#auto[quantity] = eased(this.#auto[quantity], found);
  }

  /** Everything that is known of one pixel of the frame on screen; undefined outside of it. */
  at(x: number, y: number): PixelFacts | undefined {
    const pictures = this.#set?.pictures;
    const any = pictures && Object.values(pictures)[0];
    if (!any || x < 0 || y < 0 || x >= any.header.width || y >= any.header.height) return undefined;
    const value = (stream: PictureStream) => {
      const picture = pictures[stream];
      if (!picture || x >= picture.header.width || y >= picture.header.height) return undefined;
      return meant(picture.header, picture.counts[y * picture.header.width + x]!);
    };
    const [depthMetres, disparityPixels] = [value("depth"), value("disparity")];
    const confidence = value("confidence");
    const known = [depthMetres, disparityPixels].some((one) => one !== undefined && !Number.isNaN(one));
    const grey = value("left");
    return { x, y, depthMetres, disparityPixels, confidence, grey, filled: known && confidence === 0 };
  }
}
