// SPDX-License-Identifier: Apache-2.0
// The first contact with a GPU, a backend that takes two frames, the sentences of the probe and `npm run build:cuda`, without a GPU.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chooseArchitectures, readResources } from "../../scripts/build-cuda.mjs";
import { needs } from "../doubles/needs.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-plugin-"));
afterAll(() => rmSync(folder, { recursive: true }));

function compiled(name: string, source: string, ...options: string[]): string {
  const path = join(folder, name);
  execFileSync("g++", ["-std=c++17", "-o", path, ...options, join("test/doubles/native", source)]);
  return path;
}

needs("toolchain").suite("the first contact with a GPU", () => {
  let plugin: string;
  beforeAll(() => {
    plugin = compiled("late.so", "late_plugin.cc", "-shared", "-fPIC");
  });
  const environment = () => ({
    ...process.env,
    DEPTHWATT_CUDA_PLUGIN: plugin,
    LATE_PLUGIN: join(folder, "mood"),
  });
  const late = (...words: string[]) => {
    const run = spawnSync(process.execPath, ["test/doubles/late-gpu.mjs", ...words], {
      encoding: "utf8",
      env: environment(),
      timeout: 60_000,
    });
    expect(run.status, run.stderr).toBe(0);
    return JSON.parse(run.stdout.trim().split("\n").at(-1)!);
  };

  test("a GPU that answers late takes over between two frames; one that lacks memory later changes nothing", () => {
    const { states, backends, notices, drops, backend } = late("absent", "ready");
    expect(states.map(({ state, code }: { state: string; code?: string }) => [state, code])).toEqual([
      ["online", undefined],
      ["degraded", "GPU_ABSENT"],
      ["online", undefined],
    ]);
    expect(states[1].reason).toContain("it sees no GPU. Cause: the plugin is installed");
    expect(backends).toEqual(["cpu", "cuda"]);
    expect(drops).toEqual({});
    expect(notices.at(-1)).toMatch(
      /^The GPU refused another engine, so the one in use continues: .*out of memory/,
    );
    expect(backend).toBe("cuda");
  });

  test.each([
    ["crash", "GPU_LIBRARY_CRASHED", "crashed (SIGSEGV)"],
    ["nvmap", "GPU_PERMISSION", "doctor --service"],
    ["memory", "GPU_MEMORY", "contiguous memory"],
  ])("%s: the CPU computes, the state is degraded with %s", (mood, code, words) => {
    const { states, backends } = late(mood);
    expect(states[1]).toMatchObject({ state: "degraded", code, reason: expect.stringContaining(words) });
    expect(backends).toEqual(["cpu"]);
  });

  test("the doctor survives a library that crashes, and names the module", () => {
    writeFileSync(join(folder, "mood"), "crash");
    const { stdout, signal } = spawnSync(process.execPath, ["dist/edge/cli/main.js", "doctor", "--json"], {
      encoding: "utf8",
      env: environment(),
    });
    expect(signal).toBeNull();
    const cuda = JSON.parse(stdout).findings.find(({ name }: { name: string }) => name === "cuda");
    expect(cuda).toMatchObject({
      text: expect.stringContaining("crashed (SIGSEGV)"),
      hint: expect.stringContaining("host1x_fence"),
      facts: { code: "GPU_LIBRARY_CRASHED" },
    });
  });
});

needs("toolchain").suite("a backend that takes two frames at once", () => {
  test("gets them at two separate places, for every number of the frame", { timeout: 120_000 }, () => {
    const plugin = compiled("two-frames.so", "two_frames_plugin.cc", "-shared", "-fPIC", "-pthread");
    const run = spawnSync(process.execPath, ["test/doubles/two-frames.mjs"], {
      encoding: "utf8",
      env: { ...process.env, DEPTHWATT_CUDA_PLUGIN: plugin },
    });
    expect(run.status, run.stderr).toBe(0);
    const { framesInFlight, places } = JSON.parse(run.stdout) as { framesInFlight: number; places: number[] };
    expect(framesInFlight).toBe(2);
    // Which thread takes the first of two frames is chance; that both places serve each two is not.
    expect(places).toHaveLength(8);
    for (let pair = 0; pair < 8; pair += 2) expect(places.slice(pair, pair + 2).sort()).toEqual([0, 1]);
  });
});

needs("toolchain").suite("what the probe says", () => {
  let program: string;
  beforeAll(() => {
    program = compiled("probe", "probe_sentences_main.cc");
  });
  const says = (...findings: (number | string)[]) =>
    execFileSync(program, findings.map(String), { encoding: "utf8" }).trim();

  test.each([
    ["no driver", [0, 13000, 0, 0, 0], "there is no NVIDIA driver on this machine."],
    ["an old driver", [11040, 13000, 0, 0, 0], "serves CUDA 11.4, this build needs 13.0; update the driver."],
    ["no device", [13000, 13000, 1, 0, 0], "is there, but it sees no GPU."],
    [
      "another architecture",
      [13000, 13000, 1, 1, 0],
      "Orin is of architecture 87, this build has code for 90",
    ],
    [
      "a driver that refuses",
      [13000, 13000, 1, 0, 0, "out of memory"],
      "the driver refuses (out of memory).",
    ],
  ])("%s", (_, findings, sentence) => {
    expect(says(...findings)).toContain(sentence);
    expect(says(...findings)).toMatch(/^CUDA unavailable: /);
  });

  test("nothing where everything is there", () => expect(says(13000, 13000, 1, 1, 1)).toBe("ok"));
});

describe("build:cuda", () => {
  const toolkit = ["75", "87", "90", "110"];
  test("takes the architectures asked for, else the board's, else the GPU's, else all it knows", () => {
    const everything = { asked: "53 62", board: ["87"], gpu: "90", toolkit };
    expect(chooseArchitectures(everything)).toEqual(["53", "62"]);
    expect(chooseArchitectures({ ...everything, asked: undefined })).toEqual(["87"]);
    expect(chooseArchitectures({ ...everything, asked: "", board: undefined })).toEqual(["90"]);
    expect(chooseArchitectures({ asked: undefined, board: undefined, gpu: undefined, toolkit })).toEqual([
      "87",
      "90",
      "110",
    ]);
  });

  test("reads registers and spills out of what the assembler says", () => {
    const log = [
      "ptxas info    : Compiling entry function '_Z1kv' for 'sm_87'",
      "    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads",
      "ptxas info    : Used 40 registers, used 1 barriers, 574 bytes smem",
    ].join("\n");
    expect(readResources(log)).toEqual([
      { kernel: "_Z1kv", architecture: 87, stackBytes: 8, spillBytes: 16, registers: 40, sharedBytes: 574 },
    ]);
  });

  test("without nvcc it reports it and that is no error", () => {
    const run = spawnSync(process.execPath, ["scripts/build-cuda.mjs"], {
      encoding: "utf8",
      env: { ...process.env, NVCC: "/nonexistent/nvcc" },
    });
    expect(run.status).toBe(0);
    expect(run.stderr).toContain("nvcc is not there");
  });
});
