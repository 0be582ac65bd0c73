// SPDX-License-Identifier: Apache-2.0
// The figures of depthwatt bench agree with each other, and name the instruction set that made them.
import { Command } from "commander";
import { afterEach, describe, expect, test, vi } from "vitest";
import { benchLines, define } from "../../../../../edge/commands/bench/command.js";
import { compareWithOpencv } from "../../../../../edge/commands/bench/compare.js";
import { type BenchFigures, timeMatcher } from "../../../../../edge/commands/bench/index.js";
import { loadConfig } from "../../../../../edge/config/index.js";

const configWith = (...set: string[]) => loadConfig({ set: ["engine.backend=cpu", ...set] }).config;

describe("depthwatt bench", () => {
  afterEach(() => {
    delete process.env.DEPTHWATT_ISA;
  });

  test("every figure is there, consistent with the others, and none is 0", async () => {
    const config = configWith("match.numDisparities=48", "match.sgm.paths=8", "engine.threads=2");
    const figures = await timeMatcher({ config, width: 160, height: 120, frames: 7 });
    const { medianMs, minMs, p95Ms, fps, megaDisparitiesPerSecond, peakResidentMb, stages } = figures;
    expect(figures.changedSettings).toEqual({
      "engine.backend": "cpu",
      "engine.threads": 2,
      "match.numDisparities": 48,
      "match.sgm.paths": 8,
    });
    expect(figures.peers).toEqual([]);
    expect(figures).toMatchObject({
      width: 160,
      height: 120,
      numDisparities: 48,
      parameters: { paths: 8 },
      threads: 2,
      frames: 7,
    });
    expect(minMs).toBeGreaterThan(0);
    expect(medianMs).toBeGreaterThanOrEqual(minMs);
    expect(p95Ms).toBeGreaterThanOrEqual(medianMs);
    expect(fps * medianMs).toBeCloseTo(1000, 6);
    expect(megaDisparitiesPerSecond).toBeCloseTo((160 * 120 * 48 * fps) / 1e6, 6);
    expect(peakResidentMb).toBeGreaterThan(20);
    expect(stages.match).toBeGreaterThan(0);
    expect(stages.match).toBeLessThanOrEqual(p95Ms);
    if (typeof figures.watts !== "number") expect(figures.watts.reason).not.toBe("");
    if (figures.measured === null) expect(figures.conditions).toBeNull();
    else expect(figures.conditions).toHaveProperty("clocksLocked");
  });

  test("a forced instruction set is used", async () => {
    process.env.DEPTHWATT_ISA = "scalar";
    const figures = await timeMatcher({ config: configWith(), width: 64, height: 48, frames: 1 });
    expect(figures.instructionSet).toBe("scalar");
    process.env.DEPTHWATT_ISA = "sse9";
    await expect(
      timeMatcher({ config: configWith(), width: 64, height: 48, frames: 1 }),
    ).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
  });

  test("the last line names the settings that differ from the defaults", async () => {
    const printed = async (...words: string[]) => {
      const write = vi.spyOn(process.stdout, "write").mockReturnValue(true);
      try {
        const command = new Command();
        define(command);
        const size = ["--width", "64", "--height", "48", "--frames", "1"];
        await command.parseAsync([...size, ...words], { from: "user" });
        return write.mock.calls.map(([text]) => text).join("");
      } finally {
        write.mockRestore();
      }
    };
    expect(await printed()).toMatch(/\nsettings: the defaults\n$/);
    expect(await printed("--num-disparities", "32")).toMatch(
      /\nsettings: the defaults, but match.numDisparities=32\n$/,
    );
    expect(await printed("--num-disparities", "32", "--threads", "1")).toMatch(
      /\nsettings: the defaults, but match.numDisparities=32 engine.threads=1\n$/,
    );
  });
});

test("engine and peer in turn: the median of all rounds, and their ratio", async () => {
  const calls: string[] = [];
  const times = [1, 9, 2];
  const peer = {
    version: "4.6.0",
    threads: 2,
    run: async (mode: string, seconds: number) => {
      calls.push(`${mode} for ${seconds} s`);
      return { "3WAY": [4], HH4: [6, 6], HH: [8] }[mode]!;
    },
  };
  const compute = async () => {
    calls.push("engine");
    return times.shift()!;
  };
  const figures = await compareWithOpencv(compute, peer as never, {
    rounds: 3,
    seconds: 0,
    onRound: (round) => calls.push(`round ${round}`),
  });
  const turn = ["engine", "3WAY for 0 s", "HH4 for 0 s", "HH for 0 s"];
  expect(calls).toEqual([0, 1, 2].flatMap((round) => [`round ${round}`, ...turn]));
  const common = { name: "OpenCV StereoSGBM", version: "4.6.0", threads: 2, engineMedianMs: 2 };
  expect(figures).toEqual([
    { ...common, mode: "3WAY", paths: 3, medianMs: 4, ratio: 2 },
    { ...common, mode: "HH4", paths: 4, medianMs: 6, ratio: 3 },
    { ...common, mode: "HH", paths: 8, medianMs: 8, ratio: 4 },
  ]);
});

describe("the text of the figures", () => {
  const unknown = (reason: string) => ({ available: false as const, reason });
  const FIGURES = {
    width: 640,
    height: 480,
    numDisparities: 64,
    algorithm: "sgm",
    halfResolution: false,
    parameters: { paths: 8 },
    frames: 250,
    medianMs: 8.125,
    p95Ms: 9.256,
    minMs: 7.994,
    fps: 123.08,
    megaDisparitiesPerSecond: 2419.6,
    backend: "cpu",
    instructionSet: "avx2",
    threads: 4,
    peakResidentMb: 187.6,
    measured: { sensor: "rapl", what: "the GPU board alone" },
    watts: 12.346,
    joulesPerFrame: 0.10032,
    joulesPerFrameNet: 0.06251,
    fpsPerWatt: 9.969,
    changedSettings: {},
    peers: [],
    repeatedStage: null,
    stages: { match: 7.256, median: 0.5 },
  } as unknown as BenchFigures;
  const lines = (more: object) => benchLines({ ...FIGURES, ...more } as BenchFigures);

  test("size, machine, times, stages, power and settings", () => {
    expect(lines({})).toEqual([
      "sgm 640x480, 64 disparities, 8 paths",
      "cpu avx2, 4 threads, 250 frames",
      "median 8.13 ms, p95 9.26 ms, minimum 7.99 ms: 123.1 fps, 2420 million disparities/s",
      "stages, median ms: match 7.26, median 0.50",
      "peak memory 188 MB, 12.35 W, 0.1003 J a frame (0.0625 net of idle), 9.97 fps/W; measured: the GPU board alone",
      "settings: the defaults",
    ]);
  });

  test("half resolution, one thread, a repeated stage, changed settings, and a peer", () => {
    const peer = {
      name: "OpenCV StereoSGBM",
      version: "4.6.0",
      mode: "HH",
      paths: 8,
      medianMs: 30.004,
      engineMedianMs: 8.006,
      ratio: 3.748,
    };
    const text = lines({
      halfResolution: true,
      threads: 1,
      repeatedStage: { stage: "median", times: 50 },
      changedSettings: { "match.sgm.paths": 8, "calibration.file": null },
      peers: [
        { ...peer, threads: 1 },
        { ...peer, threads: 2 },
      ],
    });
    expect(text[0]).toMatch(/, half resolution$/);
    expect(text[1]).toBe("cpu avx2, 1 thread, 250 frames");
    expect(text[3]).toBe("stages, median ms: match 7.26, median 0.50 (median 50 times a frame)");
    expect(text.slice(5)).toEqual([
      "settings: the defaults, but match.sgm.paths=8 calibration.file=",
      "OpenCV StereoSGBM 4.6.0, HH (8 paths), 1 thread: median 30.00 ms; depthwatt in turn 8.01 ms, 3.75 times as fast",
      "OpenCV StereoSGBM 4.6.0, HH (8 paths), 2 threads: median 30.00 ms; depthwatt in turn 8.01 ms, 3.75 times as fast",
    ]);
  });

  test("power that is known in part", () => {
    const power = (more: object) => lines(more)[4]!.replace("peak memory 188 MB, ", "");
    expect(power({ watts: unknown("no sensor") })).toBe("watts not measured: no sensor");
    expect(power({ joulesPerFrameNet: unknown("no idle"), measured: null })).toBe(
      "12.35 W, 0.1003 J a frame (net not measured: no idle), 9.97 fps/W",
    );
    expect(power({ joulesPerFrame: unknown("x"), fpsPerWatt: unknown("x"), measured: null })).toBe("12.35 W");
  });
});

test.each([
  ["--width", "15", "16 to 16384"],
  ["--width", "16385", "16 to 16384"],
  ["--height", "15", "16 to 16384"],
  ["--height", "16385", "16 to 16384"],
  ["--frames", "0", "1 to 1000000"],
  ["--frames", "1000001", "1 to 1000000"],
])("%s %s is refused", async (flag, text, range) => {
  const command = new Command();
  define(command);
  await expect(command.parseAsync([flag, text], { from: "user" })).rejects.toThrow(
    `expected ${flag} to be a whole number from ${range}, got "${text}"`,
  );
});
