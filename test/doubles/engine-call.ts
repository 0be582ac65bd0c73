// SPDX-License-Identifier: Apache-2.0
// Opens an engine for rectified grey images, computes one frame and copies what came of it.
import { greyPairLayout } from "../../camera/index.js";
import {
  createEngine,
  type EngineInfo,
  type EngineOptions,
  type FrameResult,
  STAGE_NAMES,
} from "../../cuda/index.js";

interface Pair {
  width: number;
  height: number;
  left: Uint8Array;
  right: Uint8Array;
}

export function engineOptions(pair: Pair, changes: Partial<EngineOptions> = {}): EngineOptions {
  const { width, height } = pair;
  return {
    inputWidth: width,
    inputHeight: height,
    ...greyPairLayout(width, height),
    match: {
      algorithm: "sgm",
      halfResolution: false,
      minDisparity: 0,
      numDisparities: 48,
      parameters: {
        cost: "twoGradientCensus",
        paths: 4,
        p1: 12,
        p2: 40,
        adaptiveP2: 4,
        uniqueness: 8,
        outsideCost: 8,
        subpixel: true,
      },
    },
    refine: {
      leftRight: true,
      speckleSize: 60,
      speckleRange: 0.75,
      fill: "background",
      fillThreshold: 12,
      boundary: true,
      slant: false,
      median: true,
    },
    backend: "cpu",
    threads: 2,
    slots: 2,
    ...changes,
  };
}

export interface Computed {
  result: FrameResult;
  info: EngineInfo;
  /** Names of the stages that ran. */
  stages: string[];
  disparityQ4: Int16Array;
  confidence: Uint8Array;
  depthMillimetres: Uint16Array;
  left: Uint8Array;
  floor: Float64Array;
  grid: Uint8Array;
}

/** @throws DepthwattError errors of the engine */
export async function computeFrame(pair: Pair, options: EngineOptions): Promise<Computed> {
  const engine = createEngine(options);
  try {
    // The second frame finds what the first one left in every buffer.
    let result: FrameResult | undefined;
    let stages: string[] = [];
    for (let frame = 0; frame < 2; ++frame) {
      result = await new Promise<FrameResult>((resolve, reject) => {
        engine.submit(0, pair.left, pair.right, (error, done) =>
          error ? reject(error) : resolve(structuredClone(done)),
        );
      });
      // A backend may time the stages of some frames only, but of the first.
      if (frame === 0) stages = STAGE_NAMES.filter((_, at) => !Number.isNaN(engine.stageMilliseconds[at]));
    }
    const slot = engine.slots[0]!;
    return {
      result: result!,
      info: engine.info,
      stages,
      disparityQ4: slot.disparityQ4.slice(),
      confidence: slot.confidence.slice(),
      depthMillimetres: slot.depthMillimetres.slice(),
      left: slot.left.slice(),
      floor: slot.floor.slice(),
      grid: slot.grid.slice(),
    };
  } finally {
    engine.close();
  }
}
