// SPDX-License-Identifier: Apache-2.0
// A driver with one camera, new for each test, and everything closed behind it.
import { afterEach, beforeEach, expect } from "vitest";
import { type Camera, type CameraRequest, type Frame, open } from "../../src/index.js";
import { type FakeCamera, type FakeVideo, fakeVideo } from "./fake-video.js";
import { counted, now, until } from "./helpers.js";

export const PATH = "/dev/fake0";
export const GAIN = { id: 0x980913, name: "Gain", minimum: 0, maximum: 100, step: 5, value: 10 };
export const EXPOSURE = {
  id: 0x9a0902,
  name: "Exposure Time, Absolute",
  minimum: 1,
  maximum: 1000,
  value: 50,
};

export let fake: FakeVideo;
export let cameras: Camera[] = [];
let sequence = 0;

export const around = () => ({ system: fake.system, folders: { sysfs: "/nowhere" } });

export async function opened(request: CameraRequest = {}, camera: Partial<FakeCamera> = {}): Promise<Camera> {
  fake.plugIn({ path: PATH, ...camera });
  const one = await open(PATH, request, around());
  cameras.push(one);
  return one;
}

/** The next image of a count that begins with each test, or where it reports it. */
export function deliver(bytes: Uint8Array = counted(sequence), more = {}): void {
  expect(fake.deliver(PATH, { timestampNs: now(), sequence, bytes, ...more })).toBe(true);
  sequence++;
}
export function countAgain(): void {
  sequence = 0;
}
export const streaming = () => until(() => fake.state(PATH).streaming, "stream on");

/** Starts reading in a loop. @returns what was read, and how the loop ended */
export function looped(camera: Camera, body: (frame: Frame) => unknown = () => {}) {
  const seen: number[] = [];
  const ended = (async () => {
    for await (const frame of camera) {
      seen.push(frame.sequence);
      await body(frame);
    }
  })();
  return { seen, ended };
}

/** Makes a new driver before each test of the calling file, and closes its cameras after it. Files share processes, so each calls it. */
export function useOneCamera(): void {
  beforeEach(() => {
    fake = fakeVideo();
    cameras = [];
    sequence = 0;
  });
  afterEach(async () => {
    for (const camera of cameras) await camera.close();
    for (const { identity, path } of cameras)
      if (identity.driver === "fake") expect(fake.state(path).opens).toBe(0);
  });
}
