// SPDX-License-Identifier: Apache-2.0
// Puts a governor into a run where the configuration asks for one.
import type { PairSource } from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import type { MatchParameters } from "../../cuda/index.js";
import type { ClockTargets } from "../../power/index.js";
import type { Config } from "../config/index.js";
import type { Unavailable } from "../contracts/availability.js";
import { Governor } from "../governor/governor.js";
import { type QualityLevel, qualityLadder } from "../governor/ladder.js";
import { GovernorLoop } from "../governor/loop.js";
import { type MeasuredLadder, measuredLadder, profiledClocks } from "../governor/measured.js";
import type { RateGate } from "../governor/rate-gate.js";
import type { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import { matchParameters } from "../pipeline/parameters.js";
import { ClockLimits } from "../profile/clock-limits.js";
import { PowerModes } from "../profile/power-modes.js";
import { readProfile } from "../profile/store.js";
import type { Profile } from "../profile/types.js";
import type { RuntimeParts } from "./parts.js";

/** The parts that a governor reads and changes. */
type Governed = Pick<RuntimeParts, "engine" | "meter" | "pipeline" | "duty"> & { source: RateGate };

export interface OpenGovernorOptions {
  /** The running source, or its replacement. */
  source: PairSource;
  onChange: (reason: string) => void;
  onProblem: (problem: Error) => void;
}

/** The power modes that may be stepped down to, and the program that changes them. */
function powerModes(names: string | undefined): { names: readonly string[]; modes: PowerModes | undefined } {
  if (names === undefined) return { names: [], modes: undefined };
  const modes = PowerModes.open({ onSignals: false });
  if (modes === undefined) {
    throw new DepthwattError(
      "DEVICE_UNAVAILABLE",
      "power.modes is set, but this machine has no /etc/nvpmodel.conf, so it has no power modes.",
      { hint: "Leave power.modes out on this machine." },
    );
  }
  const list = names.split(",");
  for (const name of list) modes.check(name);
  return { names: list, modes };
}

interface Clocks {
  /** Undefined: the settings leave the clocks alone. */
  limits: ClockLimits | Unavailable | undefined;
  /** Limits that the profile has visited and this machine accepts. */
  choices: readonly ClockTargets[];
}

/** @throws DepthwattError CONFIG_INVALID, DEVICE_UNAVAILABLE where power.clocks is "on" and the clocks stay as they are */
function openClocks({ clocks, budgetWatts }: Config["power"], profile: Profile | undefined): Clocks {
  if (clocks === "off") return { limits: undefined, choices: [] };
  const missing =
    budgetWatts === undefined
      ? "power.clocks needs power.budgetWatts"
      : "power.clocks needs a power.profile with runs at other clocks";
  const visited = budgetWatts === undefined || profile === undefined ? [] : profiledClocks(profile);
  if (visited.length === 0) {
    if (clocks === "auto") return { limits: { available: false, reason: missing }, choices: [] };
    throw new DepthwattError("CONFIG_INVALID", `${missing}, found none.`, {
      hint: "Make the profile: sudo depthwatt profile --clocks all -o DIR",
    });
  }
  const limits = clocks === "on" ? ClockLimits.require() : ClockLimits.open();
  if (!(limits instanceof ClockLimits)) return { limits, choices: [] };
  return { limits, choices: visited.filter((targets) => limits.accepts(targets)) };
}

/** Returns whether the measured times of this device make `search: auto` take coarse-to-fine search. */
function choosesCoarseToFine(
  engine: AdjustableEngine,
  match: MatchParameters,
  lowered: QualityLevel["parameters"],
): boolean {
  const parameters = { ...match.parameters, ...lowered, search: "auto" };
  const search = engine.tryOut({ ...match, parameters })?.search;
  return search !== undefined && "chosen" in search && search.chosen === "coarseToFine";
}

/**
 * Undefined where the configuration asks neither for a budget nor for a frame rate.
 * @throws DepthwattError SOURCE_UNREADABLE when power.profile names no profile; DEVICE_UNAVAILABLE or CONFIG_INVALID when
 *   power.modes names modes that this machine does not have, or power.clocks is "on" in vain
 */
export function openGovernor(
  config: Config,
  { source: gate, engine, meter, pipeline, duty }: Governed,
  { source, ...events }: OpenGovernorOptions,
): GovernorLoop | undefined {
  const { budgetWatts, minFps, profile } = config.power;
  if (budgetWatts === undefined && minFps === undefined) return undefined;
  const { width, height, rateHz } = source.description;
  const match = matchParameters(config.match);
  const { names, modes } = powerModes(config.power.modes);
  const levels = qualityLadder({
    match,
    sourceHz: rateHz,
    half: engine.tryOut({ ...match, halfResolution: true }) !== undefined,
    takesCoarseToFine: (lowered) => choosesCoarseToFine(engine, match, lowered),
    ...(minFps !== undefined && { minFps }),
    modes: names,
  });
  const goal = { budgetWatts, minFps };
  const measured = profile === undefined ? undefined : readProfile(profile);
  const { limits, choices } = openClocks(config.power, measured);
  const { search } = match.parameters;
  const camera = {
    width,
    height,
    rateHz,
    algorithm: match.algorithm,
    ...(typeof search === "string" && { search }),
  };
  const ladder: MeasuredLadder =
    measured === undefined
      ? { levels, table: [] }
      : measuredLadder(levels, { profile: measured, camera, goal, clocks: choices });
  const governor = new Governor(ladder.levels, goal, ladder.table);
  return new GovernorLoop({
    governor,
    modes,
    clocks: limits,
    engine,
    gate,
    meter,
    frames: () => pipeline.frames,
    activity: () => duty.activity,
    ...events,
  });
}
