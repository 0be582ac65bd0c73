// SPDX-License-Identifier: Apache-2.0
// The native capture against the driver in memory: formats, delivery, counts and the return of buffers.
import { readdirSync } from "node:fs";
import { constants } from "node:os";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { beforeEach, describe, expect, test } from "vitest";
import { type CameraFrame, V4l2Camera } from "../src/camera.js";
import type { NativeOpenOptions } from "../src/native.js";
import { type FakeVideo, fakeVideo } from "./fake-video/fake-video.js";
import { counted, readCounter, rest, until, video } from "./fake-video/helpers.js";

const PATH = "/dev/fake0";
const { EBUSY, EINVAL, EACCES, ENODEV, EIO } = constants.errno;
let fake: FakeVideo;

const options = (more: Partial<NativeOpenOptions> = {}): NativeOpenOptions => ({
  path: PATH,
  fourcc: "GREY",
  width: 64,
  height: 48,
  system: fake.system,
  ...more,
});

async function openAndStart(more: Partial<NativeOpenOptions> = {}) {
  const camera = await V4l2Camera.open(video, options(more));
  const frames: CameraFrame[] = [];
  const faults: string[] = [];
  camera.start({ onFrame: (frame) => frames.push(frame), onFault: (error) => faults.push(error.message) });
  await until(() => fake.state(PATH).streaming || faults.length > 0, "stream on");
  return { camera, frames, faults };
}

const descriptors = () => readdirSync("/proc/self/fd").length;

describe("native capture", () => {
  beforeEach(() => {
    fake = fakeVideo();
  });

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

  test("describes formats, sizes, rates and controls", async () => {
    fake.plugIn({
      path: PATH,
      multiPlanar: true,
      formats: [
        { fourcc: "YUYV", width: 64, height: 48, ratesHz: [15, 30] },
        { fourcc: "YUYV", width: 32, height: 24, ratesHz: [60] },
        { fourcc: "GREY", width: 64, height: 48, ratesHz: [30] },
      ],
      controls: [
        { id: 0x980900, name: "Brightness", minimum: -10, maximum: 10, step: 2, value: 4 },
        {
          id: 0x9a0901,
          name: "Auto Exposure",
          type: 3,
          minimum: 0,
          maximum: 3,
          value: 0,
          menu: ["Auto", "Manual", "", "Aperture"],
        },
      ],
    });
    const found = await video.describe(PATH, fake.system);
    expect(found).toMatchObject({
      card: "Fake Camera",
      driver: "fake",
      captures: true,
      streams: true,
      multiPlanar: true,
    });
    expect(
      found.formats.map(({ fourcc, sizes }) => [fourcc, sizes.map((size) => [size.maxWidth, size.ratesHz])]),
    ).toEqual([
      [
        "YUYV",
        [
          [64, [15, 30]],
          [32, [60]],
        ],
      ],
      ["GREY", [[64, [30]]]],
    ]);
    expect(found.controls[0]).toMatchObject({
      name: "Brightness",
      kind: "integer",
      minimum: -10,
      maximum: 10,
      step: 2,
      initial: 4,
    });
    expect(found.controls[1]!.menu.map(({ name }) => name)).toEqual(["Auto", "Manual", "Aperture"]);
    expect(found.controls[1]!.menu[2]!.value).toBe(3);
    expect(fake.state(PATH).opens).toBe(0);
  });

  test("a node without video, by its own capabilities and not by the whole device's", async () => {
    fake.plugIn({ path: PATH, metadataOnly: true });
    expect(await video.describe(PATH, fake.system)).toMatchObject({ captures: false, formats: [] });
    await expect(V4l2Camera.open(video, options())).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    expect(fake.state(PATH).opens).toBe(0);
  });

  test.each([false, true])("reads back what the driver set; multi-planar %s", async (multiPlanar) => {
    fake.plugIn({ path: PATH, multiPlanar, strideExtra: 16 });
    const camera = await V4l2Camera.open(video, options({ width: 640, height: 480, rateHz: 59, buffers: 5 }));
    expect(camera.native.format).toMatchObject({
      fourcc: "GREY",
      width: 64,
      height: 48,
      strideBytes: 80,
      rateHz: 60,
    });
    expect(camera.native.images).toHaveLength(5);
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test.each([false, true])(
    "time stamp, sequence, flags and bytes arrive as given; multi-planar %s",
    async (multiPlanar) => {
      fake.plugIn({ path: PATH, multiPlanar });
      const { camera, frames } = await openAndStart();
      const stamp = 1_234_567_891_234_000n;
      expect(
        fake.deliver(PATH, { timestampNs: stamp, sequence: 41, flags: 0x12000, bytes: counted(777) }),
      ).toBe(true);
      expect(fake.deliver(PATH, { timestampNs: -3000n, sequence: 44, flags: 0, bytes: counted(778) })).toBe(
        true,
      );
      await until(() => frames.length === 2, "two images");
      expect(frames[0]).toMatchObject({
        stampNs: stamp,
        sequence: 41,
        monotonic: true,
        point: "startOfExposure",
      });
      expect(frames[1]).toMatchObject({
        stampNs: -3000n,
        sequence: 44,
        monotonic: false,
        point: "endOfFrame",
      });
      expect(frames.map((frame) => readCounter(frame.data))).toEqual([777, 778]);
      expect(camera.sequenceGaps).toBe(2);
      for (const frame of frames) camera.release(frame);
      expect(() => camera.release(frames[0]!)).toThrow(/is not held/);
      await camera.close();
    },
  );

  test("images are the driver's own memory: what it writes is seen without a copy", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(0) });
    await until(() => frames.length === 1, "an image");
    fake.poke(PATH, 100, 201);
    expect(frames[0]!.data[100]).toBe(201);
    camera.release(frames[0]!);
    await camera.close();
  });

  test("a buffer goes round: held ones are not filled, given-back ones are", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames } = await openAndStart({ buffers: 4 });
    for (let i = 0; i < 4; i++)
      fake.deliver(PATH, { timestampNs: BigInt(i), sequence: i, bytes: counted(i) });
    await until(() => frames.length === 4, "four images");
    expect(fake.deliver(PATH, { timestampNs: 9n, sequence: 4, bytes: counted(4) })).toBe(false);
    camera.release(frames[2]!);
    expect(fake.deliver(PATH, { timestampNs: 9n, sequence: 5, bytes: counted(5) })).toBe(true);
    await until(() => frames.length === 5, "a fifth");
    expect(frames[4]).toBe(frames[2]);
    expect(frames.slice(0, 2).map((frame) => readCounter(frame.data))).toEqual([0, 1]);
    await camera.close();
  });

  test("error-flagged and short images go back unread and are counted", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, flags: 0x2040, bytes: counted(0) });
    fake.deliver(PATH, { timestampNs: 2n, sequence: 1, bytesUsed: 100 });
    fake.deliver(PATH, { timestampNs: 3n, sequence: 2, bytes: counted(2) });
    await until(() => frames.length === 1, "the good one");
    expect(frames[0]!.sequence).toBe(2);
    expect(camera.native.statistics()).toMatchObject({ errorFlagged: 1, empty: 1, frames: 1 });
    expect(fake.state(PATH).queued).toBe(7);
    await camera.close();
  });

  test("a refused QBUF is tried again until it is taken", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(0) });
    await until(() => frames.length === 1, "an image");
    fake.fail(PATH, "QBUF", EINVAL, 3);
    camera.release(frames[0]!);
    expect(fake.state(PATH).queued).toBe(7);
    await until(() => fake.state(PATH).queued === 8, "queued again");
    expect(camera.native.statistics().queueFailed).toBeGreaterThan(0);
    await camera.close();
  });

  test.each([
    ["STREAMON refused", EINVAL, /starting the stream.*EINVAL/],
    ["DQBUF fails", EIO, /taking an image.*EIO/],
  ])("%s is a fault that names the call", async (what, errno, expected) => {
    fake.plugIn({ path: PATH });
    if (what.startsWith("STREAMON")) fake.fail(PATH, "STREAMON", errno, 1);
    const { camera, faults } = await openAndStart();
    if (what.startsWith("DQBUF")) {
      fake.fail(PATH, "DQBUF", errno, 1);
      fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(0) });
    }
    await until(() => faults.length === 1, "a fault");
    expect(faults[0]).toMatch(expected);
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("an unplugged camera is a fault, and a held image stays readable until it is given back", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames, faults } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(99) });
    await until(() => frames.length === 1, "an image");
    fake.unplug(PATH);
    await until(() => faults.length === 1, "a fault");
    expect(faults[0]).toMatch(/unplugged \(ENODEV\)/);
    await camera.close();
    expect(readCounter(frames[0]!.data)).toBe(99);
    expect(fake.state(PATH).mappings).toBe(1);
    camera.release(frames[0]!);
    expect(fake.state(PATH).mappings).toBe(0);
    expect(frames[0]!.data).toHaveLength(0);
  });

  test("an error condition that the driver does not explain is no busy loop, and ends as a fault", async () => {
    fake.plugIn({ path: PATH });
    const { camera, faults } = await openAndStart();
    fake.fail(PATH, "DQBUF", constants.errno.EAGAIN, 1e6);
    fake.fatal(PATH, true);
    await rest(100);
    expect(camera.native.statistics().threadNs).toBeLessThan(50e6);
    await until(() => faults.length === 1, "a fault");
    await camera.close();
  });

  test.each([
    [EACCES, "DEVICE_PERMISSION", /video/],
    [EBUSY, "DEVICE_BUSY", /process/],
    [ENODEV, "DEVICE_UNAVAILABLE", /list-devices/],
  ])("open errno %i is %s with what to do", async (errno, code, hint) => {
    fake.plugIn({ path: PATH });
    fake.openError(PATH, errno);
    await expect(V4l2Camera.open(video, options())).rejects.toMatchObject({
      code,
      hint: expect.stringMatching(hint),
    });
  });

  test("a camera that streams for another is busy; fewer than four buffers are refused", async () => {
    fake.plugIn({ path: PATH });
    const camera = await V4l2Camera.open(video, options());
    await expect(V4l2Camera.open(video, options())).rejects.toMatchObject({ code: "DEVICE_BUSY" });
    await camera.close();
    fake.plugIn({ path: PATH, maxBuffers: 3 });
    await expect(V4l2Camera.open(video, options())).rejects.toThrow(
      /at least 4 frame buffers, the driver gives 3/,
    );
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("a QBUF that says the device is broken ends the stream instead of being tried for ever", async () => {
    fake.plugIn({ path: PATH });
    const { camera, frames, faults } = await openAndStart();
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(1) });
    await until(() => frames.length === 1, "an image");
    fake.fail(PATH, "QBUF", EIO, 1_000_000);
    camera.release(frames[0]!);
    await until(() => faults.length === 1, "a fault");
    expect(faults[0]).toBe(`${PATH}: queueing a buffer (VIDIOC_QBUF) failed (EIO).`);
    await camera.close();
  });

  test("a driver that names a buffer it never gave ends the stream instead of writing nowhere", async () => {
    fake.plugIn({ path: PATH });
    // The number of buffers is the first that no buffer has.
    for (const [buffers, claimedIndex] of [
      [8, 8],
      [8, 31],
      [32, 32],
      [32, 0xffff_fffe],
    ] as const) {
      const { camera, frames, faults } = await openAndStart({ buffers });
      expect(camera.native.images).toHaveLength(buffers);
      fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(1), claimedIndex });
      await until(() => faults.length === 1, "a fault");
      expect(faults[0]).toBe(`${PATH}: taking an image (VIDIOC_DQBUF) failed (EIO).`);
      expect(frames).toEqual([]);
      await camera.close();
      expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
    }
  });

  test("user memory: images arrive in the caller's arrays", async () => {
    fake.plugIn({ path: PATH });
    const userBuffers = Array.from({ length: 4 }, () => new Uint8Array(64 * 48 * 1.5));
    const { camera, frames } = await openAndStart({ userBuffers });
    fake.deliver(PATH, { timestampNs: 1n, sequence: 0, bytes: counted(5000) });
    await until(() => frames.length === 1, "an image");
    expect(frames[0]!.data).toBe(userBuffers[0]);
    expect(readCounter(userBuffers[0]!)).toBe(5000 & 0xffff);
    camera.release(frames[0]!);
    await camera.close();
    expect(userBuffers[0]).toHaveLength(64 * 48 * 1.5);
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("user memory that is too small is refused with both sizes", async () => {
    fake.plugIn({ path: PATH });
    const userBuffers = Array.from({ length: 4 }, () => new Uint8Array(100));
    await expect(V4l2Camera.open(video, options({ userBuffers }))).rejects.toThrow(
      /at least 3072 bytes, got 100/,
    );
  });

  test("exported buffers are descriptors of this process, closed with the camera", async () => {
    fake.plugIn({ path: PATH });
    const before = descriptors();
    const camera = await V4l2Camera.open(video, options({ exportBuffers: true }));
    expect(camera.native.exportedDescriptors).toHaveLength(8);
    const names = readdirSync("/proc/self/fd");
    for (const descriptor of camera.native.exportedDescriptors) expect(names).toContain(String(descriptor));
    await camera.close();
    expect(descriptors()).toBe(before);
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

describe("without a camera", () => {
  test("a path that is not there, and one that is no camera, are distinguished", async () => {
    const request = { fourcc: "GREY", width: 64, height: 48 };
    await expect(V4l2Camera.open(video, { path: "/dev/video999", ...request })).rejects.toMatchObject({
      code: "DEVICE_UNAVAILABLE",
    });
    await expect(V4l2Camera.open(video, { path: "/dev/null", ...request })).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
    });
  });
});
