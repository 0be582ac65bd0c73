// SPDX-License-Identifier: Apache-2.0
// Frames of every stream and encoding, small, made by the writer of the frame format. frames.json holds their bytes as they were
// written once; `node test/golden/frame-cases.mjs` writes it anew, which only a new version of the format may need.
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { encodePng } from "../../dist/camera/index.js";
import { crc32 } from "../../dist/core/frame/crc32.js";
import { writeFrame } from "../../dist/core/frame/payload.js";
import { encodeRvl, rvlMaxBytes } from "../../dist/core/frame/rvl.js";
import { encodeVoxels, sortedVoxels, voxelsMaxBytes } from "../../dist/core/frame/voxels.js";

const HEADROOM = 128;
const [WIDTH, HEIGHT] = [24, 17];

/** A slope with holes, full-range jumps and a row of zeros. */
const depth = (width, height) =>
  Uint16Array.from({ length: width * height }, (_, i) => {
    if (i % 7 === 3 || Math.floor(i / width) === 2) return 0;
    if (i % 31 === 5) return i % 2 === 0 ? 65535 : 1;
    return 900 + 3 * (i % width) + ((i * 2654435761) >>> 29);
  });
const bytes = (width, height) => Uint8Array.from({ length: width * height }, (_, i) => (i * 37) & 255);

const POINTS = { stream: "points", encoding: "raw", element: "i16" };

/** Bodies of points as the engine writes them; every seventh pixel has none. */
function points(width, height, { element, points: { colour } }) {
  const [float, grey] = [element === "f32", colour === "grey"];
  const pointBytes = float ? 16 : grey ? 8 : 10;
  const body = new DataView(new ArrayBuffer(width * height * pointBytes));
  for (let i = 0; i < width * height; i++) {
    const at = i * pointBytes;
    for (let axis = 0; axis < 3; axis++) {
      const millimetres = i % 7 === 3 ? undefined : ((i * 37 + axis * 1009) % 60001) - 30000;
      if (float) body.setFloat32(at + 4 * axis, millimetres === undefined ? NaN : millimetres / 1000, true);
      else body.setInt16(at + 2 * axis, millimetres ?? -32768, true);
    }
    const colours = grey && !float ? [(i * 37) & 255, 0] : [i & 255, (i * 3) & 255, (i * 7) & 255, 255];
    for (const [c, value] of colours.entries()) body.setUint8(at + (float ? 12 : 6) + c, value);
  }
  return new Uint8Array(body.buffer);
}

const VOXELS = { stream: "points", encoding: "voxels", element: "i16" };
const VOXEL_FORM = { frame: "robot", colour: "none", voxelMetres: 0.05 };

/** Voxels of a slope, of three levels, with steps of every kind and both ends of the cells. */
function voxels(width, height) {
  const cells = new Map([
    ["-32768,32767,-32768,7", [-32768, 32767, -32768, 7]],
    ["32767,-32768,32767,7", [32767, -32768, 32767, 7]],
  ]);
  for (let i = 0; i < width * height; i += 3) {
    const cell = [(i % width) >> 1, Math.floor(i / width) - 8, (i % 7) - 3, i % 3];
    cells.set(cell.join(), cell);
  }
  return Int16Array.from([...cells.values()].flat());
}

/**
 * [name, changes to the description, counts].
 * @type {[string, object, (width: number, height: number, frame: any) => any][]}
 */
const CASES = [
  ["depth rvl", { encoding: "rvl" }, depth],
  ["depth raw", { encoding: "raw" }, depth],
  [
    "depth raw f32",
    { encoding: "raw", element: "f32" },
    (w, h) => Float32Array.from(depth(w, h), (z) => (z === 0 ? NaN : z / 1000)),
  ],
  ["depth png", { encoding: "png" }, depth],
  ["depth compressedDepth", { encoding: "compressedDepth" }, depth],
  ["depth rvl, nothing valid", { encoding: "rvl" }, (w, h) => new Uint16Array(w * h)],
  ["depth rvl, one pixel", { encoding: "rvl", width: 1, height: 1 }, () => Uint16Array.of(65535)],
  ["disparity rvl", { stream: "disparity", encoding: "rvl" }, depth],
  [
    "disparity png",
    { stream: "disparity", encoding: "png", clock: "file", realtimeOffsetNs: undefined },
    depth,
  ],
  ["confidence raw", { stream: "confidence", encoding: "raw", element: "u8" }, bytes],
  ["confidence png", { stream: "confidence", encoding: "png", element: "u8" }, bytes],
  ["left raw", { stream: "left", encoding: "raw", element: "u8", timestampPoint: "endOfFrame" }, bytes],
  [
    "left raw rgb8",
    { stream: "left", encoding: "raw", element: "rgb8" },
    (width, height) => bytes(3 * width, height),
  ],
  ["depth rvl, half", { encoding: "rvl", reduction: 2 }, depth],
  ["disparity png, quarter", { stream: "disparity", encoding: "png", reduction: 4 }, depth],
  ["points f32 rgb", { ...POINTS, element: "f32", points: { frame: "camera", colour: "rgb" } }, points],
  ["points i16 grey, half", { ...POINTS, reduction: 2, points: { frame: "robot", colour: "grey" } }, points],
  ["points i16 rgb", { ...POINTS, points: { frame: "camera", colour: "rgb" } }, points],
  [
    "depth rvl with energy",
    {
      encoding: "rvl",
      energy: { available: true, joules: 0.375, joulesUncertainty: 0.03, seconds: 0.03125, ageMs: 87.4 },
    },
    depth,
  ],
  [
    "depth compressedDepth with energy of unknown uncertainty",
    {
      encoding: "compressedDepth",
      energy: {
        available: true,
        joules: 2,
        joulesUncertainty: { available: false, reason: "" },
        seconds: 0.5,
        ageMs: 1e6,
      },
    },
    depth,
  ],
  ["points voxels", { ...VOXELS, points: VOXEL_FORM }, voxels],
  [
    "points voxels, twice as large, none",
    { ...VOXELS, reduction: 2, points: { ...VOXEL_FORM, frame: "camera", voxelMetres: 0.1 } },
    () => new Int16Array(0),
  ],
];

async function packed(encoding, counts, width, height) {
  if (encoding === "png") return new Uint8Array(await encodePng({ data: counts, width, height }));
  if (encoding === "raw") return new Uint8Array(counts.buffer);
  if (encoding === "voxels") {
    const keys = sortedVoxels(counts);
    const body = new Uint8Array(voxelsMaxBytes(keys.length));
    return body.subarray(0, encodeVoxels(keys, body, 0));
  }
  const body = new Uint8Array(rvlMaxBytes(counts.length));
  return body.subarray(0, encodeRvl(counts, body));
}

/**
 * [{name, message, countsCrc}]
 * @returns {Promise<{name: string, message: Uint8Array, countsCrc: number}[]>}
 */
export async function goldenFrames() {
  const frames = [];
  for (const [index, [name, changes, counter]] of CASES.entries()) {
    /** @type {any} */
    const frame = {
      stream: "depth",
      encoding: "rvl",
      element: "u16",
      width: WIDTH,
      height: HEIGHT,
      clock: "monotonic",
      leftTimestampNs: 123456789012345n,
      rightTimestampNs: 123456789012399n,
      realtimeOffsetNs: 1700000000000000000n,
      leftSequence: 41,
      rightSequence: 40,
      ...changes,
    };
    const counts = counter(frame.width, frame.height, frame);
    const body = await packed(frame.encoding, counts, frame.width, frame.height);
    const buffer = new Uint8Array(HEADROOM + body.length);
    buffer.set(body, HEADROOM);
    const identity = { frameNumber: 1000 + index, runId: 0x2f6b9c01, clockDomain: 0x8d1e55aa };
    const message = writeFrame(buffer, HEADROOM, body.length, frame, identity);
    frames.push({ name, message: message.slice(), countsCrc: crc32(new Uint8Array(counts.buffer)) });
  }
  return frames;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const frames = (await goldenFrames()).map(({ message, ...facts }) => ({
    ...facts,
    base64: Buffer.from(message).toString("base64"),
  }));
  writeFileSync(new URL("frames.json", import.meta.url), `${JSON.stringify(frames, null, 2)}\n`);
}
