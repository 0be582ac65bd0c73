// SPDX-License-Identifier: Apache-2.0
// Keeps a profile on disk after every point, whole or not at all, so that an interrupted one continues where it was.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../camera/index.js";
import { DepthwattError, MAX_TEXT_BYTES, readRegularFile, writeBeside } from "../../core/index.js";
import { type PointResult, PROFILE_FORMAT, type Profile } from "./types.js";

export const PROFILE_FILE = "profile.json";

/** @throws DepthwattError SOURCE_UNREADABLE */
export function readProfile(folder: string): Profile {
  const file = folder.endsWith(".json") ? folder : join(folder, PROFILE_FILE);
  let profile: Profile;
  try {
    profile = JSON.parse(readRegularFile(file, MAX_TEXT_BYTES).toString()) as Profile;
  } catch (cause) {
    throw new DepthwattError("SOURCE_UNREADABLE", `${file} is no profile that can be read.`, {
      hint: "Give the folder that 'depthwatt profile -o DIR' wrote.",
      cause,
    });
  }
  if (profile.format === PROFILE_FORMAT) return profile;
  throw new DepthwattError(
    "SOURCE_UNREADABLE",
    `${file}: expected format ${PROFILE_FORMAT}, got ${profile.format}.`,
  );
}

/** Writes a file completely or not at all. @throws DepthwattError OUTPUT_UNWRITABLE */
export async function writeWhole(file: string, text: string): Promise<void> {
  try {
    await writeBeside(file, text);
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write ${file}: ${(cause as Error).message}`, {
      cause,
    });
  }
}

/** Returns the conditions that two parts of one profile must share. */
function conditions(profile: Profile): string {
  const { provenance, seconds, warmUpSeconds } = profile;
  const { version, machine, board, backend, sensor } = provenance;
  const sensorName = "available" in sensor ? "none" : sensor.name;
  return JSON.stringify({ version, machine, board: board.name, backend, sensorName, seconds, warmUpSeconds });
}

/**
 * The profile in `folder` to continue with, or `fresh` where there is none.
 * @throws DepthwattError CONFIG_INVALID when the one in the folder was made under other conditions
 */
export function resumeProfile(folder: string, fresh: Profile): Profile {
  try {
    makeFolder(folder);
  } catch (cause) {
    throw new DepthwattError("OUTPUT_UNWRITABLE", `${folder} cannot be made: ${(cause as Error).message}`, {
      cause,
    });
  }
  if (!existsSync(join(folder, PROFILE_FILE))) return fresh;
  const found = readProfile(folder);
  if (conditions(found) === conditions(fresh)) return found;
  throw new DepthwattError(
    "CONFIG_INVALID",
    `${folder} holds a profile made under other conditions: ${conditions(found)}, now ${conditions(fresh)}.`,
    { hint: "Give another folder with -o, or remove that one." },
  );
}

export function saveProfile(folder: string, profile: Profile): Promise<void> {
  return writeWhole(join(folder, PROFILE_FILE), `${JSON.stringify(profile, null, 1)}\n`);
}

const megahertz = (hertz: number | undefined) => hertz && hertz / 1e6;

const COLUMNS: [name: string, value: (result: PointResult) => unknown][] = [
  ["id", (r) => r.id],
  ["mode", (r) => r.point.mode],
  ["algorithm", (r) => r.point.algorithm],
  ["width", (r) => r.point.width],
  ["height", (r) => r.point.height],
  ["num_disparities", (r) => r.point.numDisparities],
  ["paths", (r) => r.point.paths],
  ["rate_hz", (r) => r.point.rateHz],
  ["half_resolution", (r) => String(r.point.halfResolution ?? false)],
  ["search", (r) => r.point.search ?? "full"],
  ["gpu_limit_mhz", (r) => megahertz(r.point.clockHertz?.gpu)],
  ["emc_limit_mhz", (r) => megahertz(r.point.clockHertz?.emc)],
  ["without", (r) => r.point.without],
  ["repeated", (r) => r.point.repeat && `${r.point.repeat.stage}=${r.point.repeat.times}`],
  ["added", (r) => r.point.added],
  ["added_per_frame", (r) => r.addedPerFrame],
  ["backend", (r) => r.backend],
  ["frames", (r) => r.frames],
  ["seconds", (r) => r.seconds],
  ["fps", (r) => r.fps],
  ["watts", (r) => r.power.available && r.power.watts],
  ["watts_uncertainty_k2", (r) => r.power.available && r.power.wattsUncertainty],
  ["idle_watts", (r) => r.power.available && r.power.idleWatts],
  ["joules_per_frame", (r) => r.power.available && r.power.joulesPerFrame],
  ["joules_per_frame_net", (r) => r.power.available && r.power.joulesPerFrameNet],
  ["fps_per_watt", (r) => r.power.available && r.power.fpsPerWatt],
  ["mde_per_joule", (r) => r.power.available && r.power.mdePerJoule],
  ["valid_percent", (r) => r.validPercent],
  ["changed", (r) => (r.power.available ? r.power.changed.join("; ") : "")],
];

/** Writes RFC 4180; an unknown value is an empty field, never 0. */
export function profileCsv(results: readonly PointResult[]): string {
  const field = (value: unknown): string => {
    if (typeof value === "number") return String(value);
    if (typeof value !== "string") return "";
    return /[",\n]/.test(value) ? `"${value.replace(/"/g, '""')}"` : value;
  };
  const rows = results.map((result) => COLUMNS.map(([, value]) => field(value(result))).join(","));
  return `${[COLUMNS.map(([name]) => name).join(","), ...rows].join("\r\n")}\r\n`;
}
