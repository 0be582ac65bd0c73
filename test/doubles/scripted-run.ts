// SPDX-License-Identifier: Apache-2.0
// Opens a whole run in this process, for tests that replace its sources, engines or meter (run-script.ts).
import { loadConfig } from "../../edge/config/index.js";
import { openRuntime } from "../../edge/run/main.js";
import type { Runtime, RuntimeEvents } from "../../edge/run/runtime.js";

/** Opens a run without outputs and without a watch of its cameras. @param set further assignments */
export function openScriptedRun(
  set: readonly string[],
  events: Partial<RuntimeEvents> = {},
  frames?: number,
): Promise<Runtime> {
  const quiet = [
    ...["board=none", "power.sensor=none", "health.enabled=false", "outputs.mqtt.broker=none"],
    ...["outputs.viewer.enabled=false", "device=scripted"],
  ];
  const { config } = loadConfig({ set: [...quiet, ...set], environment: {} });
  return openRuntime(config, frames, { onNotice: () => {}, ...events });
}
