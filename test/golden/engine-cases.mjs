// SPDX-License-Identifier: Apache-2.0
// Whole engines whose results are pinned in engine.json: plain JavaScript, so that the check on a GPU machine reads it too.

/**
 * @typedef {import("../../cuda/index.js").EngineOptions} EngineOptions
 * @typedef {{
 *   options: Omit<EngineOptions, "backend">,
 *   pair: { left: Uint8Array, right: Uint8Array },
 * }} EngineCase
 */

/** A linear congruential generator: the same numbers on every machine. */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state >>> 8;
  };
}

/** Blocks of constant disparity over noise, its own little noise in each camera; `bytes` a pixel. */
function randomPair(width, height, min, num, bytes) {
  const next = numbers(7);
  const row = width * bytes;
  const right = new Uint8Array(row * height).map(() => next() & 255);
  const left = new Uint8Array(right.length);
  for (let y = 0; y < height; ++y) {
    for (let i = 0; i < row; ++i) {
      const x = Math.floor(i / bytes);
      const d = min + (((x >> 4) * 7 + (y >> 3) * 5) % num);
      const value = x >= d ? right[y * row + i - d * bytes] : 128;
      left[y * row + i] = Math.min(255, Math.max(0, value + (next() % 9) - 4));
    }
  }
  return { left, right };
}

/**
 * Moves pixels by fractions, and some of them out of the image.
 * @param {number} width
 * @param {number} height
 */
export function bentMap(width, height) {
  const map = new Int32Array(2 * width * height);
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) {
      map[2 * (y * width + x)] = 32 * x + ((x * y) % 23) - 11;
      map[2 * (y * width + x) + 1] = 32 * y + (x % 7);
    }
  }
  return map;
}

const MATCH = { algorithm: "sgm", halfResolution: false, minDisparity: 0, numDisparities: 48 };
const SGM = {
  cost: "twoGradientCensus",
  paths: 4,
  p1: 10,
  p2: 34,
  adaptiveP2: 4,
  uniqueness: 8,
  subpixel: true,
  outsideCost: 8,
};
const REFINE = {
  leftRight: true,
  speckleSize: 30,
  speckleRange: 0.75,
  fill: "background",
  fillThreshold: 6,
  boundary: true,
  median: true,
};
const PLAIN = { ...REFINE, leftRight: false, speckleSize: 0, fill: "off", boundary: false, median: false };

/** @returns {any} */
function engineCase(width, height, match = {}, refine = {}, more = {}) {
  const bytes = { YUYV: 2, RGB8: 3 }[more.leftFormat] ?? 1;
  const { own = {}, ...shared } = match;
  const used = { ...MATCH, ...shared, parameters: own };
  if (used.algorithm === "sgm") used.parameters = { ...SGM, ...own };
  const map = more.maps ? { leftMap: bentMap(width, height), rightMap: bentMap(width, height) } : {};
  const { maps: _, ...rest } = more;
  return {
    options: {
      inputWidth: width,
      inputHeight: height,
      width,
      height,
      leftFormat: "GREY",
      rightFormat: "GREY",
      leftStrideBytes: bytes * width,
      rightStrideBytes: bytes * width,
      threads: 2,
      slots: 2,
      match: used,
      refine: { ...REFINE, ...refine },
      ...map,
      geometry: { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 0.5 },
      encodeDepth: "rvl",
      encodeDisparity: "raw",
      ...rest,
    },
    pair: randomPair(width, height, used.minDisparity, Math.min(used.numDisparities, 40), bytes),
  };
}

const YUYV = { leftFormat: "YUYV", rightFormat: "YUYV" };
const RGB8 = { leftFormat: "RGB8", rightFormat: "RGB8" };
const REGION = { region: { x: 41, y: 7, width: 37, height: 20 } };

/**
 * Each with the options of an engine, and the pair it computes.
 * @type {Record<string, EngineCase>}
 */
export const engineCases = {
  usual: engineCase(97, 41),
  "two paths": engineCase(97, 41, { own: { paths: 2 } }),
  "never outside, one gradient": engineCase(97, 41, { own: { cost: "gradientCensus", outsideCost: 63 } }),
  "wide census": engineCase(97, 41, { own: { cost: "wideCensus" } }),
  "a right view of its own, two rounds": engineCase(
    97,
    41,
    { own: { cost: "wideCensus", rightView: "own" } },
    { rounds: 2 },
  ),
  "a right view of its own, three rounds in a region at half resolution": engineCase(
    97,
    41,
    { own: { rightView: "own", outsideCost: 63, adaptiveP2: 0 }, halfResolution: true },
    { rounds: 3 },
    REGION,
  ),
  "local planes": engineCase(97, 41, {}, { slant: true }),
  "local planes in a region at half resolution": engineCase(
    97,
    41,
    { halfResolution: true },
    { slant: true },
    REGION,
  ),
  "eight paths": engineCase(97, 41, { own: { paths: 8, p2: 30 } }),
  "wide sums": engineCase(97, 33, { own: { paths: 8, p2: 700 }, minDisparity: 3 }),
  "from YUYV, rectified": engineCase(90, 38, { own: { cost: "census" } }, {}, { ...YUYV, maps: true }),
  "nothing refined": engineCase(83, 37, { own: { subpixel: false, uniqueness: 0 } }, PLAIN),
  "bilateral filling": engineCase(83, 37, {}, { fill: "bilateral", boundary: false }),
  "half resolution": engineCase(121, 51, { halfResolution: true, minDisparity: 1, numDisparities: 75 }),
  "rows moved, smoothed": engineCase(97, 41, {}, {}, { verticalOffset: 0.75, denoise: "on" }),
  "rows moved in the maps": engineCase(90, 38, {}, {}, { ...YUYV, maps: true, verticalOffset: -1.5 }),
  "black level": engineCase(90, 38, {}, {}, { ...YUYV, maps: true, blackLevel: 60 }),
  "rows and noise watched": engineCase(97, 41, {}, {}, { verticalOffset: "auto", denoise: "on" }),
  "a region": engineCase(97, 41, {}, {}, REGION),
  "a region at half resolution": engineCase(97, 41, { halfResolution: true }, {}, REGION),
  cbca: engineCase(83, 37, { algorithm: "cbca" }),
  "cbca at half resolution": engineCase(121, 51, { algorithm: "cbca", halfResolution: true }),
  "cbca in a region": engineCase(97, 41, { algorithm: "cbca", halfResolution: true }, {}, REGION),
  esaw: engineCase(83, 37, { algorithm: "esaw" }, {}, RGB8),
  "esaw of 5 rounds from YUYV, rectified": engineCase(
    90,
    38,
    { algorithm: "esaw", own: { steps: 5, basePercent: 260, subpixel: true } },
    {},
    { ...YUYV, maps: true },
  ),
  "esaw of grey, in a region at half resolution": engineCase(
    97,
    41,
    { algorithm: "esaw", halfResolution: true },
    {},
    REGION,
  ),
  "esaw in CIELab": engineCase(83, 37, { algorithm: "esaw", own: { colourDistance: "lab" } }, PLAIN, RGB8),
  esmp: engineCase(83, 37, { algorithm: "esmp" }, PLAIN, RGB8),
  sad: engineCase(83, 37, { algorithm: "sad" }, {}, RGB8),
  "sad of 9 x 5 from YUYV, rectified": engineCase(
    90,
    38,
    { algorithm: "sad", own: { windowWidth: 9, hueWeight: 20, valueWeight: 50, subpixel: true } },
    {},
    { ...YUYV, maps: true },
  ),
  "sad of grey, in a region at half resolution": engineCase(
    97,
    41,
    { algorithm: "sad", halfResolution: true },
    {},
    REGION,
  ),
  pyramid: engineCase(83, 37, { algorithm: "pyramid", own: { subpixel: true } }, {}, RGB8),
  "pyramid of two levels, nothing refined": engineCase(
    97,
    41,
    { algorithm: "pyramid", own: { levels: 2, windowWidth: 3, windowHeight: 5 } },
    PLAIN,
    RGB8,
  ),
  "repaired by the product": engineCase(97, 41, {}, { confidence: "product", repair: true }),
  "repaired by the matching score, nothing refined behind": engineCase(
    83,
    37,
    { algorithm: "sad" },
    { ...PLAIN, confidence: "matchingScore", repair: true },
    RGB8,
  ),
  "cbca repaired by the density, half resolution, T of half a pixel": engineCase(
    121,
    51,
    { algorithm: "cbca", halfResolution: true },
    { confidence: "featureDensity", repair: true, upscaleThreshold: 0.5 },
  ),
  "repaired by the probability in a region, median alone": engineCase(
    97,
    41,
    {},
    { repair: true, fill: "off", boundary: false },
    REGION,
  ),
  "peak ratio": engineCase(83, 37, { algorithm: "pyramid" }, { confidence: "peakRatio" }, RGB8),
  "coarse to fine": engineCase(161, 43, { own: { search: "coarseToFine" }, numDisparities: 128 }),
  "coarse to fine, wide census, two paths, three levels": engineCase(97, 41, {
    own: { search: "coarseToFine", cost: "wideCensus", paths: 2, p2: 120, outsideCost: 63 },
    minDisparity: 3,
    numDisparities: 203,
  }),
  "coarse to fine, separate right-image match, in a region at half resolution": engineCase(
    161,
    43,
    {
      own: { search: "coarseToFine", rightView: "own", adaptiveP2: 0 },
      halfResolution: true,
      numDisparities: 150,
    },
    { rounds: 2 },
    { region: { x: 41, y: 7, width: 97, height: 30 } },
  ),
};

/**
 * FNV-1a over everything a slot holds of a frame.
 * @param {import("../../cuda/index.js").EngineSlot} slot
 * @param {import("../../cuda/index.js").FrameResult} result
 */
export function hashResult(slot, result) {
  let h = 2166136261;
  const depthBody = slot.encodedDepth.subarray(0, result.encodedDepthBytes);
  for (const image of [slot.left, slot.disparityQ4, slot.confidence, slot.depthMillimetres, depthBody]) {
    const bytes = new Uint8Array(image.buffer, image.byteOffset, image.byteLength);
    for (const byte of bytes) h = Math.imul(h ^ byte, 16777619);
  }
  return (h >>> 0).toString(16).padStart(8, "0");
}

/**
 * The hash of the second frame of an engine: the first leaves something in every buffer.
 * @param {typeof import("../../cuda/index.js").createEngine} createEngine
 * @param {EngineCase} engineCase
 * @param {Partial<EngineOptions> & Pick<EngineOptions, "backend">} changes
 * @returns {Promise<string>}
 */
export async function computeHash(createEngine, { options, pair }, changes) {
  const engine = createEngine({ ...options, ...changes });
  try {
    let hash = "";
    for (let frame = 0; frame < 2; ++frame) {
      hash = await new Promise((resolve, reject) =>
        engine.submit(1, pair.left, pair.right, (error, result) =>
          error ? reject(error) : resolve(hashResult(engine.slots[1], result)),
        ),
      );
    }
    return hash;
  } finally {
    engine.close();
  }
}
