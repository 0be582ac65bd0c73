// SPDX-License-Identifier: Apache-2.0
// Defines the fuzz targets as functions of bytes, from fast-check in readers.test.ts or jazzer.js in jazzer.mjs. Each
// returns, or throws a coded error.
import { writeFileSync } from "node:fs";
import { loadStereoCalibration } from "../../camera/calibration/load.js";
import { type FrameSink, FrameStream } from "../../camera/command/frame-stream.js";
import { checkDisparities, PAIRS } from "../../camera/command/pairs-header.js";
import { SharedFrames } from "../../camera/command/shared-frames.js";
import { Y4M } from "../../camera/command/y4m.js";
import { decodePfm, decodePgm, decodePpm } from "../../camera/recordings/images/netpbm.js";
import { decodeBody, decodePoints } from "../../clients/javascript/src/decode.js";
import { DepthwattError } from "../../core/errors.js";
import { crc32 } from "../../core/frame/crc32.js";
import { FRAME_HEADER_BYTES } from "../../core/frame/frame-format.js";
import { parseFrame } from "../../core/frame/payload.js";
import { answerDetections } from "../../edge/outputs/detections/answer.js";
import { MAX_DETECTIONS, parseMessage } from "../../edge/outputs/detections/message.js";
import { DETECTION_FORMATS } from "../../edge/outputs/detections/settings.js";
import { Tracks } from "../../edge/outputs/detections/tracks.js";

/** A message; its CRC is put right first, which no fuzzer finds automatically. */
export function readFrame(bytes: Uint8Array): void {
  if (bytes.length >= FRAME_HEADER_BYTES) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const covered = Buffer.concat([bytes.subarray(0, 92), bytes.subarray(FRAME_HEADER_BYTES)]);
    view.setUint32(92, crc32(covered), true);
  }
  const { header, body } = parseFrame(bytes);
  const limits = { maxPixels: 1 << 16 };
  if (header.stream === "points") decodePoints(header, body, limits);
  else decodeBody(header, body, limits);
}

/** PGM, PPM or PFM by its first two letters. @returns whether it was one of them */
export function readNetpbm(bytes: Uint8Array): boolean {
  const kind = String.fromCharCode(...bytes.subarray(0, 2));
  if (kind === "P5") decodePgm(bytes, "fuzz.pgm");
  else if (kind === "P6") decodePpm(bytes, "fuzz.ppm");
  else if (kind === "Pf" || kind === "PF") decodePfm(bytes, "fuzz.pfm");
  else return false;
  return true;
}

/** YUV4MPEG2, or pairs with disparity if the first letter is D, in pieces of 37 bytes. */
export function readStream(bytes: Uint8Array): void {
  let target = new Uint8Array(0);
  const header = bytes[0] === 0x44 ? PAIRS : Y4M;
  const sink: FrameSink = {
    onLayout: ({ imageBytes }) => {
      // The memory of a pool of frames is not counted.
      target = new Uint8Array(Math.min(imageBytes, 1 << 20));
    },
    begin: () => (target.length > 0 && target.length < 1 << 20 ? target : "drop"),
    end: () => {
      if (header === PAIRS) checkDisparities(target);
    },
    shared: () => {},
  };
  const reader = new FrameStream(undefined, sink, header);
  for (let at = 0; at < bytes.length; at += 37) reader.push(bytes.subarray(at, at + 37));
}

/** A helper's memory, as a file in `folder`, with frames of 256 bytes. */
export function readSharedFrames(bytes: Uint8Array, folder: string): void {
  const file = `${folder}/ring`;
  writeFileSync(file, bytes);
  const frames = new SharedFrames(file, 256);
  try {
    for (let number = 1; number <= 4; number++) frames.read(number, new Uint8Array(200));
  } finally {
    frames.close();
  }
}

/** A calibration of any format, through a file in `folder`; `right` is the other camera's where it is ROS's. */
export function readCalibration(bytes: Uint8Array, folder: string, right: string): void {
  const text = Buffer.from(bytes);
  const file = `${folder}/${text.subarray(0, 40).includes("<") ? "left.xml" : "left.yaml"}`;
  writeFileSync(file, bytes);
  loadStereoCalibration(text.includes("projection_matrix") ? [file, right] : file);
}

const WIDTH = 64;
const texture = (shift: number) =>
  Uint8Array.from({ length: WIDTH * 48 }, (_, at) => 128 + 60 * Math.sin(at + shift));
const FRAME = {
  width: WIDTH,
  height: 48,
  left: texture(0),
  right: texture(6),
  disparityQ4: Int16Array.from({ length: WIDTH * 48 }, (_, at) => 64 + (at % WIDTH)),
  confidence: new Uint8Array(WIDTH * 48).fill(200),
  clock: "realtime" as const,
  timestampNs: 1n,
  sequence: 1,
  timeMs: 1,
};
const tracks = new Tracks(60);

/** Detections in every format, answered for a small frame. `rig` undefined: there is no calibration. */
export function readDetections(
  bytes: Uint8Array,
  rig: Parameters<typeof answerDetections>[3]["picture"]["rig"],
): void {
  const text = Buffer.from(bytes).toString();
  const reasons: string[] = [];
  for (const format of DETECTION_FORMATS) {
    const imageSize = format === "frigate" ? { width: 640, height: 480 } : undefined;
    const message = parseMessage(text, { format, camera: undefined, imageSize });
    if (message === undefined) continue;
    if ("reason" in message) {
      if (message.reason === "") throw new Error("refused without a reason");
      reasons.push(message.reason);
      continue;
    }
    const { detections } = message;
    if (detections.length > MAX_DETECTIONS) throw new Error(`accepted ${detections.length} detections`);
    for (const image of ["raw", "rectified"] as const) {
      const options = { picture: { rig, hasDepth: rig !== undefined }, image, minConfidence: 1 };
      const answers = answerDetections(FRAME, detections, tracks, options);
      if (answers.length !== detections.length) throw new Error("a detection has no answer");
      for (const answer of answers) checkAnswer(answer);
    }
  }
  if (reasons.length === DETECTION_FORMATS.length)
    throw new DepthwattError("CONFIG_INVALID", `refused by every format: ${reasons.join("; ")}`);
}

/** A distance is a number above 0 or missing with a reason, and no number is NaN or infinite. */
function checkAnswer(answer: object): void {
  const { distanceMetres } = answer as { distanceMetres: number | { reason: string } };
  const known = typeof distanceMetres === "number" ? distanceMetres > 0 : distanceMetres.reason !== "";
  if (!known) throw new Error(`expected a distance or a reason, got ${JSON.stringify(answer)}`);
  const check = (value: unknown): void => {
    if (typeof value === "number" && !Number.isFinite(value)) throw new Error(`${value} in an answer`);
    if (typeof value === "object" && value !== null) Object.values(value).forEach(check);
  };
  check(answer);
}
