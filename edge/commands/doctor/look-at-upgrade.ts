// SPDX-License-Identifier: Apache-2.0
// Checks what an upgrade of the program, the board or the cameras may separate: plugin, driver and calibration.
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { addonPath, isDepthwattError } from "../../../core/index.js";
import { type BoardEvidence, JETPACK_FAMILIES, known } from "../../boards/index.js";
import type { Config, LoadedConfig } from "../../config/index.js";
import { VERSION } from "../../contracts/version.js";
import { configuredCalibration } from "../../pipeline/calibration.js";
import type { Finding } from "./finding.js";
import { cudaCommands } from "./look-at-program.js";

/** The file next to the plugin that its build writes. */
export interface PluginFacts {
  version: string;
  /** The toolkit's version, such as "12.6"; null where it is not known. */
  nvcc: string | null;
  architectures: readonly string[];
}

function readPlugin(): PluginFacts | undefined {
  try {
    const file = join(dirname(addonPath()), "libdepthwatt_cuda.json");
    return JSON.parse(readFileSync(file, "utf8")) as PluginFacts;
  } catch {
    return undefined;
  }
}

/** Lists what does not fit together, one sentence each. */
function mismatches(
  { version, nvcc, architectures }: PluginFacts,
  { l4t }: BoardEvidence,
  boards: readonly string[],
): string[] {
  const found: string[] = [];
  if (version !== VERSION) found.push(`the plugin is of depthwatt ${version}, this program is ${VERSION}`);
  const { cuda: toolkit } = JETPACK_FAMILIES[l4t?.family ?? ""] ?? {};
  const release = `L4T ${l4t?.version}`;
  // Minor versions of a toolkit run on every driver of its major version from CUDA 11 on.
  if (nvcc !== null && toolkit !== undefined && Number.parseInt(nvcc, 10) > toolkit)
    found.push(`the plugin needs CUDA ${nvcc}, the driver of ${release} serves ${l4t?.cuda}`);
  else if (nvcc !== null && toolkit !== undefined && Number.parseInt(nvcc, 10) < toolkit)
    found.push(
      `the plugin was built for an earlier JetPack (CUDA ${nvcc}), this is ${release} (CUDA ${l4t?.cuda})`,
    );
  const missing = boards.filter((one) => !architectures.includes(one));
  if (missing.length > 0)
    found.push(
      `the plugin has code for sm_${architectures.join(", sm_")}, this board is sm_${missing.join(", sm_")}`,
    );
  return found;
}

/**
 * Compares the plugin with the program, the driver of this L4T and the board's GPU. Undefined without a plugin.
 * @param wanted engine.backend
 */
export function lookAtPlugin(
  wanted: string,
  { board }: Pick<LoadedConfig, "board">,
  evidence: BoardEvidence,
  plugin: PluginFacts | undefined = readPlugin(),
): Finding | undefined {
  if (plugin === undefined) return undefined;
  const { facts } = board;
  const boards = (facts && known(facts.gpu.nvccArchitectures)) ?? [];
  const sm = boards.filter((one) => one !== "native").map(String);
  const found = mismatches(plugin, evidence, sm);
  const { l4t } = evidence;
  const common = { name: "plugin", facts: { plugin, l4t: l4t ?? null, mismatches: found } };
  const of = plugin.nvcc === null ? "" : `, CUDA ${plugin.nvcc}`;
  if (found.length === 0)
    return {
      ...common,
      state: "ok",
      text: `of this version${of}, for sm_${plugin.architectures.join(", sm_")}`,
    };
  const commands = cudaCommands();
  const hint =
    commands === undefined
      ? `Install the package depthwatt-cuda-${l4t?.family ?? "<JetPack>"} of version ${VERSION}.`
      : "Build the plugin again on this board: npm run build:cuda.";
  const bad = wanted === "cuda" ? { state: "bad" as const, exitCode: 4 } : { state: "absent" as const };
  return { ...common, ...bad, text: found.join("; "), hint, ...(commands && { commands }) };
}

/** Size of one camera's image as the settings ask for it; undefined: the cameras decide. */
function imageSize({ source }: Config): { width: number; height: number } | undefined {
  if (source.kind !== "v4l2" && source.kind !== "command") return undefined;
  const { width, height } = source[source.kind];
  return width !== undefined && height !== undefined ? { width, height } : undefined;
}

/** Reads the calibration that the settings name. Undefined where they name none. */
export async function lookAtCalibration(config: Config): Promise<Finding | undefined> {
  const { file } = config.calibration;
  if (file === undefined) return undefined;
  const size = imageSize(config);
  try {
    // Without a size only reading can be checked.
    const loaded = await configuredCalibration(config, size ?? { width: 0, height: 0 });
    const fits = size === undefined ? "" : ` for ${size.width}x${size.height}`;
    const details = loaded?.warnings ?? [];
    return { name: "calibration", state: "ok", text: `${file}${fits}`, details, facts: { file } };
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    if (size === undefined && error.code === "CALIBRATION_SIZE_MISMATCH")
      return { name: "calibration", state: "ok", text: `${file} can be read`, facts: { file } };
    const { message, hint, exitCode } = error;
    return { name: "calibration", state: "bad", text: message, hint, facts: { file }, exitCode };
  }
}
