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
import { crc32 } from "../../core/frame/crc32.js";
import { FRAME_HEADER_BYTES } from "../../core/frame/frame-format.js";
import { parseFrame } from "../../core/frame/payload.js";

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
