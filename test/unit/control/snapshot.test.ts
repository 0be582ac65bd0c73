// SPDX-License-Identifier: Apache-2.0
// Tests the zip of one frame: its files and their bytes, and how long a snapshot waits for a frame. Also the limit of requests.
import { decode } from "fast-png";
import { strFromU8, unzipSync } from "fflate";
import { afterEach, expect, test, vi } from "vitest";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import { RateLimit } from "../../../edge/control/rate-limit.js";
import { Snapshots } from "../../../edge/control/snapshot.js";

afterEach(() => void vi.useRealTimers());

function computed(disparityQ4: number[], depthMillimetres: number[]): ComputedFrame {
  const slot = {
    left: Uint8Array.of(1, 2, 3, 4),
    disparityQ4: Int16Array.from(disparityQ4),
    confidence: Uint8Array.of(9, 8, 7, 6),
    depthMillimetres: Uint16Array.from(depthMillimetres),
  };
  return { slot, width: 2, height: 2, leftTimestampNs: 5n, images: {}, encodings: {} } as never;
}

async function taken(frame: ComputedFrame, cameraInfo?: object) {
  const snapshots = new Snapshots(() => ({ info: { version: "1" }, cameraInfo }));
  const waiting = [snapshots.take(), ...(cameraInfo === undefined ? [] : [snapshots.take()])];
  let released = 0;
  snapshots.sink(frame, () => released++);
  // The slot is used again at once.
  frame.slot.left.fill(0);
  const [snapshot, other] = await Promise.all(waiting);
  expect(other ?? snapshot).toEqual(snapshot);
  expect(released).toBe(1);
  const files = unzipSync(snapshot!.zip);
  expect(Object.keys(files)).toEqual(snapshot!.files);
  expect([snapshot!.width, snapshot!.height]).toEqual([2, 2]);
  return files;
}

test("a calibrated frame: images, depth, and documents", async () => {
  const files = await taken(computed([-32768, 16, 24, 4095], [0, 1000, 65535, 7]), { model: "pinhole" });
  expect(Object.keys(files)).toEqual([
    "left.png",
    "disparity.png",
    "confidence.png",
    "depth.png",
    "frame.json",
    "info.json",
    "camera_info.json",
  ]);
  const pixels = (name: string) => [...decode(files[name]!).data];
  expect(pixels("left.png")).toEqual([1, 2, 3, 4]);
  expect(pixels("disparity.png")).toEqual([0, 256, 384, 65520]);
  expect(pixels("confidence.png")).toEqual([9, 8, 7, 6]);
  expect(pixels("depth.png")).toEqual([0, 1000, 65535, 7]);
  const document = (name: string) => JSON.parse(strFromU8(files[name]!));
  expect(document("frame.json")).toEqual({ width: 2, height: 2, leftTimestampNs: "5" });
  expect(document("info.json")).toEqual({ version: "1" });
  expect(document("camera_info.json")).toEqual({ model: "pinhole" });
});

test("an uncalibrated frame has no depth, and disparities of 256 pixels need a PFM", async () => {
  expect(Object.keys(await taken(computed([0, 0, 0, 4096], [])))).toEqual([
    "left.png",
    "disparity.pfm",
    "confidence.png",
    "frame.json",
    "info.json",
  ]);
});

test("a snapshot waits five seconds for a frame, and nothing waits after close()", async () => {
  vi.useFakeTimers();
  const snapshots = new Snapshots(() => expect.fail("no snapshot waits"));
  const codes: string[] = [];
  const take = () => snapshots.take().catch(({ code }) => codes.push(code));
  const late = take();
  await vi.advanceTimersByTimeAsync(4999);
  expect(codes).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  await late;
  expect(codes).toEqual(["STREAM_SILENT"]);
  const release = vi.fn();
  snapshots.sink(computed([0, 0, 0, 0], []), release);
  expect(release).toHaveBeenCalledOnce();
  const waiting = take();
  snapshots.close();
  await Promise.all([waiting, take()]);
  expect(codes).toEqual(["STREAM_SILENT", "RUN_ENDED", "RUN_ENDED"]);
});

test("so many requests in any second", () => {
  let now = 0;
  const limit = new RateLimit(2, () => now);
  const taken = [0, 400, 999, 1000, 1001, 1399, 1400, 1401].map((ms) => {
    now = ms;
    return limit.take();
  });
  expect(taken).toEqual([true, true, false, true, false, false, true, false]);
});
