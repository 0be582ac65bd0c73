// SPDX-License-Identifier: Apache-2.0
// The live page with frames of a test: the real server, hub and page, and pictures whose every pixel is known.
import { FRAME_HEADER_BYTES, type PictureStream } from "../../core/frame/frame-format.js";
import { type FrameDescription, writeFrame } from "../../core/frame/payload.js";
import { encodeRvl, rvlMaxBytes } from "../../core/frame/rvl.js";
import type { PasswordGate } from "../../edge/http/index.js";
import { HttpServer } from "../../edge/http/index.js";
import { servePage } from "../../edge/outputs/viewer/assets.js";
import { Hub, type HubOptions } from "../../edge/outputs/viewer/hub.js";
import { seededRandom } from "./rvl-pictures.js";

export const CAMERA = { K: [320, 0, 79.5, 0, 310, 59.5, 0, 0, 1], baselineMetres: 0.1, focalPixels: 320 };

export interface KnownFrame {
  depth: Uint16Array;
  disparity: Uint16Array;
  confidence: Uint8Array;
  left: Uint8Array;
}

/** Random pictures with holes (0) and filled pixels (confidence 0); the same for the same seed. */
export function knownFrame(seed: number, pixels: number): KnownFrame {
  const random = seededRandom(seed);
  const hole = (value: number) => (random() < 0.1 ? 0 : value);
  return {
    depth: Uint16Array.from({ length: pixels }, () => hole(500 + Math.floor(random() * 60_000))),
    disparity: Uint16Array.from({ length: pixels }, () => hole(1 + Math.floor(random() * 1024))),
    confidence: Uint8Array.from({ length: pixels }, () => (random() < 0.2 ? 0 : Math.floor(random() * 256))),
    left: Uint8Array.from({ length: pixels }, () => Math.floor(random() * 256)),
  };
}

export interface PageFeed {
  hub: Hub;
  server: HttpServer;
  url: string;
  width: number;
  height: number;
  /** Numbers count up; resolves when no socket needs the bytes any more. */
  send(frame: KnownFrame, device?: string): Promise<void>;
  /** Sends at a steady rate until the function that is returned is called. */
  stream(hz: number, frames?: readonly KnownFrame[]): () => void;
  sent(): number;
  close(): Promise<void>;
}

export function frameMessage(
  stream: PictureStream,
  counts: Uint16Array | Uint8Array,
  changes: Partial<FrameDescription> & Pick<FrameDescription, "width" | "height">,
  frameNumber: number,
): Uint8Array {
  const element = counts instanceof Uint16Array ? "u16" : "u8";
  const encoding = changes.encoding ?? "raw";
  const buffer = new Uint8Array(FRAME_HEADER_BYTES + rvlMaxBytes(counts.length));
  let bodyBytes = counts.byteLength;
  if (encoding === "rvl") bodyBytes = encodeRvl(counts as Uint16Array, buffer, FRAME_HEADER_BYTES);
  else buffer.set(new Uint8Array(counts.buffer, counts.byteOffset, counts.byteLength), FRAME_HEADER_BYTES);
  const description: FrameDescription = {
    stream,
    encoding,
    element,
    clock: "monotonic",
    realtimeOffsetNs: 0n,
    leftTimestampNs: BigInt(frameNumber) * 33_000_000n,
    rightTimestampNs: BigInt(frameNumber) * 33_000_000n,
    leftSequence: frameNumber,
    rightSequence: frameNumber,
    ...changes,
  };
  const identity = { frameNumber, runId: 7, clockDomain: 0 };
  return writeFrame(buffer, FRAME_HEADER_BYTES, bodyBytes, description, identity);
}

export interface PageFeedOptions extends Partial<HubOptions> {
  width?: number;
  height?: number;
  port?: number;
  gate?: PasswordGate;
}

export async function openPageFeed(options: PageFeedOptions = {}): Promise<PageFeed> {
  const { width = 160, height = 120, port = 0, ...rest } = options;
  const hub = new Hub({ kind: "run", origin: "a test", ...rest });
  const server = new HttpServer({ address: "127.0.0.1", port });
  servePage(server, hub);
  await server.listen();
  hub.document("bench", "state", { state: "online", reason: "a test" });
  hub.document("bench", "cameraInfo", CAMERA);
  let number = 0;
  const send = (frame: KnownFrame, device = "bench") => {
    number++;
    if (hub.wanted(device).size === 0) return Promise.resolve();
    const size = { width, height };
    const frames = new Map<PictureStream, Uint8Array>([
      ["left", frameMessage("left", frame.left, size, number)],
      ["depth", frameMessage("depth", frame.depth, { ...size, encoding: "rvl" }, number)],
      ["disparity", frameMessage("disparity", frame.disparity, size, number)],
      ["confidence", frameMessage("confidence", frame.confidence, size, number)],
    ]);
    return new Promise<void>((resolve) => hub.send(device, frames, resolve));
  };
  const known = [1, 2, 3, 4].map((seed) => knownFrame(seed, width * height));
  return {
    hub,
    server,
    url: server.url as string,
    width,
    height,
    send,
    sent: () => number,
    stream(hz, frames = known) {
      const timer = setInterval(() => void send(frames[number % frames.length] as KnownFrame), 1000 / hz);
      return () => clearInterval(timer);
    },
    async close() {
      hub.close();
      await server.close();
    },
  };
}
