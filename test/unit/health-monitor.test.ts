// SPDX-License-Identifier: Apache-2.0
// Tests how the watch over a rig summarizes many looks: when an alarm begins and ends, its cost, its report in the
// dark. Looks are constructed of features whose rows follow the equation, with noise of a fixed seed; the clock is the
// test's.
import { describe, expect, test } from "vitest";
import type { AlignmentLook } from "../../camera/index.js";
import { RigMonitor } from "../../edge/rig/health/monitor.js";
import type { PairProblem } from "../../edge/rig/health/problem.js";

const VIEW = { width: 640, height: 480, focalPixels: 520, cx: 319.5, cy: 239.5 };
const DEGREES = 180 / Math.PI;
type Angles = readonly [pitch: number, yaw: number, roll: number];

let state = 1;
const uniform = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

/** 200 features with rows off by 0.1 pixels each, as camera/rig/alignment would sum them. */
function lookAt([pitch, yaw, roll]: Angles, cpuMs = 4, change: Partial<AlignmentLook> = {}): AlignmentLook {
  const products = new Array<number>(21).fill(0);
  const targets = new Array<number>(6).fill(0);
  const rows = [];
  let squares = 0;
  for (let i = 0; i < 200; i++) {
    const u = (uniform() - 0.5) * (VIEW.width / VIEW.focalPixels);
    const v = (uniform() - 0.5) * (VIEW.height / VIEW.focalPixels);
    const q = (5 + 40 * uniform()) / VIEW.focalPixels;
    const terms = [-(1 + v * v), u, v, u * v, q, v * q];
    const noise = (0.1 * (uniform() + uniform() + uniform() - 1.5) * 2) / VIEW.focalPixels;
    const exact = (terms[0]! * pitch + terms[1]! * roll + terms[3]! * yaw) / DEGREES;
    let at = 0;
    for (let j = 0; j < 6; j++) {
      for (let k = j; k < 6; k++) products[at++]! += terms[j]! * terms[k]!;
      targets[j]! += terms[j]! * (exact + noise);
    }
    squares += noise * noise;
    rows.push(exact * VIEW.focalPixels);
  }
  const sizes = rows.map(Math.abs).sort((a, b) => a - b);
  return {
    cpuMs,
    leftCorners: 500,
    rightCorners: 1700,
    features: 230,
    kept: 200,
    leftSharpness: 0.6,
    rightSharpness: 0.6,
    leftContrast: 40,
    rightContrast: 40,
    medianDisparity: 20,
    smallestDisparity: 6,
    meanRows: rows.reduce((sum, row) => sum + row / rows.length, 0),
    p95Rows: sizes[Math.floor(0.95 * sizes.length)]!,
    weight: 200,
    squares,
    products,
    targets,
    ...change,
  };
}

const IMAGES = { left: { data: new Uint8Array(1) }, right: { data: new Uint8Array(1) } };

/** A monitor whose frames come at 20 Hz of the test's clock; every look takes until the next frame. */
function watched(look: (seconds: number) => AlignmentLook) {
  let now = 0;
  let pending: AlignmentLook | undefined;
  const reported: { seconds: number; problem: PairProblem | undefined }[] = [];
  const monitor = new RigMonitor(
    {
      begin: () => {
        if (pending !== undefined) return false;
        pending = look(now / 1000);
        return true;
      },
      take: () => {
        const taken = pending;
        pending = undefined;
        return taken;
      },
      close: () => {},
    },
    { view: VIEW, calibrated: true, disparityOffset: 0, maps: undefined },
    { maxRows: 0.75, maxDegrees: 0.08 },
    { onProblem: (problem) => reported.push({ seconds: now / 1000, problem }) },
    () => now,
  );
  return {
    monitor,
    reported,
    run(seconds: number) {
      for (const end = now + 1000 * seconds; now < end; now += 50) monitor.frame(IMAGES);
    },
  };
}

test("figures of a rig that has turned, from the equation of its features", () => {
  const [pitch, yaw, roll] = [0.11, -0.05, 0.07];
  const { run, monitor } = watched(() => lookAt([pitch, yaw, roll]));
  run(60);
  const { alignment } = monitor.report();
  if ("available" in alignment) throw new Error(alignment.reason);
  const { features } = alignment;
  expect(features % 200).toBe(0);
  expect(features).toBeGreaterThan(0);
  // The noise is 0.1 rows; the mean of squares of a coordinate is a twelfth of its range's.
  const spread = (pixels: number) => pixels / VIEW.focalPixels / Math.sqrt(12);
  const byChance = ((0.1 / VIEW.focalPixels) * DEGREES) / (spread(VIEW.width) * Math.sqrt(features));
  const rowsOf = (degrees: number) => (VIEW.focalPixels * degrees) / DEGREES;
  const close = (value: number) => expect.closeTo(value, 1);
  expect(alignment).toEqual({
    rows: {
      mean: close(-rowsOf(pitch) * (1 + spread(VIEW.height) ** 2)),
      p95: expect.any(Number),
      overWidth: close((rowsOf(roll) * (VIEW.width - 1)) / VIEW.focalPixels),
      overHeight: close(0),
    },
    rotationDegrees: {
      total: expect.closeTo(Math.hypot(pitch, yaw, roll), 1),
      pitch: expect.closeTo(pitch, 1),
      yaw: expect.closeTo(yaw, 1),
      roll: expect.closeTo(roll, 2),
    },
    deviationDegrees: {
      pitch: expect.any(Number),
      yaw: expect.any(Number),
      // No angle is surer than 0.005 degrees.
      roll: expect.closeTo(Math.hypot(byChance, 0.005), 3),
    },
    scalePercent: close(0),
    focalPixels: expect.closeTo(0, 0),
    features,
    residualRows: expect.closeTo(0.1, 2),
  });
  expect(alignment.rows.p95).toBeGreaterThan(Math.abs(alignment.rows.mean));
});

describe("alarms", () => {
  test.each([
    [0.1, 0, 0],
    [0, 0.1, 0],
    [0, 0, 0.1],
    [0, -0.11, 0],
    [-0.3, 0.2, 0.1],
    [0.06, 0.06, 0.06],
  ] as const)("a rig that turns by %d, %d, %d degrees is reported within 5 seconds", (...angles) => {
    const { reported, run } = watched((seconds) => lookAt(seconds < 60 ? [0, 0, 0] : angles));
    run(70);
    expect(reported).toHaveLength(1);
    expect(reported[0]!.problem?.code).toBe("RIG_MOVED");
    expect(reported[0]!.problem?.text).toMatch(
      /^the cameras have moved: \d+\.\d rows, rotation \d\.\d\d degrees$/,
    );
    expect(reported[0]!.seconds).toBeGreaterThan(60);
    expect(reported[0]!.seconds).toBeLessThan(65);
  });

  test("looks that cost 12 ms still report within 5 seconds", () => {
    const { reported, run } = watched((seconds) => lookAt(seconds < 60 ? [0, 0, 0] : [0.1, 0, 0], 12));
    run(70);
    expect(reported[0]!.seconds).toBeLessThan(65);
  });

  test("a still rig is never reported in 30 minutes", () => {
    const { reported, run, monitor } = watched(() => lookAt([0.01, 0.02, -0.01]));
    run(1800);
    expect(reported).toEqual([]);
    expect(monitor.report()).toMatchObject({ problem: null });
  });

  test("one look of two cameras that were not read at the same moment is no alarm", () => {
    const { reported, run } = watched((seconds) =>
      lookAt(Math.floor(seconds) % 20 === 0 ? [0.3, 0, 0] : [0, 0, 0]),
    );
    run(300);
    expect(reported).toEqual([]);
  });

  test("hysteresis: it begins above the limit, stays a little below it, and ends well below", () => {
    const size = (seconds: number) => (seconds < 20 ? 0.1 : seconds < 60 ? 0.07 : 0.03);
    const { reported, run, monitor } = watched((seconds) => lookAt([0, 0, size(seconds)]));
    run(58);
    expect(reported).toHaveLength(1);
    expect(monitor.problem?.code).toBe("RIG_MOVED");
    run(20);
    expect(reported).toHaveLength(2);
    expect(reported[1]!.problem).toBeUndefined();
    expect(reported[1]!.seconds).toBeGreaterThan(60);
    const below = watched(() => lookAt([0, 0, 0.07]));
    below.run(60);
    expect(below.reported).toEqual([]);
  });

  test("a slow drift is a curve in the figures before it is an alarm", () => {
    const { reported, run, monitor } = watched((seconds) => lookAt([(0.12 * seconds) / 600, 0, 0]));
    const curve: number[] = [];
    for (let minute = 0; minute < 10; minute++) {
      run(60);
      const { alignment } = monitor.report();
      if (!("available" in alignment)) curve.push(alignment.rotationDegrees.pitch as number);
    }
    expect(curve).toHaveLength(10);
    for (const [minute, pitch] of curve.entries())
      expect(Math.abs(pitch - 0.012 * (minute + 1))).toBeLessThan(0.01);
    expect(reported).toHaveLength(1);
    expect(reported[0]!.seconds).toBeGreaterThan(300);
  });
});

describe("what cannot be known, or is something else", () => {
  test("before the first look, and in a dark room, the figures say why", () => {
    const { run, monitor, reported } = watched(() =>
      lookAt([0, 0, 0], 4, { leftCorners: 3, rightCorners: 5, kept: 0 }),
    );
    expect(monitor.report().alignment).toEqual({
      available: false,
      reason: "no pair has been looked at yet",
    });
    run(30);
    expect(monitor.report()).toMatchObject({
      problem: null,
      alignment: { available: false, reason: expect.stringContaining("both images are flat") },
    });
    expect(reported).toEqual([]);
  });

  test("the dark does not end an alarm", () => {
    const { run, monitor, reported } = watched((seconds) =>
      seconds < 20 ? lookAt([0.3, 0, 0]) : lookAt([0, 0, 0], 4, { leftCorners: 3, rightCorners: 5, kept: 0 }),
    );
    run(60);
    expect(reported).toHaveLength(1);
    expect(monitor.report().problem?.code).toBe("RIG_MOVED");
    expect(monitor.report().alignment).toMatchObject({ available: false });
  });

  test.each([
    ["PAIR_BLURRED", { rightSharpness: 0.2 }],
    ["PAIR_SWAPPED", { medianDisparity: -14 }],
  ])("%s is reported", (code, change) => {
    const { run, reported } = watched(() => lookAt([0, 0, 0], 4, change));
    run(10);
    expect(reported.map(({ problem }) => problem?.code)).toEqual([code]);
  });

  test("a thread that the system refuses ends the watch, not the run", () => {
    const monitor = new RigMonitor(
      {
        begin: () => {
          throw new Error("no thread");
        },
        take: () => undefined,
        close: () => {},
      },
      { view: VIEW, calibrated: true, disparityOffset: 0, maps: undefined },
      { maxRows: 0.75, maxDegrees: 0.08 },
      { onProblem: () => {} },
    );
    monitor.frame(IMAGES);
    monitor.frame(IMAGES);
    expect(monitor.report().alignment).toEqual({ available: false, reason: "no thread" });
  });
});

test.each([1, 4, 15, 60])("looks of %d ms cost less than 1 % of a core", (cpuMs) => {
  const { run, monitor } = watched(() => lookAt([0, 0, 0], cpuMs));
  run(600);
  expect(monitor.report().looks).toBeGreaterThan(10);
  expect(monitor.report().cpuPercent).toBeLessThan(1);
});
