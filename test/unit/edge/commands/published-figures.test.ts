// SPDX-License-Identifier: Apache-2.0
// Every number of `match --json`, `eval --json`, `profile --json` and `measure --json`, computed a second time from the
// maps, times and watts that this test scripts. Whole documents are compared, so a new number needs its line here.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import {
  baselineMetres,
  colourDisparity,
  encodePfm,
  encodePng,
  loadStereoCalibration,
  sceneCalibration,
  stringifyCalibration,
} from "../../../../camera/index.js";
import { type EngineOptions, type NativeEngine, STAGE_NAMES } from "../../../../cuda/index.js";
import { runCommandLine } from "../../../../edge/cli/program.js";
import "../../../../edge/commands/measure/command.js";
import { measurePoint, tryRepeatedStages } from "../../../../edge/commands/profile/measure.js";
import { SETTINGS } from "../../../../edge/config/index.js";
import { neededDisparities } from "../../../../edge/match/search-range.js";
import type { ProfilePoint } from "../../../../edge/profile/types.js";
import { Meter } from "../../../../power/index.js";
import { runInProcess } from "../../../doubles/command-line.js";
import { constructedProfile, MODEL } from "../../../doubles/constructed-profile.js";
import {
  CONTEXT,
  ENGINE_INFO,
  INVALID,
  nearestRank,
  SCRIPTED_UNCERTAINTY,
  scriptedSensor,
  stageMs,
  stageTimes,
} from "../../../doubles/figures.js";
import { settingDefault } from "../../../doubles/other-value.js";
import { script } from "../../../doubles/run-script.js";

vi.mock("../../../../cuda/engine/binding/engine.js", async () => {
  const { engineModule } = await import("../../../doubles/run-script.js");
  return engineModule;
});

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-figures-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
  rmSync(folder, { recursive: true });
});

const near = (value: number) => expect.closeTo(value, 9);

/** Runs a command in this process and returns the JSON that it prints. */
async function printed(...words: string[]): Promise<unknown> {
  let out = "";
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
    out += text;
    return true;
  });
  const code = await runCommandLine(words);
  write.mockRestore();
  expect(code, out).toBe(0);
  return JSON.parse(out);
}

/** Defaults of the settings below a key, by the rest of their name. */
const readDefaults = (section: string) =>
  Object.fromEntries(
    SETTINGS.filter(({ key }) => key.startsWith(section)).map((setting) => [
      setting.key.slice(section.length),
      settingDefault(setting),
    ]),
  );

async function writeGrey(name: string, width: number, height: number, value: (i: number) => number) {
  const data = Uint8Array.from({ length: width * height }, (_, i) => value(i));
  writeFileSync(join(folder, name), await encodePng({ data, width, height }));
}

/** This stage does not run. */
const LEFT_OUT = 1;
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);

test("match --json", async () => {
  const [width, height, minDisparity, numDisparities] = [40, 24, 5, 32];
  const pixels = width * height;
  const disparityQ4 = new Int16Array(pixels).fill(INVALID);
  const confidence = new Uint8Array(pixels);
  const [valid, matched, atEnd] = [700, 600, 2];
  for (let i = 0; i < valid; i++) {
    disparityQ4[i] = 16 * 20;
    if (i < matched) confidence[i] = 1 + (i % 255);
    // The last two disparities of the search are 35 and 36. The two filled pixels do not count.
    if (i < atEnd || i >= valid - 2) disparityQ4[i] = 16 * 35 + i;
  }
  const droppedPixels = { filled: 11, lowConfidence: 23, tooNear: 31, tooFar: 47 };
  let asked: EngineOptions | undefined;
  script.openEngine = (options) => {
    asked = options;
    return {
      info: ENGINE_INFO,
      slots: [{ disparityQ4, confidence }],
      stageMilliseconds: stageTimes(0, LEFT_OUT),
      compute: async () => ({ validPixels: valid, matchedPixels: matched, droppedPixels }),
      close: () => {},
    } as never;
  };
  await writeGrey("left.png", width, height, (i) => i % 200);
  await writeGrey("right.png", width, height, (i) => (i + 7) % 200);
  const settings = [`match.minDisparity=${minDisparity}`, "match.sgm.p1=7", "match.halfResolution=false"];
  const found = await printed(
    ...["match", join(folder, "left.png"), join(folder, "right.png"), "--json"],
    ...["--num-disparities", String(numDisparities), ...settings.flatMap((one) => ["--set", one])],
  );
  expect(asked).toMatchObject({ width, height, match: { minDisparity, numDisparities } });
  const percent = (count: number) => Math.round((1e5 * count) / pixels) / 1000;
  expect(found).toEqual({
    width,
    height,
    algorithm: "sgm",
    backend: "cpu",
    instructionSet: "scalar",
    search: ENGINE_INFO.search,
    milliseconds: sum([...stageTimes(0, LEFT_OUT)].filter((ms) => !Number.isNaN(ms))),
    validPercent: percent(valid),
    matchedPercent: percent(matched),
    atRangeEndPercent: Math.round((1e5 * atEnd) / matched) / 1000,
    neededDisparities: null,
    droppedPercent: {
      filled: percent(11),
      lowConfidence: percent(23),
      tooNear: percent(31),
      tooFar: percent(47),
    },
    verticalOffset: {
      measuredRows: 1.25,
      appliedRows: 1.5,
      measuredRowsOverWidth: 2.25,
      appliedRowsOverWidth: 2.5,
    },
    noise: { sigma: 3.46, smoothed: true },
    problem: null,
    minDisparity,
    numDisparities,
    parameters: {
      halfResolution: false,
      ...readDefaults("match.sgm."),
      p1: 7,
      refine: readDefaults("refine."),
    },
  });
});

interface Pixel {
  truth: number;
  /** undefined: none. */
  estimate: number | undefined;
  /** 0: filled. */
  confidence: number;
  masks: readonly string[];
}

/** The four scores of some pixels, by counting. */
function score(pixels: readonly Pixel[], threshold: number) {
  const known = pixels.filter(({ truth }) => Number.isFinite(truth));
  const estimated = known.filter(({ estimate }) => estimate !== undefined);
  const errors = estimated.map(({ truth, estimate }) => Math.abs(estimate! - truth));
  const off = errors.filter((error) => error > threshold).length;
  const holes = known.length - estimated.length;
  return {
    badPercent: (100 * (off + holes)) / known.length,
    badPercentValidOnly: (100 * off) / estimated.length,
    density: (100 * estimated.length) / known.length,
    averageErrorPx: sum(errors) / errors.length,
  };
}
type Scores = ReturnType<typeof score>;
const closely = (scores: Scores) =>
  Object.fromEntries(Object.entries(scores).map(([name, value]) => [name, near(value)]));
const average = (scores: readonly Scores[]) =>
  Object.fromEntries(
    (Object.keys(scores[0]!) as (keyof Scores)[]).map((name) => [
      name,
      near(sum(scores.map((one) => one[name])) / scores.length),
    ]),
  );

/** Measures of a set without its own, by counting. */
function measures(pixels: readonly Pixel[]) {
  const known = pixels.filter(({ truth }) => Number.isFinite(truth));
  const estimated = known.filter(({ estimate }) => estimate !== undefined);
  const matched = estimated.filter(({ confidence }) => confidence > 0);
  const errorOf = ({ truth, estimate }: Pixel) => Math.abs(estimate! - truth);
  const share = (isBad: (pixel: Pixel) => boolean) => ({
    badPercent: (100 * (estimated.filter(isBad).length + known.length - estimated.length)) / known.length,
    badPercentValidOnly: (100 * estimated.filter(isBad).length) / estimated.length,
    badPercentMatched: (100 * matched.filter(isBad).length) / matched.length,
  });
  return {
    measures: {
      D1: share((pixel) => errorOf(pixel) > 3 && errorOf(pixel) / pixel.truth > 0.05),
      "bad 0.5": share((pixel) => errorOf(pixel) > 0.5),
      "bad 1": share((pixel) => errorOf(pixel) > 1),
      "bad 2": share((pixel) => errorOf(pixel) > 2),
      "bad 4": share((pixel) => errorOf(pixel) > 4),
    },
    estimates: {
      density: (100 * estimated.length) / known.length,
      endPointErrorPx: sum(estimated.map(errorOf)) / estimated.length,
      matchedDensity: (100 * matched.length) / known.length,
      matchedEndPointErrorPx: sum(matched.map(errorOf)) / matched.length,
    },
  };
}
type Measures = ReturnType<typeof measures>;
const flat = ({ measures, estimates }: Measures) => ({ ...measures, estimates });
/** Measures of one scene, or the mean of two. */
const closelyMeasured = (...of: readonly Measures[]) =>
  Object.fromEntries(
    Object.entries(flat(of[0]!)).map(([name, numbers]) => [
      name,
      Object.fromEntries(
        Object.keys(numbers).map((key) => {
          const values = of.map((one) => (flat(one) as Record<string, Record<string, number>>)[name]![key]!);
          return [key, near(sum(values) / of.length)];
        }),
      ),
    ]),
  );
/** Splits measures by mask as the document has them. */
function published(masks: Record<string, ReturnType<typeof closelyMeasured>>) {
  const entries = Object.entries(masks).map(([mask, { estimates, ...rest }]) => ({ mask, estimates, rest }));
  return {
    measures: Object.fromEntries(entries.map(({ mask, rest }) => [mask, rest])),
    estimates: Object.fromEntries(entries.map(({ mask, estimates }) => [mask, estimates])),
  };
}

const DENSITIES = [5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60, 65, 70, 75, 80, 85, 90, 95, 100];
/** Error of the surest pixels: pixels of one confidence count with their mean. */
function curve(pixels: readonly Pixel[], threshold: number) {
  const known = pixels.filter(({ truth }) => Number.isFinite(truth));
  const estimated = known.filter(({ estimate }) => estimate !== undefined);
  const levels = [...new Set(estimated.map(({ confidence }) => confidence))].sort((a, b) => b - a);
  const sorted = levels.flatMap((level) => {
    const errors = estimated
      .filter(({ confidence }) => confidence === level)
      .map(({ truth, estimate }) => Math.abs(estimate! - truth));
    const alike = {
      error: sum(errors) / errors.length,
      bad: errors.filter((error) => error > threshold).length / errors.length,
    };
    return errors.map(() => alike);
  });
  const at = (density: number, key: "error" | "bad") => {
    const wanted = (known.length * density) / 100;
    if (wanted > sorted.length + 1e-9) return null;
    const whole = sorted.slice(0, Math.floor(wanted));
    const rest = wanted - whole.length;
    return (
      (sum(whole.map((one) => one[key])) + (rest > 1e-9 ? rest * sorted[whole.length]![key] : 0)) / wanted
    );
  };
  return {
    badPercent: DENSITIES.map((density) => {
      const bad = at(density, "bad");
      return bad === null ? null : 100 * bad;
    }),
    endPointErrorPx: DENSITIES.map((density) => at(density, "error")),
  };
}
type Curve = ReturnType<typeof curve>;
const meanAt = (curves: readonly Curve[], key: keyof Curve) =>
  DENSITIES.map((_, i) => {
    const values = curves.map((one) => one[key][i]!);
    return values.includes(null as never) ? null : near(sum(values) / values.length);
  });
const closelyCurved = (...curves: readonly Curve[]) => ({
  densityPercent: DENSITIES,
  badPercent: meanAt(curves, "badPercent"),
  endPointErrorPx: meanAt(curves, "endPointErrorPx"),
});

test("eval --json", async () => {
  const scenes = [
    {
      name: "one",
      width: 30,
      threshold: 1,
      numDisparities: 48,
      masks: ["nonocc", "all", "disc"],
      timesMs: [90, 10, 40, 30],
    },
    { name: "two", width: 26, threshold: 2.5, numDisparities: 5, masks: ["nonocc"], timesMs: [70, 8, 5, 6] },
  ].map((scene, seed) => {
    const pixels = Array.from({ length: scene.width * 20 }, (_, i): Pixel => {
      const kind = (i * 7919 + seed * 104_729) % 100;
      const truth = kind < 12 ? Number.POSITIVE_INFINITY : 4 + (i % 9);
      const estimate = kind % 7 === 0 ? undefined : 4 + (i % 9) + ((i % 13) - 4) / 4;
      const confidence = [0, 40, 200, 201, 255][i % 5]!;
      return {
        truth,
        estimate,
        confidence,
        masks: scene.masks.filter((_, m) => (i >> (2 * m)) % (m + 2) !== 0),
      };
    });
    return { ...scene, height: 20, pixels };
  });
  for (const { name, width, height, pixels, masks } of scenes) {
    mkdirSync(join(folder, name));
    for (const side of ["left", "right"])
      await writeGrey(`${name}/${side}.png`, width, height, (i) => i % 251);
    for (const mask of masks)
      await writeGrey(`${name}/${mask}.png`, width, height, (i) =>
        pixels[i]!.masks.includes(mask) ? 255 : 128,
      );
    const truth = { data: Float32Array.from(pixels, ({ truth }) => truth), width, height };
    writeFileSync(join(folder, name, "truth.pfm"), encodePfm(truth));
  }
  const entries = scenes.map(({ name, masks, threshold, numDisparities }) => ({
    name,
    left: `${name}/left.png`,
    right: `${name}/right.png`,
    groundTruth: { path: `${name}/truth.pfm`, scale: 1, invalid: "inf" },
    masks: Object.fromEntries(masks.map((mask) => [mask, `${name}/${mask}.png`])),
    numDisparities,
    badThresholdPx: threshold,
  }));
  writeFileSync(join(folder, "dataset.json"), JSON.stringify({ scenes: entries }));
  vi.useFakeTimers({ toFake: ["performance"] });
  script.openEngine = ({ width }) => {
    const { pixels, timesMs } = scenes.find((scene) => scene.width === width)!;
    const times = [...timesMs];
    const disparityQ4 = Int16Array.from(pixels, ({ estimate }) =>
      estimate === undefined ? INVALID : 16 * estimate,
    );
    return {
      info: ENGINE_INFO,
      slots: [{ disparityQ4, confidence: Uint8Array.from(pixels, ({ confidence }) => confidence) }],
      stageMilliseconds: new Float64Array(STAGE_NAMES.length).fill(Number.NaN),
      compute: async () => vi.advanceTimersByTime(times.shift()!),
      close: () => {},
    } as never;
  };
  const found = await printed(
    "eval",
    folder,
    "--json",
    "--set",
    "match.sgm.p1=7",
    "--set",
    "match.halfResolution=false",
  );

  // The first frame is not timed; the others' median is.
  const medians = [30, 6];
  const scores = scenes.map(({ pixels, threshold, masks }) => ({
    valid: score(pixels, threshold),
    ...Object.fromEntries(
      masks.map((mask) => [
        mask,
        score(
          pixels.filter((pixel) => pixel.masks.includes(mask)),
          threshold,
        ),
      ]),
    ),
  })) as Record<string, Scores>[];
  // A mask called "all" replaces every pixel with a ground truth.
  const [first, second] = scenes.map(({ pixels, masks }) =>
    Object.fromEntries(
      [...new Set(["all", ...masks])].map((mask) => [
        mask,
        measures(masks.includes(mask) ? pixels.filter((pixel) => pixel.masks.includes(mask)) : pixels),
      ]),
    ),
  ) as [Record<string, Measures>, Record<string, Measures>];
  const curves = scenes.map(({ pixels, threshold }) => curve(pixels, threshold));
  expect(curves[0]!.badPercent).toContain(null);
  const [one, two] = scores as [Record<string, Scores>, Record<string, Scores>];
  expect(found).toEqual({
    algorithm: "sgm",
    scenes: scenes.map(({ name, width, height, threshold, numDisparities }, i) => ({
      name,
      masks: Object.fromEntries(Object.entries(scores[i]!).map(([mask, one]) => [mask, closely(one)])),
      milliseconds: near(medians[i]!),
      thresholdPx: threshold,
      width,
      height,
      // A search has 8 disparities or more.
      numDisparities: Math.max(8, numDisparities),
      ...published(
        Object.fromEntries(
          Object.entries([first, second][i]!).map(([mask, of]) => [mask, closelyMeasured(of)]),
        ),
      ),
      densityCurve: closelyCurved(curves[i]!),
    })),
    mean: {
      masks: {
        valid: average([one.valid!, two.valid!]),
        nonocc: average([one.nonocc!, two.nonocc!]),
        all: average([one.all!]),
        disc: average([one.disc!]),
      },
      milliseconds: near(18),
      middleburyV2BadPercent: near((one.nonocc!.badPercent + one.all!.badPercent + one.disc!.badPercent) / 3),
      ...published({
        all: closelyMeasured(first.all!, second.all!),
        nonocc: closelyMeasured(first.nonocc!, second.nonocc!),
        disc: closelyMeasured(first.disc!),
      }),
      densityCurve: closelyCurved(...curves),
    },
    parameters: {
      match: {
        minDisparity: 0,
        numDisparities: 64,
        halfResolution: false,
        ...readDefaults("match.sgm."),
        p1: 7,
      },
      refine: readDefaults("refine."),
    },
  });
});

const percentiles = (values: readonly number[]) => ({
  p50Ms: near(nearestRank(values, 0.5)),
  p95Ms: near(nearestRank(values, 0.95)),
  p99Ms: near(nearestRank(values, 0.99)),
});

test("a point of a profile", async () => {
  vi.useFakeTimers({
    toFake: ["setTimeout", "clearTimeout", "setInterval", "clearInterval", "performance", "hrtime"],
  });
  const [width, height, numDisparities, rateHz] = [64, 48, 32, 20];
  const watts = 12.5;
  const validIn = (frame: number) => 1000 + 10 * frame;
  const takenNs: bigint[] = [];
  const stageMilliseconds = new Float64Array(STAGE_NAMES.length);
  const engine = {
    info: ENGINE_INFO,
    slots: [{}, {}],
    stageMilliseconds,
    submit: (
      slot: number,
      _left: unknown,
      _right: unknown,
      onDone: (error: null, result: object) => void,
    ) => {
      const frame = takenNs.length;
      takenNs.push(process.hrtime.bigint());
      queueMicrotask(() => {
        stageMilliseconds.set(stageTimes(frame, LEFT_OUT));
        onDone(null, { slot, validPixels: validIn(frame) });
      });
    },
    close: () => {},
  };
  script.openEngine = () => engine as never;
  const meter = new Meter({
    sensor: scriptedSensor(() => ({ main: watts })),
    rateHz: 100,
    clock: () => process.hrtime.bigint(),
    readContext: () => context(),
  });
  /** Frames and time when the temperature was read: half-way through the warm-up, before and after the measurement. */
  const read: { frames: number; ns: bigint }[] = [];
  const celsius = [50, 50.4, 53];
  const context = () => ({
    ...CONTEXT,
    temperaturesCelsius: { cpu: 40, gpu: celsius[read.length - 1] ?? 53 },
  });
  const readContext = () => {
    read.push({ frames: takenNs.length, ns: process.hrtime.bigint() });
    return context();
  };
  const image = new Uint8Array(width * height);
  const scenes = {
    get: async () => ({
      pairs: [{ left: image, right: image }],
      calibration: sceneCalibration({ width, height }),
    }),
  };
  meter.start();
  let result: Awaited<ReturnType<typeof measurePoint>> | undefined;
  const point = {
    mode: undefined,
    algorithm: "sgm" as const,
    width,
    height,
    numDisparities,
    paths: 4 as const,
    rateHz,
  };
  const measured = measurePoint(point, {
    scenes: scenes as never,
    meter,
    backend: "cpu",
    threads: 0,
    seconds: 2,
    warmUpSeconds: 1,
    readContext,
  }).then((done) => {
    result = done;
  });
  while (result === undefined) {
    await vi.advanceTimersByTimeAsync(10);
    await Promise.race([measured, new Promise((resolve) => setImmediate(resolve))]);
  }
  meter.close();
  const [, begin, end] = read as [unknown, { frames: number; ns: bigint }, { frames: number; ns: bigint }];
  const frames = Array.from({ length: end.frames - begin.frames }, (_, i) => begin.frames + i);
  const seconds = Number(end.ns - begin.ns) / 1e9;
  // A frame may be due in the moment in which the time is over.
  expect([40, 41]).toContain(frames.length);
  const { power } = result;
  if (!power.available) throw new Error(power.reason);
  // From one reading of the sensor to another.
  const { windowSeconds } = power;
  expect(Math.abs(windowSeconds - seconds)).toBeLessThan(0.021);
  const joules = watts * windowSeconds;
  const megaDisparities = (width * height * numDisparities) / 1e6;
  expect(result).toEqual({
    id: "sgm-64x48-d32-p4-20hz",
    point,
    date: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
    backend: "cpu",
    instructionSet: "scalar",
    threads: 3,
    frames: frames.length,
    seconds: near(seconds),
    fps: near(frames.length / seconds),
    validPercent: near((100 * sum(frames.map(validIn))) / (frames.length * width * height)),
    stages: Object.fromEntries(
      STAGE_NAMES.flatMap((name, stage) =>
        stage === LEFT_OUT ? [] : [[name, percentiles(frames.map((frame) => stageMs(stage, frame)))]],
      ),
    ),
    power: {
      available: true,
      reason: "main feeds all",
      sensor: "scripted",
      watts: near(watts),
      wattsUncertainty: near(SCRIPTED_UNCERTAINTY),
      idleWatts: expect.objectContaining({ available: false }),
      joules: near(joules),
      joulesPerFrame: near(joules / frames.length),
      joulesPerFrameNet: expect.objectContaining({ available: false }),
      fpsPerWatt: near(frames.length / joules),
      mdePerJoule: near((megaDisparities * frames.length) / joules),
      rails: {
        main: {
          available: true,
          watts: near(watts),
          joules: near(joules),
          wattsUncertainty: near(SCRIPTED_UNCERTAINTY),
          samples: expect.any(Number),
        },
      },
      windowSeconds,
      frames: frames.length,
      sampling: expect.any(Object),
      context: expect.any(Object),
      changed: [],
    },
    temperature: { startCelsius: 50.4, endCelsius: 53, steady: true },
    timeline: {
      binSeconds: 0.1,
      watts: Array.from({ length: 20 }, () => near(watts)),
      frames: frames.map((frame) => expect.closeTo(Number(takenNs[frame]! - begin.ns) / 1e9, 4)),
    },
  });
});

test("profile --json: what a stage costs is the slope over its runs, and its time the median of the whole frames", async () => {
  const profile = constructedProfile({ stageRounds: 3 });
  const runs = profile.results.filter(({ point }) => point.without === undefined);
  // Joules that grow by exactly 4 mJ with a further match, and times of the whole frames 5, 7 and 30 ms.
  const points = [1, 2, 3, 1, 2, 3, 1].map((times, i) => ({
    ...runs[0]!,
    point: { ...runs[0]!.point, ...(times > 1 && { repeat: { stage: "match" as const, times } }) },
    power: { ...runs[0]!.power, joulesPerFrame: 0.02 + 0.004 * times },
    stages: { match: { p50Ms: [7, 99, 99, 30, 99, 99, 5][i]!, p95Ms: 1, p99Ms: 1 } },
  }));
  writeFileSync(join(folder, "profile.json"), JSON.stringify({ ...profile, results: points }));
  const { stageCosts } = (await printed("profile", "--report-only", "-o", folder, "--json")) as {
    stageCosts: {
      joules: { stages: unknown[]; remainder: unknown; runs: number };
      idleJoulesPerFrame: number;
      notAdded: Record<string, { reason: string }>;
      milliseconds: unknown;
    };
  };
  expect(stageCosts.joules).toEqual({
    stages: [{ stage: "match", joulesPerFrame: near(0.004), halfWidth: expect.closeTo(0, 9) }],
    remainder: { joulesPerFrame: near(0.02), halfWidth: expect.closeTo(0, 9) },
    runs: 7,
    degreesOfFreedom: 5,
  });
  expect(stageCosts.milliseconds).toEqual({ match: 7 });
  expect(stageCosts.idleJoulesPerFrame).toBeCloseTo(MODEL.idleWatts / runs[0]!.fps, 12);
  expect(stageCosts.notAdded).toEqual({
    capture: { available: false, reason: "name the cameras' configuration with --config" },
    publish: { available: false, reason: "measure it with --stages" },
  });
});

test("profile --json prints the results that are stored, without their timelines", async () => {
  const profile = { ...constructedProfile(), idleBefore: 4.5, idleAfter: 4.75 };
  writeFileSync(join(folder, "profile.json"), JSON.stringify(profile));
  const found = await printed("profile", "--report-only", "-o", folder, "--json");
  expect(found).toEqual({
    files: ["profile.json", "profile.csv", "report.html"].map((name) => join(folder, name)),
    idleBefore: 4.5,
    idleAfter: 4.75,
    stageCosts: null,
    results: JSON.parse(JSON.stringify(profile.results.map(({ timeline: _, ...rest }) => rest))),
  });
});

describe("the range that a scene needs", () => {
  const image = new Uint8Array(0);
  const optionsFor = (width: number, height: number, minDisparity: number, numDisparities: number) =>
    ({
      width,
      height,
      inputWidth: 90,
      inputHeight: 70,
      leftFormat: "GREY",
      rightFormat: "Y16",
      leftStrideBytes: 91,
      rightStrideBytes: 182,
      backend: "auto",
      threads: 4,
      slots: 3,
      match: { algorithm: "cbca", halfResolution: false, minDisparity, numDisparities, parameters: { p: 1 } },
      refine: { median: true },
    }) as unknown as EngineOptions;
  let asked: EngineOptions[] = [];
  let closed = 0;
  /** Disparities of the quarter image, 1/16 px, and their confidence. */
  const answer = (disparities: readonly number[], confidence = disparities.map(() => 128)) => {
    [asked, closed] = [[], 0];
    script.openEngine = (options) => {
      asked.push(options);
      return {
        slots: [{ disparityQ4: Int16Array.from(disparities), confidence: Uint8Array.from(confidence) }],
        compute: async () => ({}),
        close: () => closed++,
      } as never;
    };
  };
  const needed = (options: EngineOptions) => neededDisparities(options, { left: image, right: image });

  test.each([
    // The largest disparity that still suffices, and the next one: 5 + 64 - 2 is 67 pixels, 8 * 67 sixteenths of a quarter.
    [[8 * 67 - 1], undefined],
    [[8 * 67], 80],
    [[8 * 77], 80],
    [[8 * 77 + 1], 96],
    [[INVALID, 8 * 67], 80],
    [[INVALID], undefined],
    // 0.5 % of the sure disparities are not covered.
    [[...Array(995).fill(16), ...Array(5).fill(8 * 90)], undefined],
    [[...Array(994).fill(16), ...Array(6).fill(8 * 90)], 96],
  ])("largest disparities %#", async (disparities, expected) => {
    answer(disparities);
    expect(await needed(optionsFor(300, 48, 5, 64))).toBe(expected);
    expect([asked.length, closed]).toEqual([1, 1]);
  });

  test("only sure disparities count, and a proposal has 512 at most", async () => {
    answer([8 * 100, 8 * 70], [127, 128]);
    expect(await needed(optionsFor(300, 60, 5, 64))).toBe(80);
    answer([8 * 600]);
    expect(await needed(optionsFor(1200, 60, 5, 64))).toBe(512);
    expect(asked[0]!.match.numDisparities).toBe(517 >> 1);
    await needed(optionsFor(1200, 60, 600, 64));
    expect(asked[1]!.match.numDisparities).toBe(1024 >> 1);
  });

  test.each([
    [47, 300, 0],
    [300, 47, 0],
    [48, 48, 0],
    [80, 48, 0],
    [81, 48, 0],
    [82, 48, 1],
  ])("images of %i x %i are looked at: %i", async (width, height, times) => {
    answer([8]);
    await needed(optionsFor(width, height, 5, 75));
    expect(asked).toHaveLength(times);
  });

  test("the pair is rectified to half the size and matched at half resolution", async () => {
    const [width, height] = [101, 51];
    answer([8]);
    const options = optionsFor(width, height, 5, 16);
    const leftMap = Int32Array.from({ length: 2 * width * height }, (_, i) => {
      const [x, y] = [(i >> 1) % width, Math.floor((i >> 1) / width)];
      return i % 2 === 0 ? 32 * x + y : 32 * y + 2 * x + 7;
    });
    await needed({ ...options, leftMap, verticalOffset: 1.3, instructionSet: "scalar" });
    const maps = (coordinates: (x: number, y: number) => number[]) =>
      Int32Array.from(
        Array.from({ length: 50 * 25 }, (_, i) => coordinates(i % 50, Math.floor(i / 50))).flat(),
      );
    expect(asked[0]).toEqual({
      width: 50,
      height: 25,
      inputWidth: 90,
      inputHeight: 70,
      leftFormat: "GREY",
      rightFormat: "Y16",
      leftStrideBytes: 91,
      rightStrideBytes: 182,
      backend: "cpu",
      threads: 1,
      slots: 2,
      // Between four pixels.
      leftMap: maps((x, y) => [64 * x + 2 * y + 16, 64 * y + 4 * x + 24]),
      rightMap: maps((x, y) => [64 * x + 16, 64 * y + 16]),
      match: { algorithm: "sgm", halfResolution: true, minDisparity: 0, numDisparities: 50, parameters: {} },
      refine: {},
      verticalOffset: 1.3,
      instructionSet: "scalar",
    });
    await needed({ ...options, verticalOffset: "auto" });
    expect(asked[1]).toMatchObject({ verticalOffset: "auto" });
    expect(asked[1]).not.toHaveProperty("instructionSet");
  });
});

describe("the engine of a profile's point", () => {
  const base: ProfilePoint = {
    mode: undefined,
    algorithm: "sgm",
    width: 64,
    height: 48,
    numDisparities: 32,
    paths: 2,
    rateHz: "max",
  };
  const image = new Uint8Array(64 * 48);
  const scenes = {
    get: async (size: { width: number; height: number }) => ({
      pairs: [{ left: image, right: image }],
      calibration: sceneCalibration(size),
    }),
  } as never;
  const refusal = new Error("the test's end");
  /** Options of the engine that a point opens. */
  async function optionsOf(point: Partial<ProfilePoint>): Promise<EngineOptions> {
    let asked: EngineOptions | undefined;
    script.openEngine = (options) => {
      asked = options;
      throw refusal;
    };
    const options = { scenes, backend: "cpu", threads: 2, seconds: 0, warmUpSeconds: 0 } as never;
    await expect(measurePoint({ ...base, ...point }, options)).rejects.toBe(refusal);
    return asked!;
  }
  const whole = {
    refine: expect.objectContaining({
      leftRight: true,
      median: true,
      speckleSize: settingDefault(SETTINGS.find(({ key }) => key === "refine.speckleSize")!),
    }),
    encodeDepth: "rvl",
    geometry: expect.any(Object),
  };

  test.each<[Partial<ProfilePoint>, object]>([
    [{}, whole],
    [
      { without: "leftRight" },
      { ...whole, refine: expect.objectContaining({ leftRight: false, median: true }) },
    ],
    [
      { without: "median" },
      { ...whole, refine: expect.objectContaining({ leftRight: true, median: false }) },
    ],
    [{ without: "speckle" }, { ...whole, refine: expect.objectContaining({ median: true, speckleSize: 0 }) }],
    [{ repeat: { stage: "match", times: 3 } }, { ...whole, repeatStage: { stage: "match", times: 3 } }],
  ])("of %j", async (point, expected) => {
    const asked = await optionsOf(point);
    expect(asked).toMatchObject({ ...expected, backend: "cpu", threads: 2, width: 64, height: 48 });
    if (point.repeat === undefined) expect(asked).not.toHaveProperty("repeatStage");
  });

  test("encodes no depth where that, or depth, is left out", async () => {
    const plain = await optionsOf({ without: "encode" });
    expect(plain.encodeDepth).toBeUndefined();
    expect(plain.geometry).toBeDefined();
    const without = await optionsOf({ without: "depth" });
    expect([without.encodeDepth, without.geometry]).toEqual([undefined, undefined]);
  });

  test.each<[Partial<ProfilePoint>, object]>([
    [{}, { algorithm: "sgm", halfResolution: false, parameters: { paths: 2, search: "full" } }],
    [{ halfResolution: true }, { halfResolution: true, numDisparities: 32 }],
    [{ search: "coarseToFine", paths: 8 }, { parameters: { paths: 8, search: "coarseToFine" } }],
    [{ algorithm: "cbca" }, { algorithm: "cbca" }],
  ])("matches as %j says", async (point, expected) => {
    const { match } = await optionsOf(point);
    expect(match).toMatchObject(expected);
    expect("search" in match.parameters).toBe(match.algorithm === "sgm");
    expect("paths" in match.parameters).toBe(match.algorithm === "sgm");
  });

  test("each repeated stage is tried once, and one that does not run is refused", async () => {
    const opened: unknown[] = [];
    let closed = 0;
    script.openEngine = ({ repeatStage }) => {
      opened.push(repeatStage?.stage);
      return {
        stageMilliseconds: stageTimes(0, LEFT_OUT),
        compute: async () => ({}),
        close: () => closed++,
      } as never;
    };
    const repeat = (stage: (typeof STAGE_NAMES)[number]) => ({ ...base, repeat: { stage, times: 2 } });
    const options = { scenes, backend: "cpu", threads: 0 } as const;
    const points = [base, repeat("match"), repeat("median"), repeat("match")];
    await tryRepeatedStages(points, options);
    expect([opened, closed]).toEqual([["match", "median"], 2]);
    await expect(tryRepeatedStages([repeat(STAGE_NAMES[LEFT_OUT]!)], options)).rejects.toMatchObject({
      code: "USAGE",
      message: expect.stringContaining("--repeat-stages: "),
    });
    expect(closed).toBe(3);
  });
});

/** Runs a command in this process and returns what it writes. */
async function written(...words: string[]): Promise<{ lines: string[]; notes: string[] }> {
  const text = { stdout: "", stderr: "" };
  const spies = (["stdout", "stderr"] as const).map((name) =>
    vi.spyOn(process[name], "write").mockImplementation((part) => {
      text[name] += part;
      return true;
    }),
  );
  const code = await runCommandLine(words);
  for (const spy of spies) spy.mockRestore();
  expect(code, text.stderr).toBe(0);
  return { lines: text.stdout.trim().split("\n"), notes: text.stderr.trim().split("\n") };
}

describe("compare", () => {
  const [width, height] = [4, 2];
  // The last error is beyond three thresholds of half a pixel.
  const truth = [2, 2, 2, Number.POSITIVE_INFINITY, 2, 2, 2, 2];
  const a = [2, 2.25, 2.5, 2, undefined, 2.625, 3.5, 6];
  const b = [2, 2, 3, 3, 3, undefined, 2.5, 2];
  const names = () =>
    ["left.png", "right.png", "out.png"].map((name) => join(folder, name)) as [string, string, string];
  const disparities = (values: readonly (number | undefined)[]) =>
    Int16Array.from(values, (value) => (value === undefined ? INVALID : 16 * value));
  beforeEach(async () => {
    await writeGrey("left.png", width, height, (i) => i);
    await writeGrey("right.png", width, height, (i) => 2 * i);
    writeFileSync(join(folder, "truth.pfm"), encodePfm({ data: Float32Array.from(truth), width, height }));
    const maps = [a, b];
    script.openEngine = () => {
      const at = 2 - maps.length;
      const map = maps.shift()!;
      const valid = map.filter((value) => value !== undefined).length;
      return {
        info: ENGINE_INFO,
        slots: [{ disparityQ4: disparities(map), confidence: new Uint8Array(width * height).fill(200) }],
        stageMilliseconds: Float64Array.of(1.25, Number.NaN, 2 + at),
        compute: async () => ({
          validPixels: valid,
          matchedPixels: valid,
          droppedPixels: { filled: 0, lowConfidence: 0, tooNear: 0, tooFar: 0 },
        }),
        close: () => {},
      } as never;
    };
  });
  const flags = ["--a", "sgm-2016", "--b", "quality", "--threshold", "0.5", "--num-disparities", "16"];
  /** Colours of an error: grey while it is right, yellow to red while it is wrong. */
  const right = (share: number) => Array(3).fill(Math.round(255 - 75 * share));
  const wrong = (share: number) => [255, Math.round(200 * (1 - share)), 0];
  const [violet, black] = [
    [128, 0, 255],
    [0, 0, 0],
  ];

  test("with a ground truth: figures, and maps above their errors", async () => {
    const [left, rightFile, out] = names();
    const { lines, notes } = await written(
      "compare",
      left,
      rightFile,
      ...flags,
      "-o",
      out,
      "--truth",
      join(folder, "truth.pfm"),
    );
    // Pixels with a truth: 7. a misses one and is off in three; b misses one and is off in two.
    expect(lines).toEqual([
      "sgm-2016  3.3 ms  87.50 % valid  57.14 % off by more than 0.5 px  mean error 1.15 px",
      "quality   4.3 ms  87.50 % valid  42.86 % off by more than 0.5 px  mean error 0.42 px",
      expect.stringMatching(
        /^\d+\.\d\d % of the pixels differ by more than 0\.5 px, or have one estimate alone$/,
      ),
    ]);
    expect(notes).toEqual([`${out}: above sgm-2016 and quality, below their errors`]);
    const { default: sharp } = await import("sharp");
    const { data, info } = await sharp(out).raw().toBuffer({ resolveWithObject: true });
    expect([info.width, info.height, info.channels]).toEqual([2 * width + 8, 2 * height + 8, 3]);
    const pixel = (x: number, y: number) => [
      ...data.subarray(3 * (y * info.width + x), 3 * (y * info.width + x) + 3),
    ];
    const block = (x: number, y: number) =>
      Array.from({ length: width * height }, (_, i) => pixel(x + (i % width), y + Math.floor(i / width)));
    expect(block(0, height + 8)).toEqual([
      right(0),
      right(0.5),
      right(1),
      black,
      violet,
      wrong(0.125),
      wrong(1),
      wrong(1),
    ]);
    expect(block(width + 8, height + 8)).toEqual([
      right(0),
      right(0),
      wrong(0.5),
      black,
      wrong(0.5),
      violet,
      right(1),
      right(0),
    ]);
    const q4 = (values: typeof a) => Float32Array.from(values, (value) => value ?? Number.POSITIVE_INFINITY);
    for (const [values, x] of [
      [a, 0],
      [b, width + 8],
    ] as const) {
      const shown = colourDisparity({ data: q4([...values]), width, height }, { min: 0, max: 16 });
      expect(block(x, 0).flat()).toEqual([...shown.data]);
    }
    for (let y = 0; y < info.height; y++)
      for (let x = 0; x < info.width; x++)
        if ((x >= width && x < width + 8) || (y >= height && y < height + 8))
          expect(pixel(x, y)).toEqual([255, 255, 255]);
  });

  test("without one: where the maps differ, and JSON", async () => {
    const [left, rightFile, out] = names();
    const { lines, notes } = await written("compare", left, rightFile, ...flags, "-o", out, "--json");
    expect(JSON.parse(lines[0]!)).toEqual({
      width,
      height,
      threshold: 0.5,
      a: {
        preset: "sgm-2016",
        milliseconds: 3.25,
        validPercent: 87.5,
        badPercent: null,
        averageErrorPx: null,
      },
      b: {
        preset: "quality",
        milliseconds: 4.25,
        validPercent: 87.5,
        badPercent: null,
        averageErrorPx: null,
      },
      // Seven pixels of b: one is not in a, and a differs in three by more than half a pixel.
      differingPercent: near((100 * 4) / 7),
    });
    expect(notes).toEqual([""]);
  });

  test.each([
    [["--truth-scale", "2"], "expected --truth with --truth-scale"],
    [["--foreign", "x"], "expected --foreign COMMAND and foreign as --a or --b"],
    [["--a", "foreign"], "expected --foreign COMMAND and foreign as --a or --b"],
    [["--b", "no-such-preset"], "--b"],
    [["--threshold", "0"], "--threshold"],
    [["--truth", "small.pfm"], "expected 4 x 2 as the maps are, found 4 x 1"],
  ])("%j is refused", async (more, message) => {
    const small = { data: new Float32Array(4), width, height: 1 };
    writeFileSync(join(folder, "small.pfm"), encodePfm(small));
    const [left, rightFile, out] = names();
    const words = [
      ...flags,
      "-o",
      out,
      ...more.map((word) => (word === "small.pfm" ? join(folder, word) : word)),
    ];
    let errors = "";
    const write = vi.spyOn(process.stderr, "write").mockImplementation((part) => {
      errors += part;
      return true;
    });
    expect(await runCommandLine(["compare", left, rightFile, ...words])).not.toBe(0);
    write.mockRestore();
    expect(errors).toContain(message);
  });
});

test("match: the line of results, its warnings and the files", async () => {
  const [width, height] = [40, 24];
  const pixels = width * height;
  const open = (valid: number, matched: number, dropped: object, disparity = 3) => {
    const confidence = Uint8Array.from({ length: pixels }, (_, i) => (i < matched ? 200 : 0));
    script.openEngine = () =>
      ({
        info: { ...ENGINE_INFO, verticalOffset: { ...ENGINE_INFO.verticalOffset, watched: false } },
        slots: [{ disparityQ4: new Int16Array(pixels).fill(16 * disparity), confidence }],
        stageMilliseconds: Float64Array.of(1.234),
        compute: async () => ({
          validPixels: valid,
          matchedPixels: matched,
          droppedPixels: { filled: 0, lowConfidence: 0, tooNear: 0, tooFar: 0, ...dropped },
        }),
        close: () => {},
      }) as never;
  };
  await writeGrey("left.png", width, height, (i) => (i * 37) % 200);
  await writeGrey("right.png", width, height, (i) => (i * 91 + 7) % 200);
  const pair = ["left.png", "right.png"].map((name) => join(folder, name));
  open(960, 480, {});
  expect(await written("match", ...pair, "--num-disparities", "32")).toEqual({
    lines: [
      "40x24, sgm, disparities 0 to 31, cpu (scalar): 1.23 ms, 100.0 % valid, 50.0 % matched",
      "nothing was written: give -o OUT.pfm, -o CLOUD.ply or --color OUT.png",
    ],
    notes: [""],
  });
  // Pixels that limits drop were matched; filled ones were not.
  open(900, 400, { filled: 12, tooNear: 24, lowConfidence: 48, tooFar: 8 });
  const [map, colours] = [join(folder, "map.pfm"), join(folder, "map.png")];
  const limited = await written("match", ...pair, "--num-disparities", "32", "-o", map, "--color", colours);
  expect(limited).toEqual({
    lines: [
      "40x24, sgm, disparities 0 to 31, cpu (scalar): 1.23 ms, 93.8 % valid, 41.7 % matched; " +
        "dropped: 1.3 % filled, 5.0 % low confidence, 2.5 % too near, 0.8 % too far",
      `wrote ${map} and ${colours}`,
    ],
    notes: [""],
  });
  open(900, 400, { filled: 479 });
  expect((await written("match", ...pair)).notes).toEqual([
    expect.stringMatching(/^warning: (PAIR_\w+: |only 42 % of the pixels are matched)/),
  ]);
});

describe("measure", () => {
  const [width, height] = [64, 48];
  const calibration = sceneCalibration({ width, height, view: "rectified" });
  const [focalPixels, baseline] = [calibration.left.K[0], baselineMetres(calibration)];
  // 0.4 of both sides: 26 x 19 pixels, with 19 columns and 14 rows before them.
  const [area, areaPixels] = [{ x: 19, y: 14, width: 26, height: 19 }, 494];
  const atSixteen = (focalPixels * baseline) / 16;
  const computed = {
    slot: 0,
    validPixels: 0,
    matchedPixels: 0,
    droppedPixels: { filled: 0, lowConfidence: 0, tooNear: 0, tooFar: 0 },
    encodedDepthBytes: 0,
    encodedDisparityBytes: 0,
  };
  let [file, opened, closed] = ["", {} as EngineOptions, 0];
  const images = mkdtempSync(join(tmpdir(), "depthwatt-measured-"));
  afterAll(() => rmSync(images, { recursive: true }));
  beforeAll(async () => {
    const data = Uint8Array.from({ length: width * height }, (_, i) => i % 200);
    const png = await encodePng({ data, width, height });
    for (const side of ["left", "right"]) {
      mkdirSync(join(images, side));
      // More than the 30 frames that are measured without --frames.
      for (let i = 10; i < 42; i++) writeFileSync(join(images, side, `${i}.png`), png);
    }
  });
  beforeEach(() => {
    [file, closed] = [join(folder, "stereo.json"), 0];
    writeFileSync(file, stringifyCalibration(calibration));
  });
  const pair = [join(images, "left"), join(images, "right")];

  /** An engine whose every frame has these disparities. */
  function give(disparity: (x: number) => number, matched: (x: number, y: number) => boolean = () => true) {
    const at = Array.from({ length: width * height }, (_, i) => [i % width, Math.floor(i / width)] as const);
    const disparityQ4 = Int16Array.from(at, ([x]) => Math.round(16 * disparity(x)));
    const confidence = Uint8Array.from(at, ([x, y]) => (matched(x, y) ? 1 : 0));
    script.openEngine = (options) => {
      opened = options;
      return {
        info: ENGINE_INFO,
        framesInFlight: 1,
        slots: [{ disparityQ4, confidence }],
        stageMilliseconds: stageTimes(0, LEFT_OUT),
        submit: (...[, , , done]: Parameters<NativeEngine["submit"]>) => setImmediate(done, null, computed),
        close: () => closed++,
      } as never;
    };
  }
  const measure = (...words: string[]) => runInProcess(["measure", ...pair, "--calibration", file, ...words]);
  const metres = (value: number) => Number(value.toFixed(5));

  test("30 frames of the middle, as text; the flags reach the engine, which is closed", async () => {
    give(() => 16);
    const { code, stdout, stderr } = await measure("--num-disparities", "40", "--algorithm", "cbca");
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout.split("\n")).toEqual([
      "area            26x19 at 19, 14, 30 frames",
      "fill rate       100.0 % matched",
      `distance        ${atSixteen.toFixed(4)} m`,
      "angle           0.0 degrees",
      "error           unavailable: --distance was not given",
      "spatial noise   0.00 mm, 0.00 %, 0.000 px",
      "temporal noise  0.00 mm, 0.00 %, 0.000 px",
      "",
    ]);
    expect(opened).toMatchObject({ width, height, match: { algorithm: "cbca", numDisparities: 40 } });
    expect(closed).toBe(1);
  });

  test("--frames, a region and the true distance, as JSON", async () => {
    give(() => 16);
    const region = ["region.x=2", "region.y=3", "region.width=8", "region.height=8"];
    const words = [
      ...region.flatMap((one) => ["--set", one]),
      "--distance",
      "1000",
      "--frames",
      "1",
      "--json",
    ];
    const { code, stdout, stderr } = await measure(...words);
    expect([code, stderr]).toEqual([0, ""]);
    const none = { millimetres: 0, percent: 0, subpixels: 0 };
    expect(JSON.parse(stdout)).toEqual({
      frames: 1,
      fillRatePercent: 100,
      distanceMetres: metres(atSixteen),
      angleDegrees: 0,
      error: {
        millimetres: expect.closeTo(1000 * (atSixteen - 1000), 2),
        percent: expect.closeTo((100 * (atSixteen - 1000)) / 1000, 2),
      },
      spatialNoise: none,
      temporalNoise: { available: false, reason: "it needs two frames or more with the same matched pixels" },
      area: { x: 2, y: 3, width: 8, height: 8 },
      trueMetres: 1000,
      tare: null,
    });
  });

  const corrected = 1.01 * atSixteen;
  const tare = ["--tare", "--distance", String(corrected), "--frames", "2"];
  // The first pixels of the area by rows; 247 are half of it.
  const countOf = (x: number, y: number) => (y - area.y) * area.width + (x - area.x);
  const first = (count: number) => (x: number, y: number) =>
    x >= area.x && x < area.x + area.width && countOf(x, y) < count;
  const mm = (value: number) => `${(1000 * value).toFixed(3)} mm`;

  test("--tare of a target that fills half of the area", async () => {
    give(() => 16, first(areaPixels / 2));
    const { code, stdout, stderr } = await measure(...tare);
    expect([code, stderr]).toEqual([0, ""]);
    const after = baselineMetres(loadStereoCalibration(file).calibration);
    expect(after).toBeCloseTo(1.01 * baseline, 6);
    expect(stdout.split("\n").slice(1, 2)).toEqual(["fill rate       50.0 % matched"]);
    expect(stdout.split("\n").slice(7)).toEqual([
      `${file}: baseline ${mm(baseline)} -> ${mm(after)} (x ${(after / baseline).toFixed(5)}); ` +
        `--undo restores ${file}.before-tare`,
      "",
    ]);
  });

  test("--tare --json, and --undo as text and as JSON", async () => {
    give(() => 16);
    for (const more of [[], ["--json"]]) {
      const json = await measure(...tare, "--json");
      const after = baselineMetres(loadStereoCalibration(file).calibration);
      expect(JSON.parse(json.stdout)).toMatchObject({
        trueMetres: corrected,
        tare: {
          file,
          kept: `${file}.before-tare`,
          scale: near(after / baseline),
          baselineMetres: { before: near(baseline), after: near(after) },
        },
      });
      const { code, stdout } = await runInProcess(["measure", "--calibration", file, "--undo", ...more]);
      expect(code).toBe(0);
      if (more.length === 0) expect(stdout).toBe(`${file}: restored, baseline ${mm(baseline)}\n`);
      else expect(JSON.parse(stdout)).toEqual({ undone: { file, baselineMetres: near(baseline) } });
      expect(readFileSync(file, "utf8")).toBe(stringifyCalibration(calibration));
    }
  });

  // The plane of the disparities 16 + k (x - 31.5) is turned by atan(f k / 16).
  const turned = (degrees: number) => (x: number) =>
    16 + ((16 * Math.tan((degrees * Math.PI) / 180)) / focalPixels) * (x - 31.5);
  test.each([
    [0, areaPixels / 2 - 1, "49.8 % at 0.0"],
    [10.5, areaPixels, "100.0 % at 10.5"],
    [9.5, areaPixels, undefined],
  ])("--tare of a target at %d degrees with %i matched pixels", async (degrees, matched, refused) => {
    give(turned(degrees), first(matched));
    const { code, stderr } = await measure(...tare);
    const text =
      `error: expected a target that fills 50 % of the area at 10 degrees or less, found ${refused} degrees\n` +
      "hint: Face a textured flat target. The calibration file is unchanged.\n";
    expect([code, stderr]).toEqual(refused === undefined ? [0, ""] : [2, text]);
    const isUnchanged = readFileSync(file, "utf8") === stringifyCalibration(calibration);
    expect([isUnchanged, closed]).toEqual([refused !== undefined, 1]);
  });

  test("too few matched pixels, or no calibration, end it with what to do", async () => {
    give(
      () => 16,
      () => false,
    );
    expect(await measure("--frames", "2")).toMatchObject({
      code: 3,
      stdout: "",
      stderr:
        "error: expected matched pixels in 26x19 at 19, 14, found too few in 2 frames\n" +
        "hint: Point the cameras at a textured flat target, and check match.numDisparities.\n",
    });
    expect(closed).toBe(1);
    const bare = await runInProcess(["measure", ...pair]);
    expect(bare.code).toBe(2);
    expect(bare.stderr).toContain("error: depth needs a calibration, and there is none\n");
    expect(closed).toBe(1);
  });

  test.each([
    [["left"], "expected LEFT and RIGHT, or neither of them, got LEFT alone"],
    [["--tare"], "--tare needs the true distance: give --distance METRES"],
    [["--tare", "--undo", "--distance", "1"], "expected --tare or --undo, got both"],
    [["--undo"], "--tare and --undo change a calibration file, and none is given"],
    [
      ["left", "right", "--tare", "--distance", "1"],
      "--tare and --undo change a calibration file, and none is given",
    ],
    ...["0", "-1", "1000.1", "x"].map((text): [string[], string] => [
      ["--distance", text],
      "expected metres, above 0 and up to 1000",
    ]),
    [["--frames", "0"], "expected a whole number of 1 or more"],
  ])("%j is refused before anything is opened", async (words, message) => {
    script.openEngine = () => expect.unreachable();
    const { code, stderr } = await runInProcess(["measure", ...words]);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});
