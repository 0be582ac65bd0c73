// SPDX-License-Identifier: Apache-2.0
// Measures how images reach the GPU and results come back: a small engine computes frames from each kind of memory.
import { greyPairLayout } from "../../../camera/index.js";
import { createEngine, type MemoryPaths } from "../../../cuda/index.js";
import { type Config, loadConfig } from "../../config/index.js";
import { engineOptionsFrom } from "../../pipeline/engine-options.js";
import { uncalibrated } from "../../pipeline/geometry.js";
import type { Finding } from "./finding.js";

const VGA = { width: 640, height: 480 };
/** Every sixteenth frame is timed, and the first is not counted. */
const FRAMES = 33;

/** @param known the engine knows the images' memory, as it knows a camera's with source.v4l2.memory: userptr */
async function measurePaths(known: boolean, { width, height }: typeof VGA): Promise<MemoryPaths> {
  const [left, right] = [new Uint8Array(width * height), new Uint8Array(width * height)];
  const description = greyPairLayout(width, height);
  const set = ["board=none", "engine.backend=cuda", "match.numDisparities=16"];
  const { config } = loadConfig({ environment: {}, set });
  const source = { description, ...(known && { inputMemory: [left, right] }) };
  const engine = createEngine(engineOptionsFrom(config, source, uncalibrated(width, height)));
  try {
    for (let frame = 0; frame < FRAMES; frame++) await engine.compute(left, right);
    return engine.info.memory;
  } finally {
    engine.close();
  }
}

const cost = (microseconds: number | undefined) =>
  microseconds === undefined ? "not timed" : `${microseconds.toFixed(1)} us`;

/** Call it where a GPU was found. */
export async function lookAtMemory({ source }: Config, size = VGA): Promise<Finding> {
  try {
    const known = await measurePaths(true, size);
    const other = await measurePaths(false, size);
    const text = `images: ${known.images}, ${cost(known.imagesMicroseconds)}; results: ${known.results}, ${cost(known.resultsMicroseconds)}`;
    const details = [
      `a pair of ${size.width}x${size.height}, device time; the same from other memory: ${other.images}, ${cost(other.imagesMicroseconds)}`,
      `source.v4l2.memory is ${source.v4l2.memory}; 'captureMemory' and 'memory' of info say what a run uses`,
    ];
    return { name: "memory", state: "ok", text, details, facts: { known, other } };
  } catch (error) {
    return { name: "memory", state: "absent", text: (error as Error).message };
  }
}
