// SPDX-License-Identifier: Apache-2.0
// The native capture of one camera of a driver in memory, new for each test.
import { readdirSync } from "node:fs";
import { type CameraFrame, V4l2Camera } from "../../src/camera.js";
import type { NativeOpenOptions } from "../../src/native.js";
import { type FakeVideo, fakeVideo } from "./fake-video.js";
import { until, video } from "./helpers.js";

export const PATH = "/dev/fake0";
export let fake: FakeVideo;

/** Call it before each test. */
export function useFreshDriver(): void {
  fake = fakeVideo();
}

export const options = (more: Partial<NativeOpenOptions> = {}): NativeOpenOptions => ({
  path: PATH,
  fourcc: "GREY",
  width: 64,
  height: 48,
  system: fake.system,
  ...more,
});

export async function openAndStart(more: Partial<NativeOpenOptions> = {}) {
  const camera = await V4l2Camera.open(video, options(more));
  const frames: CameraFrame[] = [];
  const faults: string[] = [];
  camera.start({ onFrame: (frame) => frames.push(frame), onFault: (error) => faults.push(error.message) });
  await until(() => fake.state(PATH).streaming || faults.length > 0, "stream on");
  return { camera, frames, faults };
}

export const descriptors = () => readdirSync("/proc/self/fd").length;
