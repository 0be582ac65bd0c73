// SPDX-License-Identifier: Apache-2.0
// Puts a governor into a run where the configuration asks for one.
import type { PairSource } from "../../camera/index.js";
import type { Meter } from "../../power/index.js";
import type { Config } from "../config/index.js";
import { readProfile } from "../profile/store.js";
import type { AdjustableEngine } from "./adjustable-engine.js";
import { Governor } from "./governor.js";
import { qualityLadder } from "./ladder.js";
import { GovernorLoop } from "./loop.js";
import type { RateGate } from "./rate-gate.js";
import { tableOf } from "./table.js";

export function isGoverned({ budgetWatts, minFps }: Config["power"]): boolean {
  return budgetWatts !== undefined || minFps !== undefined;
}

export interface OpenGovernorOptions {
  config: Config;
  source: PairSource;
  engine: AdjustableEngine;
  gate: RateGate;
  meter: Meter;
  frames: () => number;
  onChange: (reason: string) => void;
}

/** @throws DepthwattError SOURCE_UNREADABLE when power.profile names no profile */
export function openGovernor({ config, source, ...parts }: OpenGovernorOptions): GovernorLoop {
  const { budgetWatts, minFps, profile } = config.power;
  const { width, height, rateHz } = source.description;
  const levels = qualityLadder({
    paths: config.match.paths,
    numDisparities: config.match.numDisparities,
    sourceHz: rateHz,
    // The engine's image size is that of everything published; it does not change in a run.
    half: false,
    ...(minFps !== undefined && { minFps }),
  });
  const table = profile === undefined ? [] : tableOf(readProfile(profile), levels, { width, height, rateHz });
  return new GovernorLoop({ governor: new Governor(levels, { budgetWatts, minFps }, table), ...parts });
}
