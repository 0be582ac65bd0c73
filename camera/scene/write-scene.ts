// SPDX-License-Identifier: Apache-2.0
// The scene as a data set on disk: pictures, truth, calibration, and the lists that say what belongs together.
import { createWriteStream, type WriteStream } from "node:fs";
import { join } from "node:path";
import { DepthwattError, writeBeside } from "../../core/index.js";
import { baselineMetres, rectify, stringifyCalibration } from "../calibration/index.js";
import { makeFolder, writeDisparity, writeImage } from "../recordings/images/index.js";
import type { SceneExports } from "./native.js";
import {
  DEFAULT_POSE,
  type SceneOptions,
  type SceneView,
  sceneCalibration,
  sceneView,
} from "./scene-cameras.js";
import { SceneRenderer } from "./scene-renderer.js";

export interface WriteSceneOptions extends SceneOptions {
  /** Folder; made if it is not there. */
  folder: string;
  frames: number;
  /** Number of the first frame, default 0. */
  firstFrame?: number;
  /** Which truth is written: default both. */
  truth?: "both" | "left" | "none";
  /** Called after each frame. */
  onFrame?: (done: number) => void;
}

const SIDES = ["left", "right"] as const;

/** The view that the truth is reported in: the ideal one, or what rectifying the raw cameras without cropping options gives. */
export function truthView(options: SceneOptions): SceneView {
  const { width = 640, height = 480 } = options;
  if ((options.view ?? "raw") !== "raw") return sceneView(width, height);
  const { focalPixels, cx, cy } = rectify(sceneCalibration(options));
  return { width, height, focalPixels, cx, cy };
}

async function end(stream: WriteStream): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    stream.on("error", reject);
    stream.end(resolve);
  });
}

/**
 * Writes left/, right/ (PNG), disparity-left/, disparity-right/ (PFM), visible-left/, visible-right/ (PNG, 255 = seen by
 * both images), calibration.json, scene.json, and
 * - view raw: left.raw and right.raw, all frames of one side one after the other, grey u8 or RGB8 without headers or padding
 * - else: dataset.json, which `depthwatt eval` reads (raw pictures are not rectified: there it would mislead)
 * @throws DepthwattError OUTPUT_UNWRITABLE, ENGINE_PARAMETER
 */
export async function writeScene(native: SceneExports, options: WriteSceneOptions): Promise<void> {
  const { folder, frames, firstFrame = 0, truth = "both" } = options;
  const raw = (options.view ?? "raw") === "raw";
  const view = truthView(options);
  const truthSides = truth === "both" ? SIDES : truth === "left" ? (["left"] as const) : [];
  const renderer = new SceneRenderer(native, options);
  try {
    const folders = [...SIDES, ...truthSides.flatMap((side) => [`disparity-${side}`, `visible-${side}`])];
    for (const name of folders) makeFolder(join(folder, name));
    const streams = raw ? SIDES.map((side) => createWriteStream(join(folder, `${side}.raw`))) : [];
    const rows = [];
    for (let i = 0; i < frames; i++) {
      const pair = await renderer.frame(firstFrame + i);
      const name = String(firstFrame + i).padStart(6, "0");
      for (const [at, side] of SIDES.entries()) {
        await writeImage(join(folder, side, `${name}.png`), pair[side]);
        const stream = streams[at];
        if (stream && !stream.write(pair[side].data)) {
          await new Promise<void>((resolve) => stream.once("drain", () => resolve()));
        }
      }
      for (const side of truthSides) {
        const answer = renderer.truth(firstFrame + i, side, view);
        await writeDisparity(join(folder, `disparity-${side}`, `${name}.pfm`), answer.disparity);
        await writeImage(join(folder, `visible-${side}`, `${name}.png`), answer.visible);
      }
      const map = (side: string) => ({ path: `disparity-${side}/${name}.pfm`, scale: 1, invalid: "inf" });
      rows.push({
        name,
        left: `left/${name}.png`,
        right: `right/${name}.png`,
        ...(truth === "none"
          ? {}
          : { groundTruth: map("left"), masks: { nonocc: `visible-left/${name}.png` } }),
        ...(truth === "both"
          ? { groundTruthRight: map("right"), masksRight: { nonocc: `visible-right/${name}.png` } }
          : {}),
        // The nearest thing in the room is closer than 1/10 of the width in disparity.
        numDisparities: Math.min(512, Math.max(16, 16 * Math.ceil(view.width / 160))),
        badThresholdPx: 1,
      });
      options.onFrame?.(i + 1);
    }
    await Promise.all(streams.map(end));
    const calibration = sceneCalibration(options);
    await writeBeside(join(folder, "calibration.json"), stringifyCalibration(calibration));
    const { width = 640, height = 480, seed = 1 } = options;
    const description = {
      name: "depthwatt-scene",
      width,
      height,
      seed,
      ...(options.room && options.room !== "furnished" && { room: options.room }),
      floor: options.pose ?? DEFAULT_POSE,
      firstFrame,
      frames,
      images: raw ? "raw" : "rectified",
      calibration: "calibration.json",
      truthView: { ...view, baselineMetres: baselineMetres(calibration) },
      ...(raw
        ? { rawFiles: { left: "left.raw", right: "right.raw", format: options.colours ? "RGB8" : "GREY" } }
        : {}),
      scenes: rows,
    };
    await writeBeside(join(folder, "scene.json"), `${JSON.stringify(description, undefined, 1)}\n`);
    if (!raw && truth !== "none") {
      const dataset = { name: "depthwatt-scene", metric: "as middlebury-v2", scenes: rows };
      await writeBeside(join(folder, "dataset.json"), `${JSON.stringify(dataset, undefined, 1)}\n`);
    }
  } catch (cause) {
    if (cause instanceof DepthwattError || !(cause instanceof Error && "syscall" in cause)) throw cause;
    throw new DepthwattError("OUTPUT_UNWRITABLE", `cannot write the scene to ${folder}: ${cause.message}`, {
      cause,
      context: { file: folder },
    });
  } finally {
    renderer.close();
  }
}
