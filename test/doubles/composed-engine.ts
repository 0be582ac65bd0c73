// SPDX-License-Identifier: Apache-2.0
// The engine's results, put together from the stages' references one by one: the second witness of the order of the stages and
// of what half resolution and a region of interest do to sizes and settings. It shares no code with cuda/engine/engine.cc and cuda/cpu.
import type { EngineOptions, Region } from "../../cuda/index.js";
import { native } from "./stages.js";

const halfSize = (value: number) => Math.ceil(value / 2);
const WITHIN_ONE_SURFACE = 3;

type Stage = (call: object) => string;
const stage = (name: string) => native.stages[name] as unknown as Stage;

interface Images {
  width: number;
  height: number;
  left: Uint8Array;
  right: Uint8Array;
}

interface Matched {
  disparityQ4: Int16Array;
  confidence: Uint8Array;
}

function halved({ width, height, left, right }: Images): Images {
  const half = (image: Uint8Array): Uint8Array => {
    const result = new Uint8Array(halfSize(width) * halfSize(height));
    stage("half")({ variant: "reference", width, height, image, result });
    return result;
  };
  return { width: halfSize(width), height: halfSize(height), left: half(left), right: half(right) };
}

function semiGlobal(images: Images, { match, refine }: EngineOptions): Matched {
  const size = { variant: "reference", width: images.width, height: images.height };
  const pixels = images.width * images.height;
  const census = (image: Uint8Array): Uint32Array => {
    const words = new Uint32Array(pixels);
    stage(String(match.parameters.cost))({ ...size, image, census: words });
    return words;
  };
  const maps = {
    disparityQ4: new Int16Array(pixels),
    disparity: new Int16Array(pixels),
    rightDisparity: new Int16Array(pixels),
    confidence: new Uint8Array(pixels),
  };
  const costs = { censusLeft: census(images.left), censusRight: census(images.right), greyLeft: images.left };
  const { minDisparity, numDisparities, parameters } = match;
  const { cost: _, ...own } = parameters;
  stage("sgm")({ ...size, minDisparity, numDisparities, ...own, ...costs, ...maps });
  if (refine.leftRight) stage("leftRight")({ ...size, ...maps });
  return maps;
}

function crossBased(images: Images, { match }: EngineOptions): Matched {
  const size = { variant: "reference", width: images.width, height: images.height };
  const pixels = images.width * images.height;
  const { minDisparity, numDisparities, halfResolution } = match;
  const maps = { disparity: new Int16Array(pixels), rightDisparity: new Int16Array(pixels) };
  const arms = halfResolution ? { armX: 3, armY: 3, similarity: 30 } : { armX: 9, armY: 9, similarity: 13 };
  const { left, right } = images;
  stage("cross")({ ...size, left, right, minDisparity, numDisparities, ...arms, ...maps });
  const points = maps.disparity.map((d) => (d === -32768 ? d : 16 * d));
  const confidence = new Uint8Array(pixels).fill(255);
  stage("leftRight")({ ...size, ...maps, disparityQ4: points, confidence, tolerance: 0 });
  const disparityQ4 = new Int16Array(pixels);
  stage("median")({ ...size, disparityQ4: points, result: disparityQ4 });
  const fill = { method: "bilateral", thresholdQ4: 48, lowestQ4: 0, highestQ4: 32752 };
  stage("fill")({ ...size, ...fill, grey: left, disparityQ4 });
  return { disparityQ4, confidence };
}

/** The settings in 1/16 px, as the references take them. */
const q4 = (pixels: number) => Math.round(16 * pixels);

/** Every case names all settings that it uses. */
const refineOptions = ({ refine }: EngineOptions) => refine as Required<EngineOptions["refine"]>;

function refined(images: Images, matched: Matched, options: EngineOptions): Matched {
  const { match } = options;
  const refine = refineOptions(options);
  const size = { variant: "reference", width: images.width, height: images.height };
  const { confidence: certainty } = matched;
  let { disparityQ4 } = matched;
  if (refine.speckleSize > 0) {
    const regions = { minPixels: refine.speckleSize, rangeQ4: q4(refine.speckleRange) };
    stage("speckle")({ ...size, ...regions, disparityQ4, confidence: certainty });
  }
  const confidence = new Uint8Array(disparityQ4.length);
  const zeroIsEstimated = match.algorithm === "cbca";
  stage("confidence")({
    ...size,
    grey: images.left,
    disparityQ4,
    certainty,
    zeroIsEstimated,
    sure: confidence,
  });
  if (refine.fill !== "off") {
    const [lowestQ4, steps] = [16 * match.minDisparity, match.numDisparities - 1];
    const range = { thresholdQ4: q4(refine.fillThreshold), lowestQ4, highestQ4: lowestQ4 + 16 * steps };
    stage("fill")({ ...size, method: refine.fill, ...range, grey: images.left, disparityQ4, confidence });
  }
  for (const name of ["boundary", "median", "slant"] as const) {
    if (!refine[name]) continue;
    const result = new Int16Array(disparityQ4.length);
    stage(name)({ ...size, grey: images.left, disparityQ4, result });
    disparityQ4 = result;
  }
  return { disparityQ4, confidence };
}

/** Settings in half pixels: nothing that the doubled result can be lies outside the search that was asked for. */
function halvedOptions(options: EngineOptions): EngineOptions {
  const { match } = options;
  const refine = refineOptions(options);
  const halfQ4 = (pixels: number) => halfSize(q4(pixels)) / 16;
  const first = halfSize(match.minDisparity);
  const last = Math.floor((match.minDisparity + match.numDisparities - 1) / 2);
  return {
    ...options,
    match: { ...match, minDisparity: first, numDisparities: last - first + 1 },
    refine: {
      ...refine,
      speckleSize: Math.ceil(refine.speckleSize / 4),
      speckleRange: halfQ4(refine.speckleRange),
      fillThreshold: halfQ4(refine.fillThreshold),
    },
  };
}

/** Computes the engine's expected result for rectified grey images. */
export function composed(images: Images, options: EngineOptions): Matched {
  const { region, match } = options;
  if (region === undefined) return composedWhole(images, options);
  // The images cropped to the region's rows, and to its columns with the largest disparity's to the left.
  // At half resolution they begin at an even column and row.
  const even = (value: number) => (match.halfResolution ? value - (value % 2) : value);
  const x = even(Math.max(0, region.x - (match.minDisparity + match.numDisparities - 1)));
  const y = even(region.y);
  const window = { x, y, width: region.x + region.width - x, height: region.y + region.height - y };
  const inWindow = composedWhole(
    { ...window, left: cropped(images, images.left, window), right: cropped(images, images.right, window) },
    options,
  );
  const disparityQ4 = new Int16Array(images.width * images.height).fill(-32768);
  const confidence = new Uint8Array(images.width * images.height);
  for (let row = 0; row < region.height; ++row) {
    for (let column = 0; column < region.width; ++column) {
      const from = (region.y - y + row) * window.width + region.x - x + column;
      const to = (region.y + row) * images.width + region.x + column;
      disparityQ4[to] = inWindow.disparityQ4[from]!;
      confidence[to] = inWindow.confidence[from]!;
    }
  }
  return { disparityQ4, confidence };
}

function cropped(images: Images, image: Uint8Array, { x, y, width, height }: Region): Uint8Array {
  const part = new Uint8Array(width * height);
  for (let row = 0; row < height; ++row) {
    const from = (y + row) * images.width + x;
    part.set(image.subarray(from, from + width), row * width);
  }
  return part;
}

function composedWhole(images: Images, options: EngineOptions): Matched {
  const { algorithm, halfResolution } = options.match;
  const used = halfResolution ? halved(images) : images;
  const settings = halfResolution ? halvedOptions(options) : options;
  const matched = algorithm === "sgm" ? semiGlobal(used, settings) : crossBased(used, settings);
  const small = refined(used, matched, settings);
  if (!halfResolution) return small;
  const { width, height, left } = images;
  const disparityQ4 = new Int16Array(width * height);
  const size = {
    variant: "reference",
    width,
    height,
    thresholdQ4: q4(options.refine.upscaleThreshold ?? WITHIN_ONE_SURFACE),
  };
  stage("upscale")({ ...size, grey: left, half: small.disparityQ4, result: disparityQ4 });
  const confidence = new Uint8Array(width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x)
      confidence[y * width + x] = small.confidence[(y >> 1) * used.width + (x >> 1)]!;
  }
  return { disparityQ4, confidence };
}
