// SPDX-License-Identifier: Apache-2.0
// From flags and folders to an evaluation: the settings, the scenes, the matcher.
import { basename, resolve } from "node:path";
import { DepthwattError } from "../../../core/index.js";
import { type Algorithm, createEngine, readsColours, withoutColours } from "../../../cuda/index.js";
import { positiveNumber } from "../../cli/numbers.js";
import { loadFlagConfig } from "../../cli/options.js";
import { note } from "../../cli/output.js";
import { settingFlags } from "../../cli/setting-flags.js";
import { type LoadedConfig, loadConfig } from "../../config/index.js";
import {
  type Evaluation,
  engineMatcher,
  evaluate,
  readDataset,
  readScene,
  type Scene,
  type SceneEntry,
} from "../../eval/index.js";
import type { EvalOptions } from "./options.js";
import { EvalProgress } from "./progress.js";

export const load = (options: EvalOptions): LoadedConfig => loadFlagConfig(options, settingFlags(options));

/** Loads the settings with one value of each swept parameter. It does not note that a preset has other values. */
export function loadSwept(options: EvalOptions, values: Readonly<Record<string, number>>): LoadedConfig {
  const { config: file, preset, set } = options;
  const swept = Object.entries(values).map(([key, value]) => [
    key,
    { flag: "--sweep", value: String(value) },
  ]);
  return loadConfig({ file, preset, set, flags: { ...settingFlags(options), ...Object.fromEntries(swept) } });
}

/**
 * Reads the scenes of all folders, or those that --scenes names.
 * @throws DepthwattError USAGE for a name that no scene has; DATASET_INVALID, SOURCE_UNREADABLE
 */
export async function readScenes(
  folders: readonly string[],
  { scenes: wanted }: EvalOptions,
  algorithm: Algorithm,
): Promise<Scene[]> {
  const entries: SceneEntry[] = [];
  for (const folder of folders) entries.push(...(await readDataset(folder)));
  const names = wanted?.split(",").map((name) => name.trim());
  const unknown = names?.find((name) => !entries.some((entry) => entry.name === name));
  if (unknown !== undefined) {
    throw new DepthwattError(
      "USAGE",
      `expected --scenes to name scenes of the data, of which there are ${entries.map(({ name }) => name).join(", ")}; got "${unknown}"`,
    );
  }
  const chosen = names === undefined ? entries : entries.filter(({ name }) => names.includes(name));
  const scenes: Scene[] = [];
  const colours = readsColours(algorithm);
  for (const entry of chosen) scenes.push(await readScene(entry, colours));
  const grey = scenes.filter(({ format }) => colours && format === "GREY").map(({ name }) => name);
  if (grey.length > 0) note(withoutColours(algorithm, `${grey.join(", ")}: the pictures have`));
  return scenes;
}

/** Matches and scores every scene with the loaded settings. */
export function evaluateWith(
  { config, origins }: LoadedConfig,
  scenes: readonly Scene[],
  { frames, threshold }: EvalOptions,
  progress = new EvalProgress(1),
): Promise<Evaluation> {
  const match = engineMatcher({
    config,
    fixedNumDisparities: origins.get("match.numDisparities")?.kind !== "default",
    frames,
    createEngine,
  });
  return evaluate(
    scenes,
    match,
    threshold === undefined ? undefined : positiveNumber("--threshold", threshold),
    (scene, index) => progress.scene(scene, index, scenes.length),
  ).finally(() => progress.clear());
}

/** The names of the folders, for the title of a plot. */
export const folderTitle = (folders: readonly string[]): string =>
  folders.map((folder) => basename(resolve(folder))).join(", ");
