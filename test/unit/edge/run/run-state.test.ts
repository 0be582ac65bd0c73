// SPDX-License-Identifier: Apache-2.0
// The state of a run: which of several problems is published, when it is online again, and when nothing is published.
import { expect, test } from "vitest";
import type { BackendName } from "../../../../cuda/index.js";
import { loadConfig } from "../../../../edge/config/index.js";
import { matchParameters } from "../../../../edge/pipeline/parameters.js";
import { cameraInfo, clocksDiffer, runtimeInfo } from "../../../../edge/run/info.js";
import { RunState } from "../../../../edge/run/run-state.js";

const MOVED = { text: "the cameras have moved", code: "RIG_MOVED" } as const;

function begun() {
  const conditions = {
    backend: "cuda" as BackendName,
    outputProblem: undefined as string | undefined,
    rigProblem: undefined as typeof MOVED | undefined,
  };
  const published: string[] = [];
  const state = new RunState(
    {
      backend: () => conditions.backend,
      outputProblem: () => conditions.outputProblem,
      rigProblem: () => conditions.rigProblem,
    },
    (name, reason, code) => published.push([name, reason, code].filter(Boolean).join(" | ")),
  );
  state.begin("synthetic 640x480");
  return { state, conditions, newest: () => published.at(-1), published };
}

test("a run is online from its beginning to its end, and silent before and after", () => {
  const published: string[] = [];
  const conditions = { backend: () => "cpu" as const, outputProblem: () => "full", rigProblem: () => MOVED };
  const state = new RunState(conditions, (name, reason) => published.push(`${name} | ${reason}`));
  state.update("well");
  state.setSourceProblem("no camera");
  expect(published).toEqual([]);
  state.begin("two cameras");
  expect(published).toEqual(["online | two cameras"]);
  state.end();
  state.update("well");
  expect(published).toHaveLength(1);
});

test("a problem of the source is published until the source has recovered", () => {
  const { state, newest } = begun();
  state.setSourceProblem("camera unplugged");
  expect(newest()).toBe("degraded | camera unplugged");
  state.update("all outputs work again");
  expect(newest()).toBe("degraded | camera unplugged");
  state.setSourceProblem(undefined);
  expect(newest()).toBe("online | the source delivers again");
});

test("of several problems the source's comes first, then the backend's, an output's and the rig's", () => {
  const { state, conditions, newest } = begun();
  conditions.rigProblem = MOVED;
  state.update("well");
  expect(newest()).toBe("degraded | the cameras have moved | RIG_MOVED");
  conditions.outputProblem = "output mcap: the disk is full";
  state.update("well");
  expect(newest()).toBe("degraded | output mcap: the disk is full");
  conditions.backend = "cpu";
  state.setBackendLoss("CUDA failed");
  state.update("CUDA failed");
  expect(newest()).toBe("degraded | CUDA failed");
  state.setSourceProblem("camera unplugged");
  expect(newest()).toBe("degraded | camera unplugged");
  state.setSourceProblem(undefined);
  expect(newest()).toBe("degraded | CUDA failed");
});

test("a state has the code of the problem that it names, and none where that has none", () => {
  const { state, conditions, newest } = begun();
  conditions.rigProblem = MOVED;
  conditions.backend = "cpu";
  state.setBackendLoss("CUDA failed", "GPU_LOST");
  state.update("well");
  expect(newest()).toBe("degraded | CUDA failed | GPU_LOST");
  state.setBackendLoss("CUDA is slow");
  state.update("well");
  expect(newest()).toBe("degraded | CUDA is slow");
  state.setBackendLoss("CUDA failed", "GPU_LOST");
  state.setSourceProblem("camera unplugged", "DEVICE_UNAVAILABLE");
  expect(newest()).toBe("degraded | camera unplugged | DEVICE_UNAVAILABLE");
  state.setSourceProblem("too dark");
  expect(newest()).toBe("degraded | too dark");
});

test("a lost backend degrades the run only where the CPU computes now, and is reported once", () => {
  const { state, conditions, newest } = begun();
  expect(state.setBackendLoss("CUDA failed")).toBe(true);
  expect(state.setBackendLoss("CUDA failed")).toBe(false);
  state.update("CUDA failed");
  expect(newest()).toBe("online | CUDA failed");
  conditions.backend = "cpu";
  state.update("well");
  expect(newest()).toBe("degraded | CUDA failed");
  expect(state.setBackendLoss("CUDA failed again")).toBe(true);
});

test("the same loss is reported again once a frame was computed on CUDA, not while the CPU computes", () => {
  const { state, conditions } = begun();
  expect(state.setBackendLoss("CUDA failed")).toBe(true);
  conditions.backend = "cpu";
  state.backendWorks();
  expect(state.setBackendLoss("CUDA failed")).toBe(false);
  conditions.backend = "cuda";
  state.backendWorks();
  expect(state.setBackendLoss("CUDA failed")).toBe(true);
  expect(state.setBackendLoss("CUDA failed")).toBe(false);
});

const CLOCK = { origin: "tsc", bus: "0", source: "bridge", offsetMs: 10, jumps: 1 };
test.each<[string, Record<string, typeof CLOCK>, boolean]>([
  ["the same", { left: { ...CLOCK } }, false],
  ["less than a millisecond away", { left: { ...CLOCK, offsetMs: 10.99 } }, false],
  ["a millisecond later", { left: { ...CLOCK, offsetMs: 11 } }, true],
  ["a millisecond earlier", { left: { ...CLOCK, offsetMs: 9 } }, true],
  ["of another origin", { left: { ...CLOCK, origin: "monotonic" } }, true],
  ["known in another way", { left: { ...CLOCK, source: "estimate" } }, true],
  ["after a jump", { left: { ...CLOCK, jumps: 2 } }, true],
  ["gone", {}, true],
  ["joined by another", { left: CLOCK, right: CLOCK }, true],
])("camera_info with a capture clock that is %s is published again: %#", (_, found, differs) => {
  expect([clocksDiffer({ left: CLOCK }, found), clocksDiffer(found, { left: CLOCK })]).toEqual([
    differs,
    differs,
  ]);
});

test("camera_info has capture clocks once a camera's images came", () => {
  const input = { geometry: { cameraInfo: { model: "pinhole" } } } as never;
  const info = (clocks?: Record<string, typeof CLOCK>) =>
    cameraInfo(input, clocks === undefined ? {} : { captureClocks: () => clocks });
  expect([info(), info({})]).toEqual([{ model: "pinhole" }, { model: "pinhole" }]);
  expect(info({ left: CLOCK })).toEqual({ model: "pinhole", captureClocks: { left: CLOCK } });
  const uncalibrated = { geometry: { cameraInfo: undefined } } as never;
  expect(cameraInfo(uncalibrated, { captureClocks: () => ({ left: CLOCK }) })).toBeUndefined();
});

test("the description of a run names its board, and why it does not know a cost of memory or a format", () => {
  const { config } = loadConfig({ set: ["board=none"], environment: {} });
  const described = (board: string | undefined, setting: string, memory: object, source: object = {}) =>
    runtimeInfo(
      { ...config, board: setting } as never,
      {
        board: { name: board },
        source: { description: { title: "two cameras" }, ...source },
        input: { geometry: { width: 160, height: 96 } },
        engine: { info: { memory }, match: matchParameters(config.match), options: {} },
        health: { correction: "none", drift: "unknown" },
      } as never,
    );
  const unknown = (reason: string) => ({ available: false, reason });
  expect(described(undefined, "none", { images: "in-place", results: "in-place" })).toMatchObject({
    board: "none",
    region: null,
    memory: {
      images: "in-place",
      imagesMicroseconds: unknown("the CPU reads images where they are"),
      resultsMicroseconds: unknown("the CPU reads images where they are"),
    },
    captureFormat: unknown("source.v4l2.format auto chose no format"),
    captureMemory: {},
    captureClocks: {},
  });
  expect(described(undefined, "auto", { images: "mapped", results: "copied" })).toMatchObject({
    board: "unknown",
    memory: {
      imagesMicroseconds: unknown("too few timed frames"),
      resultsMicroseconds: unknown("too few timed frames"),
    },
  });
  const timed = { images: "mapped", imagesMicroseconds: 30, results: "copied", resultsMicroseconds: 0 };
  const source = {
    description: { title: "two cameras", formatChoice: { format: "GREY" } },
    captureMemory: () => ({ left: "dmabuf" }),
    captureClocks: () => ({ left: CLOCK }),
  };
  expect(described("orin-nano", "none", timed, source)).toMatchObject({
    board: "orin-nano",
    source: "two cameras",
    memory: timed,
    captureFormat: { format: "GREY" },
    captureMemory: { left: "dmabuf" },
    captureClocks: { left: CLOCK },
  });
});
