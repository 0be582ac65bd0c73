// SPDX-License-Identifier: Apache-2.0
// Middlebury v3 (MiddEval3) and ETH3D two-view, which has the same files: SCENE/im0.png, im1.png, calib.txt, disp0GT.pfm and
// mask0nocc.png. MiddEval3 has its training scenes in full, half and quarter size.
import { basename, join } from "node:path";
import { DepthwattError, MAX_TEXT_BYTES, readRegularFileAsync } from "../../core/index.js";
import { exists, namesIn } from "./folders.js";
import type { Measure, SceneEntry } from "./scene-entry.js";

/** The engine's largest search. */
const MAX_DISPARITIES = 512;
/** Thresholds of both benchmarks in pixels; Middlebury's are pixels of the full size. */
const THRESHOLDS = [0.5, 1, 2, 4];
/** Full size per pixel, by the last letter of MiddEval3's folders. */
const SCALES: Readonly<Record<string, number>> = { F: 1, H: 2, Q: 4 };
/** The scenes that count half in MiddEval3's averages. */
const HALF_WEIGHT = ["PianoL", "Playroom", "Playtable", "Shelves", "Vintage"];

const isMiddEval = /^(?:training|test|additional)([FHQ])$/;
/** Thresholds by which a pixel is bad in the first table, pixels of the full size. */
const MIDDLEBURY_BAD_PX = 2;
const ETH3D_BAD_PX = 1;

async function readNumDisparities(file: string): Promise<number> {
  const invalid = (found: string, cause?: unknown) =>
    new DepthwattError("DATASET_INVALID", `${file}: expected ndisp=NUMBER, found ${found}`, {
      cause,
      context: { file, key: "ndisp" },
    });
  let text: string;
  try {
    text = (await readRegularFileAsync(file, MAX_TEXT_BYTES)).toString();
  } catch (cause) {
    throw invalid((cause as Error).message, cause);
  }
  const word = /^[ \t]*ndisp[ \t]*=[ \t]*(\S+)/m.exec(text)?.[1];
  const value = Number(word);
  if (!Number.isInteger(value) || value < 1) throw invalid(word ?? "no such line");
  return Math.min(value, MAX_DISPARITIES);
}

/** Returns the folder that holds the scenes. @throws DepthwattError DATASET_INVALID for a choice that only the user can make */
async function sceneFolder(folder: string): Promise<string | undefined> {
  const isScene = (name: string) => exists(folder, name, "calib.txt");
  const names = await namesIn(folder);
  for (const name of names) if (await isScene(name)) return folder;
  const sizes = names.filter((name) => isMiddEval.test(name) && name.startsWith("training"));
  if (sizes.length > 1)
    throw new DepthwattError(
      "DATASET_INVALID",
      `${folder}: expected one size, found ${sizes.join(", ")}; name one of these folders`,
    );
  const [inner] = sizes.length > 0 ? sizes : names.filter((name) => name === "two_view_training");
  return inner === undefined ? undefined : sceneFolder(join(folder, inner));
}

/** ETH3D's archive of the ground truth may be unpacked next to the images. */
async function truthFolder(folder: string, scene: string): Promise<string> {
  const other = join("..", `${basename(folder)}_gt`, scene);
  const inside = await exists(folder, scene, "disp0GT.pfm");
  return !inside && (await exists(folder, other)) ? other : scene;
}

/** @returns undefined for a folder without such scenes */
export async function readMiddlebury(folder: string): Promise<SceneEntry[] | undefined> {
  const inner = await sceneFolder(folder);
  if (inner === undefined) return undefined;
  const size = isMiddEval.exec(basename(inner))?.[1];
  const scale = SCALES[size ?? "F"]!;
  const measures = THRESHOLDS.map(
    (threshold): Measure => ({ name: `bad ${threshold}`, thresholdPx: threshold / scale }),
  );
  const entries: SceneEntry[] = [];
  for (const name of await namesIn(inner)) {
    if (!(await exists(inner, name, "calib.txt"))) continue;
    const truth = await truthFolder(inner, name);
    entries.push({
      folder: inner,
      name,
      left: join(name, "im0.png"),
      right: join(name, "im1.png"),
      groundTruth: { path: join(truth, "disp0GT.pfm"), scale: 1, invalid: "+inf" },
      masks: { nonocc: join(truth, "mask0nocc.png") },
      numDisparities: await readNumDisparities(join(inner, name, "calib.txt")),
      badThresholdPx: size === undefined ? ETH3D_BAD_PX : MIDDLEBURY_BAD_PX / scale,
      measures,
      pixelScale: scale,
      ...(size !== undefined && HALF_WEIGHT.includes(name) && { weight: 0.5 }),
    });
  }
  return entries;
}
