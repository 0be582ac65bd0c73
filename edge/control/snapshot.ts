// SPDX-License-Identifier: Apache-2.0
// All streams of one frame as a zip. The frame is copied and given back at once; its pictures are packed off the JavaScript
// thread, and the zip only stores them.
import {
  disparityFromQ4,
  disparityToPng16,
  encodePfm,
  encodePng,
  type FloatImage,
} from "../../camera/index.js";
import { DepthwattError, isDepthwattError } from "../../core/index.js";
import type { ComputedFrame, FrameSink } from "../contracts/computed-frame.js";

export interface Snapshot {
  zip: Uint8Array;
  /** Names of the files in it. */
  files: string[];
  width: number;
  height: number;
}

/** The facts that accompany the images. */
export interface SnapshotFacts {
  info: object;
  cameraInfo: object | undefined;
}

interface Copied {
  facts: SnapshotFacts;
  frame: Omit<ComputedFrame, "slot" | "result" | "encodings" | "images">;
  left: Uint8Array;
  disparityQ4: Int16Array;
  confidence: Uint8Array;
  /** Empty where depth is unknown. */
  depthMillimetres: Uint16Array;
}

interface Waiting {
  resolve: (copied: Copied) => void;
  reject: (error: Error) => void;
}

const LONGEST_WAIT_MS = 5000;

export class Snapshots {
  readonly #facts: () => SnapshotFacts;
  #waiting: Waiting[] = [];
  #closed = false;

  constructor(facts: () => SnapshotFacts) {
    this.#facts = facts;
  }

  readonly sink: FrameSink = (frame, release) => {
    if (this.#waiting.length > 0) {
      const copied = copy(frame, this.#facts());
      for (const { resolve } of this.#waiting.splice(0)) resolve(copied);
    }
    release();
  };

  /** Takes a snapshot of the next frame. @throws DepthwattError STREAM_SILENT, RUN_ENDED */
  async take(): Promise<Snapshot> {
    if (this.#closed) throw ended();
    const copied = await new Promise<Copied>((resolve, reject) => {
      const waiting = { resolve, reject };
      const late = () => {
        this.#waiting = this.#waiting.filter((one) => one !== waiting);
        reject(new DepthwattError("STREAM_SILENT", `no frame was computed within ${LONGEST_WAIT_MS} ms`));
      };
      const timer = setTimeout(late, LONGEST_WAIT_MS).unref();
      waiting.resolve = (value) => {
        clearTimeout(timer);
        resolve(value);
      };
      this.#waiting.push(waiting);
    });
    return pack(copied);
  }

  close(): void {
    this.#closed = true;
    for (const { reject } of this.#waiting.splice(0)) reject(ended());
  }
}

const ended = () => new DepthwattError("RUN_ENDED", "the run ended before another frame came");

function copy(
  { slot, result: _result, encodings: _encodings, images: _images, ...frame }: ComputedFrame,
  facts: SnapshotFacts,
): Copied {
  const { left, disparityQ4, confidence, depthMillimetres } = slot;
  return {
    facts,
    frame,
    left: left.slice(),
    disparityQ4: disparityQ4.slice(),
    confidence: confidence.slice(),
    depthMillimetres: depthMillimetres.slice(),
  };
}

/** 16-bit PNG, 1/256 px; a PFM where that does not hold the disparities. */
async function packDisparity(disparity: FloatImage): Promise<[name: string, file: Uint8Array]> {
  try {
    return ["disparity.png", await encodePng(disparityToPng16(disparity, "disparity.png"))];
  } catch (error) {
    if (!isDepthwattError(error) || error.code !== "IMAGE_UNSUPPORTED") throw error;
    return ["disparity.pfm", encodePfm(disparity)];
  }
}

const json = (value: object) =>
  new TextEncoder().encode(
    `${JSON.stringify(value, (_, item) => (typeof item === "bigint" ? item.toString() : item), 2)}\n`,
  );

async function pack({ facts, frame, ...maps }: Copied): Promise<Snapshot> {
  const { width, height } = frame;
  const grey = (data: Uint8Array | Uint16Array) => encodePng({ data, width, height });
  const hasDepth = maps.depthMillimetres.length > 0;
  const [left, confidence, disparity, depth] = await Promise.all([
    grey(maps.left),
    grey(maps.confidence),
    packDisparity(disparityFromQ4(maps.disparityQ4, width, height)),
    hasDepth ? grey(maps.depthMillimetres) : undefined,
  ]);
  const files: Record<string, Uint8Array> = {
    "left.png": left,
    [disparity[0]]: disparity[1],
    "confidence.png": confidence,
    ...(depth && { "depth.png": depth }),
    "frame.json": json(frame),
    "info.json": json(facts.info),
    ...(facts.cameraInfo && { "camera_info.json": json(facts.cameraInfo) }),
  };
  const { zipSync } = await import("fflate"); // loaded with the first snapshot
  // The pictures are packed already.
  return { zip: zipSync(files, { level: 0 }), files: Object.keys(files), width, height };
}
