// SPDX-License-Identifier: Apache-2.0
// A change of every live setting: the value to set, and what must be set first so that it has an effect.
import { tmpdir } from "node:os";
import { join } from "node:path";
import { MATCHERS, type SettingFact, STAGE_SETTINGS } from "../../cuda/index.js";

export type Values = Record<string, string | number | boolean | null>;

export interface Change {
  /** Set first, because the change has no effect without it. */
  with?: Values;
  to: Values;
  /** True if a grey scene that stands still gives the same images and messages; live-effects.test.ts shows the effect. */
  sameImages?: true;
}

const matcher = (algorithm: string, values: Values): Change => ({
  with: { "match.algorithm": algorithm },
  to: values,
});
const stream = (name: string, encoding: string): Record<string, Change> => ({
  [`outputs.mqtt.${name}.enabled`]: { to: { [`outputs.mqtt.${name}.enabled`]: true } },
  [`outputs.mqtt.${name}.encoding`]: {
    with: { [`outputs.mqtt.${name}.enabled`]: true },
    to: { [`outputs.mqtt.${name}.encoding`]: encoding },
  },
});
const one = (key: string, value: Values[string], change: Partial<Change> = {}): Record<string, Change> => ({
  [key]: { to: { [key]: value }, ...change },
});
const VOXELS = { "outputs.mqtt.points.enabled": true, "outputs.mqtt.points.encoding": "voxels" };
const ofSection = (section: string, values: Values): Record<string, Change> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const key = `${section}.${name}`;
      return [key, { to: { [key]: value } }];
    }),
  );
const ofMatcher = (algorithm: string, values: Values): Record<string, Change> =>
  Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const key = `match.${algorithm}.${name}`;
      return [key, matcher(algorithm, { [key]: value })];
    }),
  );

const sameImages = (changes: Record<string, Change>): Record<string, Change> =>
  Object.fromEntries(Object.entries(changes).map(([key, change]) => [key, { ...change, sameImages: true }]));

/** A value other than the default that breaks no rule; undefined where the setting is none of a matcher or a stage. */
function otherValue(fact: SettingFact): Values[string] {
  switch (fact.kind) {
    case "flag":
      return fact.default !== true;
    case "word":
      return fact.choices.find((word) => word !== fact.default) as string;
    case "oneOf":
      return fact.choices.find((number) => number !== fact.default) as number;
    case "whole":
      return fact.default < fact.high ? fact.default + 1 : fact.default - 1;
    case "fraction":
      return fact.high;
  }
}

/** For parameters and stages without a line below. */
const FROM_FACTS: Record<string, Change> = Object.fromEntries([
  ...STAGE_SETTINGS.filter(({ takesEffect }) => takesEffect === undefined).map((fact) => [
    fact.key,
    { to: { [fact.key]: otherValue(fact) }, sameImages: true },
  ]),
  ...MATCHERS.flatMap(({ name, parameters }) =>
    parameters.map((fact) => {
      const key = `match.${name}.${fact.key}`;
      return [key, { ...matcher(name, { [key]: otherValue(fact) }), sameImages: true }];
    }),
  ),
]);

export const CHANGES: Record<string, Change> = {
  ...FROM_FACTS,
  ...sameImages(
    ofSection("health", {
      enabled: false,
      maxRows: 1.5,
      maxDegrees: 0.2,
      maxCorrectionDegrees: 2,
      driftFile: join(tmpdir(), `depthwatt-drift-${process.pid}.json`),
    }),
  ),
  ...one("match.algorithm", "cbca"),
  ...one("match.halfResolution", true),
  ...one("match.minDisparity", 8),
  ...one("match.numDisparities", 24),
  ...ofMatcher("sgm", {
    cost: "census",
    paths: 8,
    p1: 3,
    p2: 90,
    adaptiveP2: 0,
    uniqueness: 30,
    outsideCost: 63,
    rightView: "own",
    subpixel: false,
  }),
  "match.sgm.search": {
    with: { "match.algorithm": "sgm", "match.numDisparities": 96 },
    to: { "match.sgm.search": "coarseToFine" },
  },
  ...ofMatcher("cbca", { armX: 2, armY: 2, similarity: 4, armXRight: 1, armYRight: 1 }),
  ...ofMatcher("cbca", { lambdaDifference: 60, lambdaCensus: 80, threshold: 0, lambdaUnit: "greyLevel" }),
  "match.esaw.gradientPercent": {
    with: { "match.algorithm": "esaw", "match.esaw.gradientTruncation": 20 },
    to: { "match.esaw.gradientPercent": 800 },
  },
  ...ofMatcher("esaw", {
    gradientTruncation: 20,
    rightView: "diagonal",
    steps: 3,
    basePercent: 120,
    gammaColour: 100,
    gammaDistance: 3,
    truncation: 3,
    subpixel: true,
    colourDistance: "lab",
  }),
  "match.esmp.gradientPercent": {
    with: { "match.algorithm": "esmp", "match.esmp.gradientTruncation": 1 },
    to: { "match.esmp.gradientPercent": 100 },
  },
  ...ofMatcher("esmp", {
    gradientTruncation: 1,
    rightView: "diagonal",
    steps: 3,
    basePercent: 120,
    gammaColour: 100,
    gammaDistance: 3,
    truncation: 3,
    subpixel: true,
    lambdaThousandths: 20,
    slopeThousandths: 50,
    capTenThousandths: 3,
    colourDistance: "lab",
  }),
  ...ofMatcher("sad", { windowWidth: 9, windowHeight: 3, valueWeight: 20, subpixel: true }),
  ...ofMatcher("pyramid", { windowWidth: 5, windowHeight: 11, valueWeight: 30, subpixel: true }),
  ...ofMatcher("pyramid", { levels: 1, peakRatio: 40 }),
  ...sameImages(ofMatcher("sad", { hueWeight: 5, saturationWeight: 10 })),
  ...sameImages(ofMatcher("pyramid", { hueWeight: 10, saturationWeight: 10 })),
  "region.x": { to: { "region.x": 40 } },
  "region.y": { to: { "region.y": 30 } },
  "region.width": { to: { "region.width": 80 } },
  "region.height": { to: { "region.height": 50 } },
  ...one("refine.leftRight", false),
  ...one("refine.confidence", "product", { with: { "outputs.mqtt.confidence.enabled": true } }),
  ...one("refine.repair", true, { with: { "outputs.mqtt.confidence.enabled": true } }),
  ...one("refine.speckleSize", 0),
  ...one("refine.speckleRange", 0.0625, { with: { "refine.speckleSize": 4000 } }),
  ...one("refine.fill", "off"),
  ...one("refine.fillThreshold", 0),
  ...one("refine.upscaleThreshold", 0, { with: { "match.halfResolution": true } }),
  ...one("refine.boundary", false),
  ...one("refine.median", false),
  ...one("refine.rounds", 4),
  ...one("refine.slant", true),
  ...one("refine.minConfidence", 1),
  ...one("depth.minMetres", 65),
  ...one("rig.orientation", "flip"),
  ...one("calibration.crop", 1, { sameImages: true }),
  ...one("calibration.lengthUnitMetres", 2),
  ...one("calibration.allowScaling", true, { sameImages: true }),
  ...stream("disparity", "png"),
  ...stream("confidence", "png"),
  ...stream("left", "png"),
  ...one("outputs.mqtt.left.colours", true, {
    with: { "outputs.mqtt.left.enabled": true },
    sameImages: true,
  }),
  ...stream("right", "png"),
  ...stream("points", "voxels"),
  ...one("outputs.mqtt.points.rateHz", 20, {
    with: { "outputs.mqtt.points.enabled": true },
    sameImages: true,
  }),
  ...one("voxels.sizeMillimetres", 200, { with: VOXELS }),
  ...one("voxels.uncertaintyPixels", 4, { with: VOXELS }),
  ...stream("preview", "png"),
  ...Object.assign(
    {},
    ...["depth", "disparity", "confidence", "left", "right", "points"].map((name) =>
      one(`outputs.mqtt.${name}.reduceToFit`, true, { sameImages: true }),
    ),
  ),
  ...one("outputs.mqtt.depth.enabled", false),
  ...one("outputs.mqtt.depth.encoding", "raw"),
  ...one("outputs.mqtt.rateHz", 20, { sameImages: true }),
  ...one("outputs.viewer.rateHz", 20, { sameImages: true }),
  ...one("outputs.mcap.rateHz", 20, { sameImages: true }),
  ...one("outputs.foxglove.rateHz", 20, { sameImages: true }),
  ...one("outputs.video.rateHz", 20, { sameImages: true }),
  ...one("outputs.sharedMemory.rateHz", 20, { sameImages: true }),
  ...one("outputs.command.rateHz", 20, { sameImages: true }),
  ...sameImages(
    ofSection("outputs.derived", {
      rateHz: 20,
      zones: "all 0,0 1,0 1,1 0,1",
      minPixels: 5,
      quality: true,
      qualityWindow: 0.3,
      scan: true,
      scanTop: 0.3,
      scanBottom: 0.7,
      scanRays: 16,
      scanMinPixels: 2,
    }),
  ),
  ...one("outputs.derived.alarms", "all 2", {
    with: { "outputs.derived.zones": "all 0,0 1,0 1,1 0,1" },
    sameImages: true,
  }),
  ...sameImages(
    ofSection("outputs.ros", {
      image: true,
      compressedDepth: "png",
      points: true,
      voxels: true,
      confidence: false,
      cameraInfo: false,
      right: true,
      frameId: "camera",
      rateHz: 20,
    }),
  ),
  ...one("outputs.homeAssistant.announced", false, { sameImages: true }),
  ...one("outputs.metricsIntervalMs", 300, { sameImages: true }),
  ...one("power.minFps", 1, { sameImages: true }),
  ...sameImages(ofSection("power.dutyCycle", { everySeconds: 20, wake: "request", settleSeconds: 0 })),
  ...one("log.level", "debug", { sameImages: true }),
};
