// SPDX-License-Identifier: Apache-2.0
// The flags of depthwatt eval, and which of its modes they choose.
import { DepthwattError } from "../../../core/index.js";
import type { ConfigOptions } from "../../cli/options.js";
import type { SettingOptions } from "../../cli/setting-flags.js";

export interface EvalOptions extends ConfigOptions, SettingOptions<"algorithm" | "backend"> {
  threshold?: string;
  scenes?: string;
  frames: number;
  sweep?: string[];
  plot?: string;
  heatMap?: string;
  heldOut?: boolean;
  json?: boolean;
}

export type EvalMode = "matchers" | "grid" | "sweep" | "once" | "heldOut";

/** Returns the mode that the flags choose. @throws DepthwattError USAGE for flags that exclude each other */
export function modeFrom({ sweep = [], algorithm, plot, heatMap, heldOut, scenes }: EvalOptions): EvalMode {
  if (heldOut && (sweep.length > 0 || algorithm === "all" || scenes !== undefined))
    throw new DepthwattError(
      "USAGE",
      "expected one evaluation of all scenes with --held-out, got --sweep, --algorithm all or --scenes",
    );
  if (sweep.length > 2)
    throw new DepthwattError("USAGE", `expected --sweep once or twice, got it ${sweep.length} times`);
  if (sweep.length > 0 && algorithm === "all")
    throw new DepthwattError("USAGE", "expected --sweep of one matcher, got --algorithm all");
  if (sweep.length < 2 && heatMap !== undefined)
    throw new DepthwattError("USAGE", `expected --sweep twice with --heat-map, got ${sweep.length} of it`);
  if (sweep.length === 0 && plot !== undefined)
    throw new DepthwattError("USAGE", "expected --sweep with --plot, got nothing");
  if (heldOut) return "heldOut";
  if (algorithm === "all") return "matchers";
  if (sweep.length === 2) return "grid";
  return sweep.length === 1 ? "sweep" : "once";
}
