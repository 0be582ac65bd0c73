// SPDX-License-Identifier: Apache-2.0
// The native capture when it is closed or restarted: what goes back, and nothing that is left.
import { readdirSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, test } from "vitest";
import { type CameraFrame, V4l2Camera } from "../src/camera.js";
import { counted, readCounter, until, video } from "./fake-video/helpers.js";
import {
  descriptors,
  fake,
  openAndStart,
  options,
  PATH,
  useFreshDriver,
} from "./fake-video/native-camera.js";

describe("closing and restarting a native capture", () => {
  beforeEach(useFreshDriver);

  test("closed cameras leave nothing behind", async () => {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    const closed: WeakRef<V4l2Camera>[] = [];
    fake.plugIn({ path: PATH });
    for (let i = 0; i < 10; i++) {
      const { camera } = await openAndStart();
      await camera.close();
      closed.push(new WeakRef(camera));
    }
    // The newest may still stand in a register or on the stack.
    await until(() => {
      collect();
      return closed.filter((reference) => reference.deref() !== undefined).length <= 1;
    }, "the cameras are collected");
  });

  test("closed from within its first image: what was announced behind it goes back unread", async () => {
    fake.plugIn({ path: PATH });
    const camera = await V4l2Camera.open(video, options());
    const frames: CameraFrame[] = [];
    let closed: Promise<void> | undefined;
    camera.start({
      onFrame: (frame) => {
        frames.push(frame);
        closed = camera.close();
      },
      onFault: () => {},
    });
    await until(() => fake.state(PATH).streaming, "stream on");
    for (let i = 0; i < 4; i++) fake.deliver(PATH, { timestampNs: 1n, sequence: i, bytes: counted(i) });
    // The camera's thread announces all four while this thread looks at nothing.
    const end = performance.now() + 20_000;
    while (camera.native.statistics().frames < 4 && performance.now() < end);
    await until(() => closed !== undefined, "closing");
    await closed;
    expect(frames).toHaveLength(1);
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 1 });
    expect(camera.native.images.filter(({ length }) => length > 0)).toHaveLength(1);
    camera.release(frames[0]!);
    expect(fake.state(PATH).mappings).toBe(0);
  });

  test("a restart keeps held buffers and queues the others again", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(7) });
    await until(() => frames.length === 1, "an image");
    const at = Number(process.hrtime.bigint()) + 60e6;
    camera.native.restartAt(at);
    await until(() => fake.state(PATH).streamOns === 2, "stream on again");
    expect(camera.native.statistics().streamOnNs - at).toBeGreaterThanOrEqual(0);
    // No earlier; how soon after it the thread is woken is the machine's affair.
    expect(camera.native.statistics().streamOnNs - at).toBeLessThan(5e9);
    expect(fake.state(PATH).queued).toBe(7);
    expect(readCounter(frames[0]!.data)).toBe(7);
    camera.release(frames[0]!);
    expect(fake.state(PATH).queued).toBe(8);
    await camera.close();
  });

  test("a restart in the far future is none to wait for: the stream is back at once, and closes", async () => {
    fake.plugIn({ path: PATH });
    const { camera } = await openAndStart();
    for (const [restart, seconds] of [3, 3600, 1e9].entries()) {
      camera.native.restartAt(Number(process.hrtime.bigint()) + seconds * 1e9);
      await until(
        () => fake.state(PATH).streamOns === restart + 2,
        `stream on again, not in ${seconds} s`,
        2000,
      );
    }
    camera.native.restartAt(Number(process.hrtime.bigint()) + 3600e9);
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("images that were announced and never read are empty once the camera is closed", async () => {
    fake.plugIn({ path: PATH });
    const { camera } = await openAndStart();
    const images = camera.native.images.map((image) => image);
    for (let i = 0; i < 3; i++) fake.deliver(PATH, { timestampNs: 1n, sequence: i, bytes: counted(i) });
    // The camera's thread announces all three while this thread reads none.
    const end = performance.now() + 20_000;
    while (camera.native.statistics().frames < 3 && performance.now() < end);
    const closed = camera.native.close();
    await closed;
    expect(images.map(({ length }) => length)).toEqual(Array(8).fill(0));
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("100 times open, stream, close: no descriptor, mapping or thread is left", async () => {
    fake.plugIn({ path: PATH });
    const once = async (i: number) => {
      const { camera, frames } = await openAndStart();
      fake.deliver(PATH, { timestampNs: 1n, sequence: i, bytes: counted(i) });
      // Every other camera is closed with an image announced and not read.
      if (i % 2 === 0) {
        await until(() => frames.length === 1, "an image");
        camera.release(frames[0]!);
      }
      await camera.close();
    };
    await once(0);
    const before = descriptors();
    const threads = readdirSync("/proc/self/task").length;
    for (let i = 0; i < 100; i++) await once(i);
    expect(descriptors()).toBe(before);
    // The kernel lists a thread for a moment after it was joined.
    await until(() => readdirSync("/proc/self/task").length <= threads, "no thread left");
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });
});
