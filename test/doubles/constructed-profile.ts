// SPDX-License-Identifier: Apache-2.0
// A profile whose every figure is constructed: it shows and tests the report, and says nothing about any machine.
import {
  megaDisparitiesPerSecond,
  type PointResult,
  type Profile,
  type ProfilePoint,
  pointId,
} from "../../edge/profile/types.js";
import type { ClockTargets, PowerReport } from "../../power/index.js";

const unavailable = (reason: string) => ({ available: false as const, reason });

/** A small generator with a seed, so that the same profile comes out every time. */
export function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

export interface ModelMachine {
  idleWatts: number;
  /** Millions of disparity evaluations per second and path. */
  speed: number;
  joulesPerGiga: number;
}

export const MODEL: ModelMachine = { idleWatts: 4.6, speed: 9000, joulesPerGiga: 1.1 };

export const GPU_LIMIT = 918e6;

export function constructedResult(
  point: ProfilePoint,
  random: () => number,
  model: ModelMachine = MODEL,
): PointResult {
  const cells = megaDisparitiesPerSecond(point);
  // A lower clock takes longer, and less energy by its lower voltage.
  const share = (point.clockHertz?.gpu ?? GPU_LIMIT) / GPU_LIMIT;
  const maxFps = (share * model.speed) / (cells * point.paths) / 1.15;
  const fps =
    (point.rateHz === "max" ? maxFps : Math.min(point.rateHz, maxFps)) * (1 + 0.01 * (random() - 0.5));
  const stageSaving = point.without === undefined ? 1 : 0.97;
  const joules =
    ((cells * (0.4 + 0.15 * point.paths) * model.joulesPerGiga) / 1000) *
    stageSaving *
    (0.4 + 0.6 * share ** 2);
  const watts = model.idleWatts + fps * joules + 0.05 * (random() - 0.5);
  const steps = Math.round(10 / 0.1);
  const power: PowerReport = {
    available: true,
    reason: "VDD_IN is the input of the whole module",
    sensor: "ina3221",
    watts,
    wattsUncertainty: 0.09,
    idleWatts: model.idleWatts,
    joules: watts * 20,
    joulesPerFrame: watts / fps,
    joulesPerFrameNet: (watts - model.idleWatts) / fps,
    fpsPerWatt: fps / watts,
    mdePerJoule: (cells * fps) / watts,
    rails: Object.fromEntries(
      [
        ["VDD_IN", 1],
        ["VDD_CPU_GPU_CV", 0.45],
        ["VDD_SOC", 0.2],
      ].map(([label, share]) => [
        label,
        {
          available: true,
          watts: watts * Number(share),
          joules: watts * 20 * Number(share),
          wattsUncertainty: 0.09,
          samples: 2000,
        },
      ]),
    ),
    windowSeconds: 20,
    frames: Math.round(fps * 20),
    sampling: { rateHz: 100, by: "native thread", userPercent: 0.03, busReadPercent: 1.9, timerPercent: 0.2 },
    context: {
      powerMode: "15W",
      onlineCores: 6,
      cpuKilohertz: { policy0: 1_510_400 },
      gpuMegahertz: 624,
      emcMegahertz: unavailable("not shown"),
      clocksLocked: true,
      tpcMask: 0,
      emcCapMegahertz: 2133,
      temperaturesCelsius: { gpu: 51 },
      fans: {},
      throttle: {},
    },
    changed: [],
  };
  const ms = 1000 / maxFps;
  const stage = (share: number) => ({ p50Ms: ms * share, p95Ms: ms * share * 1.1, p99Ms: ms * share * 1.2 });
  return {
    id: pointId(point),
    point,
    date: "2026-11-21T10:00:00.000Z",
    backend: "cuda",
    instructionSet: "cuda",
    threads: 1,
    frames: power.frames,
    seconds: 20,
    fps,
    validPercent: 83,
    stages: {
      rectify: stage(0.05),
      match: stage(0.77),
      median: stage(0.05),
      speckle: stage(0.07),
      depth: stage(0.02),
      encode: stage(0.04),
    },
    power,
    temperature: { startCelsius: 50, endCelsius: 51, steady: true },
    timeline: {
      binSeconds: 0.1,
      watts: Array.from({ length: steps }, (_, i) => watts + 0.15 * Math.sin(i / 3) + 0.2 * (random() - 0.5)),
      frames: Array.from({ length: Math.min(2000, Math.floor(fps * 10)) }, (_, i) => i / fps),
    },
  };
}

export function constructedProfile(
  options: { model?: ModelMachine; stageRounds?: number; clocks?: readonly ClockTargets[] } = {},
): Profile {
  const random = seeded(11);
  const model = options.model ?? MODEL;
  const points: ProfilePoint[] = [];
  for (const [width, height] of [
    [640, 480],
    [1280, 720],
  ] as const) {
    for (const numDisparities of [64, 128]) {
      for (const paths of [2, 4, 8] as const) {
        for (const rateHz of ["max", 15] as const) {
          points.push({ mode: undefined, algorithm: "sgm", width, height, numDisparities, paths, rateHz });
        }
      }
    }
  }
  const small = points.filter(({ width, numDisparities }) => width === 640 && numDisparities === 128);
  points.push(
    ...(options.clocks ?? []).flatMap((clockHertz) => small.map((point) => ({ ...point, clockHertz }))),
  );
  const base = points[0]!;
  for (let round = 0; round < (options.stageRounds ?? 0); round++) {
    for (const without of ["leftRight", "median", "speckle", "depth", "encode"] as const)
      points.push({ ...base, without });
    points.push(base);
  }
  return {
    format: "depthwatt-profile/1",
    date: "2026-11-21T10:00:00.000Z",
    provenance: {
      version: "0.1.0",
      machine: "constructed",
      board: {
        name: "orin-nano-8gb",
        title: "CONSTRUCTED figures, no real board",
        reason: "made by a test",
        level: "board",
      },
      processor: "constructed CPU",
      cores: 6,
      kernel: "5.15.148-tegra",
      node: "v20.20.2",
      l4t: "36.4.3",
      gpu: null,
      sensor: {
        name: "ina3221",
        totalRails: ["VDD_IN"],
        total: "VDD_IN: VDD_IN is the input of the whole module",
        rails: [{ label: "VDD_IN", kind: "power", updateIntervalMs: 6, step: 40 }],
      },
      backend: "cuda",
      backendReason: "constructed",
    },
    seconds: 20,
    warmUpSeconds: 4,
    ...(options.clocks !== undefined && { clockLimitHertz: { gpu: GPU_LIMIT } }),
    idleBefore: model.idleWatts,
    idleAfter: model.idleWatts + 0.1,
    results: points.map((point) => constructedResult(point, random, model)),
  };
}
