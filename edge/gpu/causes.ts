// SPDX-License-Identifier: Apache-2.0
// Recognises why a GPU does not compute, by what NVIDIA's library, the kernel and /dev show, and says what to do.
import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { PluginProbe } from "../../cuda/index.js";

export interface GpuEvidence extends Pick<PluginProbe, "reason" | "printed" | "signal"> {
  /** The kernel's log; "" if this user may not read it. */
  kernelLog: string;
  /** Names in /dev/nvgpu/igpu0; undefined if there is no such folder. */
  nodes: readonly string[] | undefined;
}

export interface GpuCause {
  /** Published with the state. */
  code: string;
  /** The cause, one clause. */
  text: string;
  hint: string;
  /** Worth another look later. */
  retries: boolean;
  fits(evidence: GpuEvidence): boolean;
}

const cause = (
  code: string,
  retries: boolean,
  fits: GpuCause["fits"],
  text: string,
  hint: string,
): GpuCause => ({ code, retries, fits, text, hint });

/** The first that fits is the cause: the more telling ones come first. */
export const GPU_CAUSES: readonly GpuCause[] = [
  cause(
    "GPU_FIRMWARE_FAILED",
    false,
    ({ kernelLog, printed }) => /ACR bootstrap failed/.test(kernelLog + printed),
    "the GPU's firmware did not start",
    "Disconnect the board's power for some seconds: a reboot does not reset the GPU.",
  ),
  cause(
    "GPU_NODES_MISSING",
    true,
    ({ nodes }) => nodes?.every((name) => name === "power") ?? false,
    "/dev/nvgpu/igpu0 has no nodes of the GPU",
    "Look at 'sudo dmesg | grep -i nvgpu'. If it does not change within minutes, disconnect the board's power.",
  ),
  cause(
    "GPU_PERMISSION",
    false,
    ({ printed, reason }) =>
      /NvRmMemInitNvmap failed|Permission denied|Operation not permitted/i.test(printed + reason),
    "this user or this service may not open the GPU's nodes",
    "Run 'depthwatt doctor --service': it names the missing group or device rule.",
  ),
  cause(
    "GPU_MEMORY",
    true,
    ({ printed, reason, kernelLog }) =>
      /NvMapMemAlloc|NvMapMemHandleAlloc/.test(printed + reason + kernelLog) || /out of memory/i.test(reason),
    "the board has no contiguous memory left for the GPU",
    "Restart the other users of the GPU, or reboot. A smaller image or fewer disparities need less.",
  ),
  cause(
    "GPU_LIBRARY_CRASHED",
    true,
    ({ signal }) => signal !== undefined,
    "NVIDIA's library crashed or did not answer",
    "On JetPack 6 and 7 load its module: 'sudo modprobe host1x_fence'. Then look at 'sudo dmesg'.",
  ),
  cause(
    "GPU_PLUGIN_UNSUITABLE",
    false,
    ({ reason }) => /is built for|ABI version|not a depthwatt plugin|has code for|does not load/.test(reason),
    "the plugin does not fit this program or this machine",
    "Install or build the plugin of this version for this board.",
  ),
  cause(
    "GPU_ABSENT",
    true,
    ({ reason }) => reason !== "",
    "the plugin is installed, but it finds no GPU",
    "Look at 'sudo dmesg | grep -i -e nvgpu -e nvidia'. A driver that is still loading is found later.",
  ),
];

/** Returns undefined where the GPU can be used. */
export function findGpuCause(evidence: GpuEvidence): GpuCause | undefined {
  return evidence.reason === "" ? undefined : GPU_CAUSES.find(({ fits }) => fits(evidence));
}

/** @param root what "/" means; another folder in tests */
export async function gatherGpuEvidence(
  { reason, printed, signal }: PluginProbe,
  root = "/",
  readKernelLog = dmesg,
): Promise<GpuEvidence> {
  return {
    reason,
    printed,
    ...(signal !== undefined && { signal }),
    kernelLog: await readKernelLog(),
    nodes: names(join(root, "dev/nvgpu/igpu0")),
  };
}

const dmesg = (): Promise<string> =>
  new Promise((resolve) =>
    execFile("dmesg", { timeout: 2000, maxBuffer: 8 << 20 }, (_, stdout) => resolve(stdout ?? "")),
  );

function names(folder: string): string[] | undefined {
  try {
    return readdirSync(folder);
  } catch {
    return undefined;
  }
}
