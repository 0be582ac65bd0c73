// SPDX-License-Identifier: Apache-2.0
// Tests cameras that write into the process's own memory (source.memory: userptr): images arrive in the engine's
// memory, from the first to the last camera, and no camera writes under a reader.
import { readlinkSync } from "node:fs";
import { constants } from "node:os";
import { V4l2Camera } from "v4l2-camera/parts";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  type FramePair,
  openV4l2Source,
  type PairSource,
  type V4l2Settings,
} from "../../../../camera/index.js";
import { type FakeVideo, fakeVideo } from "../../../../camera/v4l2/test/fake-video/fake-video.js";
import { motionJpeg } from "../../../../camera/v4l2/test/motion-jpeg.js";
import { clocks, counted, now, play, recording, rest, until, video } from "../../../doubles/cameras.js";
import { needs } from "../../../doubles/needs.js";

const [LEFT, RIGHT] = ["/dev/fake0", "/dev/fake1"];
let fake: FakeVideo;
let cleanups: (() => unknown)[] = [];

async function open(settings: Partial<V4l2Settings> = {}) {
  const source = await openV4l2Source(
    { left: LEFT, right: RIGHT, width: 64, height: 48, buffers: 5, memory: "userptr", ...settings },
    { video, clocks, system: fake.system, folders: { sysfs: "/nowhere" } },
  );
  cleanups.push(() => source.stop());
  return source;
}

const memoryBytes = (source: PairSource) =>
  source.inputMemory!.map((one) => ("bytes" in one ? one.bytes : one));
const memoryBuffers = (source: PairSource) => memoryBytes(source).map(({ buffer }) => buffer);

needs("toolchain").suite("cameras that write into the process's memory", () => {
  beforeEach(() => {
    fake = fakeVideo();
    for (const path of [LEFT, RIGHT]) fake.plugIn({ path });
    cleanups = [];
  });
  afterEach(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
    for (const path of [LEFT, RIGHT]) expect(fake.state(path)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("images of both cameras arrive in the memory that the source offers, in whole pages", async () => {
    const source = await open();
    const memory = memoryBuffers(source);
    expect(new Set(memory).size).toBe(10);
    for (const one of memory) expect(one.byteLength).toBe(4096);
    const held: FramePair[] = [];
    // A source does not stop before its pairs are back.
    cleanups.push(() => {
      for (const pair of held) pair.release();
    });
    source.start({
      ...recording().events,
      onPair: (pair) => {
        if (held.length < 3) held.push(pair);
        else pair.release();
      },
    });
    cleanups.push(play(fake, LEFT), play(fake, RIGHT));
    await until(() => held.length === 3, "three pairs");
    expect(fake.state(LEFT).mappings).toBe(0);
    for (const pair of held) {
      expect(memory.slice(0, 5)).toContain(pair.left.data.buffer);
      expect(memory.slice(5)).toContain(pair.right.data.buffer);
    }
  });

  test("a camera that comes back writes into the same memory", async () => {
    const source = await open();
    const memory = memoryBuffers(source);
    const buffers = new Set<ArrayBufferLike>();
    const { seen, degraded, events } = recording();
    source.start({
      ...events,
      onPair: (pair) => {
        buffers.add(pair.right.data.buffer);
        events.onPair(pair);
      },
    });
    cleanups.push(play(fake, LEFT), play(fake, RIGHT));
    await until(() => seen.length > 5, "pairs");
    fake.unplug(RIGHT);
    await until(() => degraded.length === 1, "degraded");
    buffers.clear();
    fake.plug(RIGHT);
    await until(() => buffers.size > 0, "pairs again");
    expect(memoryBuffers(source)).toEqual(memory);
    for (const buffer of buffers) expect(memory.slice(5)).toContain(buffer);
  });

  test("not before its old images are back: images that are being read stay unchanged", async () => {
    const source = await open();
    const { held, degraded, events } = recording(true);
    source.start(events);
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream");
    const at = now();
    for (const path of [LEFT, RIGHT]) fake.deliver(path, { timestampNs: at, sequence: 9, bytes: counted(9) });
    await until(() => held.length === 1, "a pair");
    fake.unplug(RIGHT);
    await until(() => degraded.length === 1, "degraded");
    fake.plug(RIGHT);
    // Two looks for the camera go by.
    await rest(500);
    expect(fake.state(RIGHT).opens).toBe(0);
    expect(held[0]!.right.data[0]).toBe(9);
    held[0]!.release();
    await until(() => fake.state(RIGHT).streaming, "the camera again");
  });

  test("the memory survives the cameras: an engine lets go of it later", async () => {
    const source = await open();
    const { events } = recording();
    source.start(events);
    await until(() => fake.state(LEFT).streaming && fake.state(RIGHT).streaming, "both stream");
    const at = now();
    for (const path of [LEFT, RIGHT]) fake.deliver(path, { timestampNs: at, sequence: 7, bytes: counted(7) });
    await until(() => source.counters().pairs === 1, "a pair");
    await source.stop();
    for (const one of memoryBytes(source)) expect(one).toHaveLength(4096);
    expect(memoryBytes(source).filter((one) => one[0] === 7)).toHaveLength(2);
  });

  test("the driver's memory offers nothing", async () => {
    expect((await open({ memory: "mmap" })).inputMemory).toBeUndefined();
  });

  test("dmabuf: the driver's buffers with their descriptors; a camera that comes back offers none, and no new memory has their addresses", async () => {
    const source = await open({ memory: "dmabuf" });
    const offered = source.inputMemory!.map((one) => ("dmaBuffer" in one ? one.dmaBuffer : -1));
    expect(offered).toHaveLength(10);
    expect(new Set(offered).size).toBe(10);
    for (const descriptor of offered) expect(readlinkSync(`/proc/self/fd/${descriptor}`)).toMatch(/dmabuf/);
    const { seen, events } = recording();
    source.start(events);
    const stop = play(fake, LEFT);
    cleanups.push(stop, play(fake, RIGHT));
    await until(() => seen.length > 2, "pairs");
    const first = fake.state(LEFT).mappings;
    fake.fail(LEFT, "DQBUF", constants.errno.ENODEV, 1);
    await until(
      () => source.captureMemory!().left === "mmap" && fake.state(LEFT).streaming,
      "the left camera is back",
    );
    expect(source.captureMemory!()).toEqual({ left: "mmap", right: "dmabuf" });
    expect(source.inputMemory).toHaveLength(5);
    expect(fake.state(LEFT).mappings).toBe(2 * first);
  });

  test("a driver that takes no memory of others is refused with the hint", async () => {
    fake.fail(LEFT, "REQBUFS", constants.errno.EINVAL, 1);
    await expect(open()).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: expect.stringMatching(/V4L2_MEMORY_USERPTR.*use memory: mmap/),
    });
  });

  test("auto: the process's memory where the driver takes it, else exported buffers, else the driver's", async () => {
    const own = await open({ memory: "auto" });
    expect(own.captureMemory!()).toEqual({ left: "userptr", right: "userptr" });
    await own.stop();
    fake.fail(RIGHT, "REQBUFS", constants.errno.EINVAL, 1);
    const exported = await open({ memory: "auto" });
    expect(exported.captureMemory!()).toEqual({ left: "userptr", right: "dmabuf" });
    await exported.stop();
    fake.fail(RIGHT, "REQBUFS", constants.errno.EINVAL, 1);
    fake.fail(RIGHT, "EXPBUF", constants.errno.EINVAL, 1);
    const mixed = await open({ memory: "auto" });
    expect(mixed.captureMemory!()).toEqual({ left: "userptr", right: "mmap" });
    const { seen, events } = recording();
    mixed.start(events);
    cleanups.push(play(fake, LEFT), play(fake, RIGHT));
    await until(() => seen.length > 3, "pairs of both memories");
  });
});

needs("toolchain", "turbojpeg").suite("Motion JPEG into the process's memory", () => {
  test("is decoded there, and too little of it is refused", async () => {
    fake = fakeVideo();
    fake.plugIn({ path: LEFT, formats: [{ fourcc: "MJPG", width: 64, height: 48, ratesHz: [30] }] });
    const options = { path: LEFT, fourcc: "MJPG", width: 64, height: 48, buffers: 4, system: fake.system };
    const camera = await V4l2Camera.open(video, { ...options, ownMemory: true });
    let seen: Uint8Array | undefined;
    camera.start({
      onFrame: (frame) => {
        seen = frame.data;
        camera.release(frame);
      },
      onFault: () => {},
    });
    await until(() => fake.state(LEFT).streaming, "stream");
    const bytes = await motionJpeg({ width: 64, height: 48, pixel: () => [150, 128, 128] });
    fake.deliver(LEFT, { timestampNs: 1n, sequence: 0, bytes });
    await until(() => seen !== undefined, "an image");
    expect(camera.native.images).toHaveLength(4);
    expect(camera.native.images).toContain(seen);
    expect(Math.abs(seen![10 * 64 + 10]! - 150)).toBeLessThan(4);
    await camera.close();
    expect(camera.native.images[0]).toHaveLength(4096);
    const userBuffers = [new Uint8Array(100)];
    await expect(V4l2Camera.open(video, { ...options, userBuffers })).rejects.toThrow(
      /at least 3072 bytes, got 100/,
    );
  });
});
