// SPDX-License-Identifier: Apache-2.0
// Runs a profile from the command line's options: asks before it changes a power mode, shows how long it will take, stops
// after the current point when interrupted.
import { createInterface } from "node:readline/promises";
import { greyPairLayout } from "../../../camera/index.js";
import { DepthwattError } from "../../../core/index.js";
import { createEngine } from "../../../cuda/index.js";
import { type Meter, SENSOR_CHOICES, type SensorChoice } from "../../../power/index.js";
import { boardTotalRule, type Detection, detectBoard, loadBoards } from "../../boards/index.js";
import { numberBetween } from "../../cli/numbers.js";
import { note } from "../../cli/output.js";
import { Progress } from "../../cli/progress.js";
import { loadConfig } from "../../config/index.js";
import { loadNative } from "../../contracts/native.js";
import { engineOptionsFrom } from "../../pipeline/engine-options.js";
import { uncalibrated } from "../../pipeline/geometry.js";
import { contextReader, openMeter, powerNative } from "../../power/open-meter.js";
import { ClockLimits } from "../../profile/clock-limits.js";
import { PowerModes } from "../../profile/power-modes.js";
import { resumeProfile } from "../../profile/store.js";
import { ADDED_WORK, PROFILE_FORMAT, type Profile, type ProfilePoint } from "../../profile/types.js";
import { SceneCache } from "./frames.js";
import { tryRepeatedStages } from "./measure.js";
import {
  parseAlgorithms,
  parseClocks,
  parseDisparities,
  parsePaths,
  parseRates,
  parseRepeatedStages,
  parseResolutions,
  parseSearches,
  parseSizes,
  planPoints,
} from "./plan.js";
import { collectProvenance } from "./provenance.js";
import { missingPoints, sweep } from "./sweep.js";

/** Pairs that a profile's runs go round: enough that no cache holds them all at VGA. */
const SCENE_PAIRS = 8;

export interface ProfileOptions {
  output: string;
  modes: string;
  clocks: string;
  algorithms: string;
  sizes: string;
  disparities: string;
  paths: string;
  rates: string;
  resolutions: string;
  searches: string;
  seconds: string;
  warmUp: string;
  idle: string;
  stages?: boolean;
  stageRounds: string;
  repeatStages?: string;
  config?: string;
  rig?: string;
  foreign?: string;
  backend: string;
  sensor: string;
  yes?: boolean;
}

function choiceOption<T extends string>(name: string, text: string, choices: readonly T[]): T {
  const found = choices.find((choice) => choice === text);
  if (found !== undefined) return found;
  throw new DepthwattError("USAGE", `${name}: expected one of ${choices.join(", ")}, got "${text}"`);
}

function plannedModes(text: string, modes: PowerModes | undefined): (string | undefined)[] {
  if (text === "current") return [undefined];
  if (modes === undefined) {
    throw new DepthwattError(
      "DEVICE_UNAVAILABLE",
      "This machine has no /etc/nvpmodel.conf, so it has no power modes.",
      {
        hint: "Leave --modes out.",
      },
    );
  }
  return text === "all" ? [...modes.names] : text.split(",");
}

async function mayChangeMachine(
  options: ProfileOptions,
  wanted: readonly (string | undefined)[],
): Promise<void> {
  const names = wanted.filter((mode) => mode !== undefined);
  const changes = [
    ...(names.length === 0 ? [] : [`the power mode to ${names.join(", ")}`]),
    ...(options.clocks === "current" ? [] : [`the clock limits to ${options.clocks}`]),
  ];
  if (changes.length === 0 || options.yes) return;
  if (!process.stdin.isTTY) {
    throw new DepthwattError("USAGE", "Changing power modes or clocks needs --yes without a terminal.");
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  const answer = await asking.question(
    `Change ${changes.join(" and ")} in turn, and back at the end? [y/N] `,
  );
  asking.close();
  if (!/^y(es)?$/i.test(answer.trim())) throw new DepthwattError("USAGE", "Nothing was changed or measured.");
}

/** Returns the engine's description, from the smallest engine there is. */
function engineInfo(backend: "auto" | "cpu" | "cuda") {
  const size = { width: 64, height: 48 };
  const { config } = loadConfig({ environment: {}, set: ["board=none", `engine.backend=${backend}`] });
  const description = greyPairLayout(size.width, size.height);
  const engine = createEngine(
    engineOptionsFrom(config, { description }, uncalibrated(size.width, size.height)),
  );
  const info = { ...engine.info };
  engine.close();
  return info;
}

function freshProfile(
  options: ProfileOptions,
  detection: Detection,
  meter: Meter,
  backend: "auto" | "cpu" | "cuda",
): Profile {
  const notYet = { available: false, reason: "not measured yet" } as const;
  return {
    format: PROFILE_FORMAT,
    date: new Date().toISOString(),
    provenance: collectProvenance(detection, meter, engineInfo(backend), powerNative(loadNative())),
    seconds: numberBetween("--seconds", options.seconds, 2, 3600),
    warmUpSeconds: numberBetween("--warm-up", options.warmUp, 0.5, 600),
    idleBefore: notYet,
    idleAfter: notYet,
    results: [],
  };
}

function buildPlan(
  options: ProfileOptions,
  modes: readonly (string | undefined)[],
  clocks: ClockLimits | undefined,
): ProfilePoint[] {
  return planPoints({
    modes,
    clocks: parseClocks(options.clocks, clocks),
    algorithms: parseAlgorithms(options.algorithms),
    sizes: parseSizes(options.sizes),
    disparities: parseDisparities(options.disparities),
    paths: parsePaths(options.paths),
    rates: parseRates(options.rates),
    resolutions: parseResolutions(options.resolutions),
    foreign: options.foreign !== undefined,
    searches: parseSearches(options.searches),
    ...stageRounds(options),
  });
}

/**
 * --stages: as many rounds as the intervals need, with the essential stages and the shortest ones repeated, and with
 * publishing. --config has the cameras whose capture is measured.
 */
const STAGES_ROUNDS = 4;
const STAGES_REPEATED = "rectify=40,match=3,median=40";

export function stageRounds({ stages, stageRounds: rounds, repeatStages, config }: ProfileOptions) {
  const asked = numberBetween("--stage-rounds", rounds, 0, 20);
  return {
    stageRounds: stages && asked === 0 ? STAGES_ROUNDS : asked,
    repeated: parseRepeatedStages(repeatStages ?? (stages ? STAGES_REPEATED : "")),
    added: ADDED_WORK.filter((work) => (work === "capture" ? config !== undefined : stages === true)),
  };
}

/** @throws DepthwattError USAGE, CONFIG_INVALID, DEVICE_UNAVAILABLE, BACKEND_UNAVAILABLE, ADDON_MISSING, OUTPUT_UNWRITABLE */
export async function runProfile(folder: string, options: ProfileOptions): Promise<Profile> {
  const backend = choiceOption("--backend", options.backend, ["auto", "cpu", "cuda"]);
  const sensor: SensorChoice = choiceOption("--sensor", options.sensor, SENSOR_CHOICES);
  const idleSeconds = numberBetween("--idle", options.idle, 2, 600);
  const modes = PowerModes.open();
  const wanted = plannedModes(options.modes, modes);
  const clocks = options.clocks === "current" ? undefined : ClockLimits.require();
  const points = buildPlan(options, wanted, clocks);
  const native = loadNative();
  const detection = detectBoard(loadBoards());
  const totalRule = boardTotalRule(detection);
  await mayChangeMachine(options, wanted);
  const meter = openMeter({ sensor, rateHz: 100, native, ...(totalRule && { totalRule }) });
  const stop = new AbortController();
  const progress = new Progress();
  const onInterrupt = (): void => {
    stop.abort();
    progress.clear();
    note("stopping after this point; the same command continues later");
  };
  process.once("SIGINT", onInterrupt);
  try {
    const profile = resumeProfile(folder, freshProfile(options, detection, meter, backend));
    const left = missingPoints(points, profile.results).length;
    if (left < points.length) note(`${points.length - left} of ${points.length} points are already measured`);
    meter.start();
    // Its columns of watts and joules stay empty: that must not be found out at the end.
    const missing = "rails" in meter.sensor ? meter.sensor.total : meter.sensor;
    if (!("rails" in missing)) note(`no watts and no joules will be measured: ${missing.reason}`);
    const { seconds, warmUpSeconds } = profile;
    if (clocks !== undefined) profile.clockLimitHertz = clocks.limits;
    const conditions = contextReader(meter.sensor, powerNative(native));
    const run = {
      scenes: new SceneCache(native, SCENE_PAIRS),
      meter,
      backend,
      foreign: options.foreign,
      cameras: loadConfig({
        environment: {},
        file: options.config,
        rig: options.rig,
        set: ["board=none"],
      }).config,
      threads: 0,
      seconds,
      warmUpSeconds,
      idleSeconds,
    };
    await tryRepeatedStages(points, run);
    await sweep({
      ...run,
      readContext: conditions,
      folder,
      profile,
      points,
      modes,
      clocks,
      onProgress: ({ done, total, secondsLeft, step }) => {
        if (!process.stderr.isTTY) note(`${done} of ${total} points measured; ${step}`);
        progress.show(done, total, step, secondsLeft);
      },
      signal: stop.signal,
    });
    return profile;
  } finally {
    progress.clear();
    process.off("SIGINT", onInterrupt);
    meter.close();
  }
}
