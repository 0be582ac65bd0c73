// SPDX-License-Identifier: Apache-2.0
// Why a GPU does not compute: every cause by its evidence, and when the search for the GPU ends.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test, vi } from "vitest";
import type { PluginProbe } from "../../../../cuda/index.js";
import { findGpuCause, GPU_CAUSES, GpuRetry, gatherGpuEvidence } from "../../../../edge/gpu/index.js";

const root = mkdtempSync(join(tmpdir(), "gpu-causes-"));
afterAll(() => rmSync(root, { recursive: true }));

const NO_GPU = "CUDA unavailable: the NVIDIA driver is there, but it sees no GPU.";
const probe = (changes: Partial<PluginProbe> = {}): PluginProbe => ({
  installed: true,
  reason: NO_GPU,
  printed: "",
  ...changes,
});
const causeOn = async (machine: string, found: PluginProbe, log = "") =>
  findGpuCause(await gatherGpuEvidence(found, join(root, machine), async () => log))?.code;

describe("causes", () => {
  mkdirSync(join(root, "power-only/dev/nvgpu/igpu0"), { recursive: true });
  writeFileSync(join(root, "power-only/dev/nvgpu/igpu0/power"), "");
  mkdirSync(join(root, "whole/dev/nvgpu/igpu0"), { recursive: true });
  writeFileSync(join(root, "whole/dev/nvgpu/igpu0/ctrl"), "");

  test.each([
    [
      "the kernel's log",
      "whole",
      probe(),
      "nvgpu: 17000000.gpu  ACR bootstrap failed",
      "GPU_FIRMWARE_FAILED",
    ],
    ["only the node `power`", "power-only", probe(), "", "GPU_NODES_MISSING"],
    [
      "NvMap without permission",
      "whole",
      probe({ printed: "NvRmMemInitNvmap failed" }),
      "",
      "GPU_PERMISSION",
    ],
    [
      "NvMap without memory",
      "whole",
      probe({ printed: "NvMapMemAllocInternalTagged: error 12" }),
      "",
      "GPU_MEMORY",
    ],
    [
      "CUDA without memory",
      "whole",
      probe({ reason: "CUDA: device memory: out of memory" }),
      "",
      "GPU_MEMORY",
    ],
    ["a crash", "whole", probe({ signal: "SIGSEGV" }), "", "GPU_LIBRARY_CRASHED"],
    [
      "another ABI",
      "whole",
      probe({ reason: "the plugin speaks ABI version 1" }),
      "",
      "GPU_PLUGIN_UNSUITABLE",
    ],
    ["nothing else", "whole", probe(), "", "GPU_ABSENT"],
    ["a GPU that works", "power-only", probe({ reason: "" }), "ACR bootstrap failed", undefined],
  ])("%s", async (_, machine, found, log, code) => {
    expect(await causeOn(machine, found, log)).toBe(code);
  });

  test("the page of CUDA has each code with its hint", () => {
    const page = readFileSync("docs/guides/cuda.md", "utf8").replace(/\s+/g, " ");
    for (const { code, hint } of GPU_CAUSES) expect(page).toContain(`| \`${code}\` | ${hint} |`);
  });
});

describe("the search for a GPU", () => {
  const search = async (found: PluginProbe, backend = "auto") => {
    vi.useFakeTimers();
    const missing: string[] = [];
    let looks = 0;
    const retry = new GpuRetry({
      engine: { info: { backend: "cpu" }, options: { backend }, retryDevice: async () => {} } as never,
      events: { onMissing: (_, code) => missing.push(code), onFound: () => missing.push("found") },
      probe: async () => {
        looks++;
        return found;
      },
      gather: async (result) => ({ ...result, kernelLog: "", nodes: undefined }),
    });
    try {
      await retry.begin();
      await vi.advanceTimersByTimeAsync(3600_000);
    } finally {
      retry.close();
      vi.useRealTimers();
    }
    return { looks, missing: [...new Set(missing)] };
  };

  test("ends after the first minutes", async () => {
    const { looks, missing } = await search(probe());
    expect(looks).toBeGreaterThan(15);
    expect(looks).toBeLessThan(30);
    expect(missing).toEqual(["GPU_ABSENT"]);
  });

  test("ends at once where waiting does not help, where there is no plugin, and where the user named a backend", async () => {
    expect(await search(probe({ printed: "Permission denied" }))).toEqual({
      looks: 1,
      missing: ["GPU_PERMISSION"],
    });
    expect(await search(probe({ installed: false }))).toEqual({ looks: 1, missing: [] });
    expect(await search(probe(), "cpu")).toEqual({ looks: 0, missing: [] });
  });

  test("ends when the GPU computes", async () => {
    expect(await search(probe({ reason: "" }))).toEqual({ looks: 1, missing: ["found"] });
  });
});
