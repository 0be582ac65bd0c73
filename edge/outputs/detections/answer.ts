// SPDX-License-Identifier: Apache-2.0
// Turns detections and the frame they belong to into the answer: distance, position, size and speed of each.
import { rectifyPoint } from "../../../camera/index.js";
import type { OutputPicture } from "../../contracts/output.js";
import type { Rig } from "../../contracts/rig.js";
import type { Point } from "../derived/polygon.js";
import type { KeptFrame } from "./history.js";
import { clippedBounds, depthMetres, MIN_PIXELS, measureDetection } from "./measure.js";
import type { Detection } from "./message.js";
import type { Tracks } from "./tracks.js";

export interface AnswerOptions {
  picture: Pick<OutputPicture, "rig" | "hasDepth">;
  /** The image that the corners refer to. */
  image: "rectified" | "raw";
  /** 0 to 255. */
  minConfidence: number;
}

/** Pixels that are read for one message, and for one detection at most. */
const MAX_PIXELS = 320_000;
const MAX_DETECTION_PIXELS = 16_000;
/** Points per edge of an outline whose edges the lens bends. */
const EDGE_POINTS = 8;

const missing = (reason: string) => ({ available: false, reason }) as const;
const round = (value: number, digits: number) => Number(value.toFixed(digits));

/** Maps corners of the captured left image, as fractions, to the rectified one; undefined where it does not show them. */
export function rectifyCorners(corners: readonly Point[], rig: Rig): Point[] | undefined {
  const { calibration, rectification } = rig;
  const { width: rawWidth, height: rawHeight } = calibration.imageSize;
  const { R1, P1, width, height } = rectification;
  const mapped: Point[] = [];
  for (const [index, from] of corners.entries()) {
    const to = corners[(index + 1) % corners.length]!;
    for (let step = 0; step < EDGE_POINTS; step++) {
      const share = step / EDGE_POINTS;
      // Fractions count from the edge of the first pixel, pixels from its centre. Nothing was captured outside.
      const inside = (a: number, b: number) => Math.min(1, Math.max(0, a + share * (b - a)));
      const [px, py] = [inside(from.x, to.x) * rawWidth - 0.5, inside(from.y, to.y) * rawHeight - 0.5];
      const point = rectifyPoint(calibration.left, R1, P1, px, py);
      if (point === undefined) return undefined;
      mapped.push({ x: (point.x + 0.5) / width, y: (point.y + 0.5) / height });
    }
  }
  return mapped;
}

export function answerDetections(
  frame: KeptFrame,
  detections: readonly Detection[],
  tracks: Tracks,
  options: AnswerOptions,
): object[] {
  const maxPixels = Math.min(MAX_DETECTION_PIXELS, MAX_PIXELS / Math.max(1, detections.length));
  return detections.map((detection) => {
    const { id, label } = detection;
    return { id, label, ...answerOne(frame, detection, tracks, options, maxPixels) };
  });
}

function answerOne(
  frame: KeptFrame,
  { id, label, corners: given, isBox }: Detection,
  tracks: Tracks,
  { picture, image, minConfidence }: AnswerOptions,
  maxPixels: number,
): object {
  const unknown = (reason: string, rest: object = {}) => ({ distanceMetres: missing(reason), ...rest });
  if (typeof given === "string") return unknown(given);
  const { rig, hasDepth } = picture;
  if (rig === undefined || !hasDepth) return unknown("without a calibration there is no depth");
  if (clippedBounds(given) === undefined) return unknown("the outline is outside the image");
  const corners = image === "raw" ? rectifyCorners(given, rig) : given;
  const bounds = corners && clippedBounds(corners);
  if (corners === undefined || bounds === undefined)
    return unknown("the outline is outside the rectified image");
  const measured = measureDetection(frame, corners, { minConfidence, maxPixels, preferMiddle: isBox });
  const matchedShare = round(measured.matchedShare, 4);
  if (!("disparityPixels" in measured))
    return unknown(`fewer than ${MIN_PIXELS} pixels were matched at one distance`, { matchedShare });
  const geometry = rig.rectification;
  const { focalPixels, cx, cy } = geometry;
  const { disparityPixels, spreadPixels, standardErrorPixels } = measured;
  const z = depthMetres(disparityPixels, geometry);
  if (z === undefined) return unknown("the disparity is that of infinity", { matchedShare });
  const position = { x: ((measured.x - cx) * z) / focalPixels, y: ((measured.y - cy) * z) / focalPixels, z };
  const velocity = id === undefined ? undefined : tracks.add(id, label, frame.timeMs, position);
  const metresPerPixel = (z * z) / (focalPixels * geometry.baselineMetres);
  return {
    distanceMetres: round(z, 4),
    standardErrorMetres:
      standardErrorPixels === undefined
        ? missing("the pixels have too little texture, or differ between the images")
        : round(metresPerPixel * standardErrorPixels, 5),
    spreadMetres: round(metresPerPixel * spreadPixels, 4),
    disparityPixels: round(disparityPixels, 4),
    matchedShare,
    atDistanceShare: round(measured.atDistanceShare, 4),
    position: { x: round(position.x, 4), y: round(position.y, 4), z: round(z, 4) },
    sizeMetres: {
      width: round(((bounds.right - bounds.left) * frame.width * z) / focalPixels, 4),
      height: round(((bounds.bottom - bounds.top) * frame.height * z) / focalPixels, 4),
    },
    clipped: bounds.isClipped || clippedBounds(given)!.isClipped,
    speed:
      velocity === undefined
        ? missing(id === undefined ? "the detection has no id" : "needs more detections with this id")
        : {
            metresPerSecond: round(Math.hypot(velocity.x, velocity.y, velocity.z), 3),
            x: round(velocity.x, 3),
            y: round(velocity.y, 3),
            z: round(velocity.z, 3),
          },
  };
}
