// SPDX-License-Identifier: Apache-2.0
// The configurations of all rigs of a file, and what they must not have in common.

import { valueAt } from "./change.js";
import type { Problem } from "./layers.js";
import { type ConfigRequest, configFile, type LoadedConfig, loadConfig, raise } from "./load.js";
import { rigNames } from "./rigs.js";

/** Names and files that two rigs would both write. */
const OWN_KEYS = ["device", "outputs.mcap.file", "outputs.sharedMemory.path", "health.driftFile"] as const;

function clashes(loaded: ReadonlyMap<string, LoadedConfig>): Problem[] {
  const problems: Problem[] = [];
  for (const key of OWN_KEYS) {
    const owners = new Map<unknown, string>();
    for (const [name, { config, origins }] of loaded) {
      const value = valueAt(config, key);
      if (value === undefined) continue;
      // Topics begin with both.
      const id = key === "device" ? `${config.base}/${value}` : value;
      const owner = owners.get(id);
      owners.set(id, owner ?? name);
      if (owner === undefined) continue;
      const text = `expected another one for rigs.${name} than for rigs.${owner}, got ${JSON.stringify(value)} for both`;
      problems.push({ key, origin: origins.get(key)!, unknown: false, text });
    }
  }
  return problems;
}

/** A profile and a duty cycle measure one rig, and its share of the board's power is unknown. */
function singleRigSettings({ config: { power }, origins }: LoadedConfig): Problem[] {
  const given = {
    "power.profile": power.profile !== undefined,
    "power.clocks": power.clocks !== "off",
    "power.dutyCycle.frames": power.dutyCycle.frames !== undefined,
  };
  return Object.entries(given)
    .filter(([, isGiven]) => isGiven)
    .map(([key]) => ({
      key,
      origin: origins.get(key)!,
      unknown: false,
      text: "expected to be left out, because several rigs share the board's power, got a value",
    }));
}

/**
 * Returns the configuration of each rig by its name, in the file's order; undefined if the file has no rigs, or one is chosen.
 * @throws DepthwattError as loadConfig() does; CONFIG_INVALID if two rigs have the same device name or file
 */
export function loadRigs(request: ConfigRequest): ReadonlyMap<string, LoadedConfig> | undefined {
  if (request.rig !== undefined) return undefined;
  const names = rigNames(configFile(request));
  if (names.length === 0) return undefined;
  const loaded = new Map(names.map((rig) => [rig, loadConfig({ ...request, rig })]));
  const [first] = loaded.values();
  const problems = [...clashes(loaded), ...singleRigSettings(first!)];
  if (problems.length > 0) raise(problems);
  return loaded;
}
