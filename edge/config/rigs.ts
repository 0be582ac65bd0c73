// SPDX-License-Identifier: Apache-2.0
// Several camera pairs in one configuration file: `rigs` has, by name, the settings of each rig that differ from the top level.
import { dirname, resolve } from "node:path";
import { DepthwattError } from "../../core/index.js";
import { type Layer, layerFromFile, layerFromObject, type Origin, readSettingsFile } from "./layers.js";
import { either, foundWords, nearestName, shortName } from "./words.js";

/** The name is a part of topics and of addresses. */
const RIG_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,31}$/;
/** Settings of the whole process and its board. */
const SHARED = /^(board$|http\.|control\.|power\.|log\.|outputs\.energy\.)/;

interface FileLayers {
  /** The file's settings, and above them those of the rig. */
  layers: Layer[];
  /** The rig that was chosen; undefined: the file has no rigs. */
  name: string | undefined;
  /** True if the rig has a device name. */
  namesDevice: boolean;
}

interface RigFile {
  /** Everything but `rigs`. */
  rest: unknown;
  rigs: Readonly<Record<string, unknown>>;
}

const isGroup = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** @throws DepthwattError CONFIG_UNREADABLE, CONFIG_INVALID */
function readRigFile(file: string): RigFile {
  const value = readSettingsFile(file);
  if (!isGroup(value) || !Object.hasOwn(value, "rigs")) return { rest: value, rigs: {} };
  const { rigs, ...rest } = value;
  if (!isGroup(rigs) || Object.keys(rigs).length === 0) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `rigs (from ${file}): expected a group with the settings of each rig by its name, got ${isGroup(rigs) ? "an empty one" : foundWords(rigs)}`,
      { hint: "Such as rigs: { front: { source: ... }, rear: { source: ... } }.", context: { key: "rigs" } },
    );
  }
  const wrong = Object.keys(rigs).find((name) => !RIG_NAME.test(name));
  if (wrong !== undefined) {
    throw new DepthwattError(
      "CONFIG_INVALID",
      `rigs (from ${file}): expected names of 1 to 32 letters, digits, - and _, got ${JSON.stringify(shortName(wrong))}`,
      { hint: "Rename the rig.", context: { key: "rigs" } },
    );
  }
  return { rest, rigs };
}

/** Returns the names of the rigs that a configuration file has, the one to keep at its quality first. */
export function rigNames(file: string | undefined): readonly string[] {
  return file === undefined ? [] : Object.keys(readRigFile(file).rigs);
}

function refuseShared(layer: Layer): Layer {
  for (const [key, { origin }] of layer.entries) {
    if (!SHARED.test(key)) continue;
    layer.problems.push({
      key,
      origin,
      unknown: false,
      text: "expected at the top level, because all rigs share it, got in a rig",
    });
  }
  return layer;
}

/**
 * Reads the settings of a file, and of one of its rigs.
 * @param rig its name
 * @throws DepthwattError CONFIG_UNREADABLE, CONFIG_INVALID, USAGE
 */
export function readFileLayers(file: string | undefined, rig: string | undefined): FileLayers {
  const { rest, rigs } = file === undefined ? { rest: undefined, rigs: {} } : readRigFile(file);
  const names = Object.keys(rigs);
  if (names.length === 0 && rig !== undefined) {
    throw new DepthwattError(
      "USAGE",
      `--rig ${shortName(rig)}: expected a configuration file with rigs, got none`,
      {
        hint: "Leave --rig out, or name the file with --config.",
      },
    );
  }
  if (names.length > 0 && (rig === undefined || !names.includes(rig))) {
    const near = rig === undefined ? undefined : nearestName(rig, names);
    throw new DepthwattError(
      "USAGE",
      `expected --rig with ${either(names)}, the rigs of ${file}, got ${rig === undefined ? "none" : JSON.stringify(shortName(rig))}`,
      { hint: `Choose one, such as --rig ${near ?? names[0]}.`, context: { rigs: names } },
    );
  }
  const layers = file === undefined ? [] : [layerFromFile(file, rest)];
  if (file === undefined || rig === undefined) return { layers, name: undefined, namesDevice: false };
  const origin: Origin = { kind: "file", name: `rigs.${rig} of ${file}` };
  const own = refuseShared(layerFromObject(rigs[rig], origin, dirname(resolve(file))));
  return { layers: [...layers, own], name: rig, namesDevice: own.entries.has("device") };
}
