// SPDX-License-Identifier: Apache-2.0
// Checks the program: Node, the addon, instruction sets, the CUDA plugin, settings, the board.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { loadImageLibrary } from "../../../camera/index.js";
import { addonPath, hasCode, isDepthwattError, packageRoot } from "../../../core/index.js";
import { probePlugin } from "../../../cuda/index.js";
import { type BoardEvidence, gatherEvidence } from "../../boards/index.js";
import { type ConfigOptions, loadFlagConfig } from "../../cli/options.js";
import type { LoadedConfig } from "../../config/index.js";
import { loadNative, type NativeAddon } from "../../contracts/native.js";
import { findGpuCause, type GpuCause, gatherGpuEvidence } from "../../gpu/index.js";
import type { Finding } from "./finding.js";
import { settingsCommands } from "./fix-commands.js";

/** The first Node with the Node-API and the JavaScript that we use; package.json's "engines" says the same. */
const OLDEST_NODE = [20, 17] as const;

export function lookAtNode(version = process.versions.node): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const enough = major > OLDEST_NODE[0] || (major === OLDEST_NODE[0] && minor >= OLDEST_NODE[1]);
  const facts = { version, platform: process.platform, architecture: process.arch };
  const text = `${version} on ${process.platform} ${process.arch}`;
  if (enough) return { name: "node", state: "ok", text, facts };
  const hint = `Install Node ${OLDEST_NODE.join(".")} or newer; JetPack 4 needs a container for it (its glibc is too old).`;
  return { name: "node", state: "bad", text, hint, facts, exitCode: 4 };
}

export function lookAtSettings(options: ConfigOptions): {
  finding: Finding;
  loaded: LoadedConfig | undefined;
} {
  try {
    const loaded = loadFlagConfig(options);
    const given = [...loaded.origins.values()].filter((origin) => origin.kind !== "default");
    const places = [...new Set(given.map((origin) => origin.name))];
    const text = places.length === 0 ? "all defaults" : `${given.length} given, by ${places.join(", ")}`;
    return {
      finding: { name: "settings", state: "ok", text, facts: { given: given.length, places } },
      loaded,
    };
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    const finding: Finding = {
      name: "settings",
      state: "bad",
      text: error.message,
      hint: error.hint,
      commands: settingsCommands(error),
      facts: { code: error.code },
      exitCode: error.exitCode,
    };
    return { finding, loaded: undefined };
  }
}

export function lookAtBoard({ board }: LoadedConfig): Finding {
  const { name, title, reason, file } = board;
  return {
    name: "board",
    state: "ok",
    text: `${title} (${reason})`,
    facts: { board: name ?? null, reason, file: file ?? null },
  };
}

/** Compilers where one is missing, then the build. A Debian package has no sources: it is installed again. */
export function addonCommands(root = "/", program = packageRoot()): string[] {
  const again = "sudo apt-get install --reinstall depthwatt";
  if (!existsSync(join(program, "scripts/build-native.mjs"))) return [again];
  const missing = ["g++", "make", "python3"].filter((name) => !existsSync(join(root, "usr/bin", name)));
  const install = missing.length === 0 ? [] : [`sudo apt-get install ${missing.join(" ")}`];
  return [...install, `node '${join(program, "scripts/build-native.mjs")}'`];
}

/** The plugin of a Jetson: the toolkit where there is none, then the build. */
export function cudaCommands(root = "/", program = packageRoot()): string[] | undefined {
  if (!existsSync(join(program, "scripts/build-cuda.mjs"))) return undefined;
  const toolkit = existsSync(join(root, "usr/local/cuda/bin/nvcc"));
  const build = `PATH=/usr/local/cuda/bin:$PATH node '${join(program, "scripts/build-cuda.mjs")}'`;
  return toolkit ? [build] : ["sudo apt-get install nvidia-jetpack", build];
}

export function lookAtAddon(): { finding: Finding; native: NativeAddon | undefined } {
  try {
    const native = loadNative();
    const text = addonPath().includes("/prebuilds/") ? "prebuilt, loads" : "built and loads";
    return { finding: { name: "addon", state: "ok", text }, native };
  } catch (error) {
    if (!isDepthwattError(error) && !hasCode(error, "ADDON_MISSING")) throw error;
    const { message, hint = "Run 'npm run build'; it needs g++ and make." } = error as Error & {
      hint?: string;
    };
    const finding: Finding = { name: "addon", state: "bad", text: message, hint, exitCode: 4 };
    return { finding: { ...finding, commands: addonCommands() }, native: undefined };
  }
}

/** The library that PNG and JPEG are read by. */
export async function lookAtImages(): Promise<Finding> {
  try {
    const { versions } = await loadImageLibrary();
    return {
      name: "images",
      state: "ok",
      text: `PNG and JPEG by libvips ${versions.vips}`,
      facts: { versions },
    };
  } catch (error) {
    if (!isDepthwattError(error)) throw error;
    const { message, hint, exitCode } = error;
    return { name: "images", state: "bad", text: message, hint, exitCode };
  }
}

export function lookAtCpu(native: NativeAddon): Finding {
  const { available, best } = native.cpuFeatures();
  return {
    name: "cpu",
    state: "ok",
    text: `${best} is used; there are ${available.join(", ")}`,
    facts: { best, available },
  };
}

export const isJetson = ({ compatible }: BoardEvidence): boolean =>
  (compatible ?? []).some((entry) => entry.startsWith("nvidia,tegra"));

const BUILD_ON_JETSON =
  "This Jetson has a GPU: build the plugin with 'PATH=/usr/local/cuda/bin:$PATH npm run build:cuda'; " +
  "nvcc comes with JetPack (sudo apt-get install nvidia-jetpack).";

/** Returns the hint that puts a Jetson's GPU to use; a Debian package has no sources to build from. */
function gpuHint({ l4t }: BoardEvidence, program = packageRoot()): string {
  return existsSync(join(program, "scripts/build-cuda.mjs"))
    ? BUILD_ON_JETSON
    : `This Jetson has a GPU: install the package depthwatt-cuda-${l4t?.family ?? "<JetPack>"} of this version.`;
}

/** @param evidence distinguishes a Jetson: there the hint describes how to use its GPU */
export function lookAtCuda(
  native: Pick<NativeAddon, "cudaUnavailable">,
  wanted: string,
  evidence: BoardEvidence = gatherEvidence(),
  cause?: GpuCause,
): Finding {
  const reason = native.cudaUnavailable();
  if (reason === "") {
    const text = "the plugin loads and finds a GPU";
    return { name: "cuda", state: "ok", text, facts: { available: true } };
  }
  const facts = { available: false, reason, ...(cause && { code: cause.code }) };
  const commands = isJetson(evidence) && cause === undefined ? cudaCommands() : undefined;
  const fix = commands && { commands };
  if (wanted === "cuda") {
    const otherwise = "'--backend auto' computes the same bits on the CPU.";
    const fixHint = cause?.hint ?? (isJetson(evidence) ? gpuHint(evidence) : "Fix that.");
    const hint = `${fixHint} Or: ${otherwise}`;
    return { name: "cuda", state: "bad", text: reason, hint, ...fix, facts, exitCode: 4 };
  }
  const hint =
    cause?.hint ??
    (isJetson(evidence)
      ? gpuHint(evidence)
      : "No NVIDIA GPU? Nothing to do: the CPU gives identical results.");
  return { name: "cuda", state: "absent", text: reason, hint, ...fix, facts };
}

/** Asks for the GPU in a child process, because NVIDIA's library may crash. */
export async function lookAtGpu(native: NativeAddon, wanted: string): Promise<Finding> {
  const probe = probePlugin();
  if (!probe.installed) return lookAtCuda(native, wanted);
  const cause = findGpuCause(await gatherGpuEvidence(probe));
  return lookAtCuda({ cudaUnavailable: () => probe.reason }, wanted, gatherEvidence(), cause);
}
