// SPDX-License-Identifier: Apache-2.0
// Puts a governor into a run where the configuration asks for one.
import type { PairSource } from "../../camera/index.js";
import { DepthwattError } from "../../core/index.js";
import type { Config } from "../config/index.js";
import { Governor } from "../governor/governor.js";
import { qualityLadder } from "../governor/ladder.js";
import { GovernorLoop } from "../governor/loop.js";
import type { RateGate } from "../governor/rate-gate.js";
import { buildTable } from "../governor/table.js";
import { matchParameters } from "../pipeline/parameters.js";
import { PowerModes } from "../profile/power-modes.js";
import { readProfile } from "../profile/store.js";
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

/**
 * Undefined where the configuration asks neither for a budget nor for a frame rate.
 * @throws DepthwattError SOURCE_UNREADABLE when power.profile names no profile; DEVICE_UNAVAILABLE or CONFIG_INVALID when
 *   power.modes names modes that this machine does not have
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
    half: engine.supports({ ...match, halfResolution: true }),
    ...(minFps !== undefined && { minFps }),
    modes: names,
  });
  const table =
    profile === undefined ? [] : buildTable(readProfile(profile), levels, { width, height, rateHz });
  const governor = new Governor(levels, { budgetWatts, minFps }, table);
  return new GovernorLoop({
    governor,
    modes,
    engine,
    gate,
    meter,
    frames: () => pipeline.frames,
    activity: () => duty.activity,
    ...events,
  });
}
