// SPDX-License-Identifier: Apache-2.0
// Puts a governor into a run where the configuration asks for one.
import type { PairSource } from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import type { MatchParameters } from "../../cuda/index.js";
import type { ClockTargets, Meter } from "../../power/index.js";
import type { Config } from "../config/index.js";
import type { Unavailable } from "../contracts/availability.js";
import { BoardGovernor } from "../governor/board-governor.js";
import { Governor } from "../governor/governor.js";
import { type QualityLevel, qualityLadder } from "../governor/ladder.js";
import { GovernorLoop, type RunGovernor } from "../governor/loop.js";
import { type MeasuredLadder, measuredLadder, profiledClocks } from "../governor/measured.js";
import type { RateGate } from "../governor/rate-gate.js";
import type { AdjustableEngine } from "../pipeline/adjustable-engine.js";
import { matchParameters } from "../pipeline/parameters.js";
import { ClockLimits } from "../profile/clock-limits.js";
import { PowerModes } from "../profile/power-modes.js";
import { readProfile } from "../profile/store.js";
import type { Profile } from "../profile/types.js";
import type { RuntimeParts } from "./parts.js";
import type { SharedParts } from "./shared-parts.js";

/** The parts that a governor reads and changes. */
type Governed = Pick<RuntimeParts, "engine" | "meter" | "pipeline" | "duty" | "shared"> & {
  source: RateGate;
};

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

interface LadderParts extends Pick<Governed, "engine"> {
  source: PairSource;
}

/** The quality ladder of a run. @param modes power modes at its end, best first */
function runLadder(
  config: Config,
  { engine, source }: LadderParts,
  modes: readonly string[],
): QualityLevel[] {
  const { minFps } = config.power;
  const match = matchParameters(config.match);
  return qualityLadder({
    match,
    sourceHz: source.description.rateHz,
    half: engine.tryOut({ ...match, halfResolution: true }) !== undefined,
    takesCoarseToFine: (lowered) => choosesCoarseToFine(engine, match, lowered),
    ...(minFps !== undefined && { minFps }),
    modes,
  });
}

/**
 * Opens the governor of a board with several rigs.
 * @throws DepthwattError DEVICE_UNAVAILABLE or CONFIG_INVALID when power.modes names modes that this machine does not have
 */
export function openBoardGovernor(
  { modes }: Config["power"],
  meter: Pick<Meter, "recent">,
  onProblem: (problem: Error) => void,
): BoardGovernor {
  return new BoardGovernor({ meter, modes: powerModes(modes), onProblem });
}

/** The part of one rig in the governor of its board. */
function rigGovernor(
  config: Config,
  { source: gate, engine, pipeline, shared: { governor, name, rank } }: Governed & { shared: SharedParts },
  { source, onChange }: OpenGovernorOptions,
): RunGovernor {
  const { budgetWatts, minFps } = config.power;
  return governor.part({
    name,
    rank,
    levels: runLadder(config, { engine, source }, []),
    goal: { budgetWatts, minFps },
    apply: (level) => {
      gate.limit(level?.rateHz);
      if (level === undefined) return;
      const { parameters, numDisparities, halfResolution } = level;
      engine.adjust({ parameters, numDisparities, halfResolution });
    },
    frames: () => pipeline.frames,
    busyMs: () => engine.stageMilliseconds.reduce((sum, ms) => sum + (Number.isNaN(ms) ? 0 : ms), 0),
    onChange,
  });
}

/**
 * Undefined where the configuration asks neither for a budget nor for a frame rate.
 * @throws DepthwattError SOURCE_UNREADABLE when power.profile names no profile; DEVICE_UNAVAILABLE or CONFIG_INVALID when
 *   power.modes names modes that this machine does not have, or power.clocks is "on" in vain
 */
export function openGovernor(
  config: Config,
  governed: Governed,
  { source, ...events }: OpenGovernorOptions,
): RunGovernor | undefined {
  const { budgetWatts, minFps, profile } = config.power;
  if (budgetWatts === undefined && minFps === undefined) return undefined;
  const { source: gate, engine, meter, pipeline, duty, shared } = governed;
  if (shared !== undefined) return rigGovernor(config, { ...governed, shared }, { source, ...events });
  const { width, height, rateHz } = source.description;
  const match = matchParameters(config.match);
  const { names, modes } = powerModes(config.power.modes);
  const levels = runLadder(config, { engine, source }, names);
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
