// SPDX-License-Identifier: Apache-2.0
// The package's interface for one camera: list, open with requested settings, read in a loop, control.
import { constants } from "node:os";
import { describe, expect, test } from "vitest";
import { needs } from "../../../test/doubles/needs.js";
import {
  type CameraRequest,
  describe as describeCamera,
  type Frame,
  listDevices,
  open,
} from "../src/index.js";
import { counted, now, readCounter, rest, until } from "./fake-video/helpers.js";
import {
  around,
  cameras,
  deliver,
  EXPOSURE,
  fake,
  GAIN,
  looped,
  opened,
  PATH,
  streaming,
} from "./fake-video/one-camera.js";
import { motionJpeg } from "./motion-jpeg.js";

const { EACCES } = constants.errno;

describe("what a camera offers", () => {
  test("formats with names, sizes, rates, controls by their v4l2-ctl names", async () => {
    fake.plugIn({
      path: PATH,
      formats: [
        { fourcc: "YUYV", width: 64, height: 48, ratesHz: [15, 30] },
        { fourcc: "H264", width: 64, height: 48, ratesHz: [30] },
      ],
      controls: [EXPOSURE],
    });
    const found = await describeCamera(PATH, around());
    expect(found).toMatchObject({ card: "Fake Camera", driver: "fake", captures: true, multiPlanar: false });
    expect(found.formats.map(({ fourcc, format }) => [fourcc, format])).toEqual([
      ["YUYV", "YUYV"],
      ["H264", undefined],
    ]);
    expect(found.formats[0]!.sizes[0]).toMatchObject({ maxWidth: 64, maxHeight: 48, ratesHz: [15, 30] });
    expect(found.controls).toMatchObject([
      { name: "exposure_time_absolute", label: "Exposure Time, Absolute", minimum: 1, maximum: 1000 },
    ]);
  });

  test("a list names every device, and the reason if one cannot be read", async () => {
    const { mkdtempSync, mkdirSync, rmSync } = await import("node:fs");
    const folder = mkdtempSync("/tmp/v4l2-camera-sysfs-");
    try {
      for (const name of ["video1", "video0", "video10", "media0"]) mkdirSync(`${folder}/${name}`);
      fake.plugIn({ path: "/fake/video0" });
      fake.plugIn({ path: "/fake/video10", metadataOnly: true });
      fake.plugIn({ path: "/fake/video1" });
      fake.openError("/fake/video1", EACCES);
      const list = await listDevices({ system: fake.system, folders: { sysfs: folder, dev: "/fake" } });
      expect(list.map(({ path, available }) => [path, available])).toEqual([
        ["/fake/video0", true],
        ["/fake/video1", false],
        ["/fake/video10", true],
      ]);
      expect(list[1]).toMatchObject({ error: { code: "DEVICE_PERMISSION" } });
      expect(list[2]).toMatchObject({ captures: false });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test("no folder of devices is no device", async () => {
    expect(await listDevices(around())).toEqual([]);
  });
});

describe("requested settings and the settings that the camera keeps", () => {
  const formats = [
    { fourcc: "YUYV", width: 64, height: 48, ratesHz: [30, 15] },
    { fourcc: "GREY", width: 32, height: 24, ratesHz: [30] },
  ];

  test("is read back, and settings that are left out stay unchanged", async () => {
    const camera = await opened({ format: "YUYV", width: 640, height: 480, rateHz: 14 }, { formats });
    expect(camera.format).toMatchObject({ fourcc: "YUYV", width: 64, height: 48, rateHz: 15 });
    expect(camera.layout).toEqual({
      fourcc: "YUYV",
      format: "YUYV",
      width: 64,
      height: 48,
      strideBytes: 128,
    });
    await camera.close();
    // The driver in memory answers its present format where nothing is asked, as the kernel does.
    const again = await open(PATH, {}, around());
    cameras.push(again);
    expect(again.format).toMatchObject({ fourcc: "YUYV", width: 64, height: 48 });
  });

  test("exact refuses another size, format or rate, with both", async () => {
    fake.plugIn({ path: PATH, formats });
    const refused = (request: CameraRequest) => open(PATH, { ...request, exact: true }, around());
    await expect(refused({ format: "YUYV", width: 640, height: 480 })).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${PATH}: expected YUYV 640x480 at 30 Hz, the camera keeps YUYV 64x48 at 30 Hz.`,
    });
    await expect(refused({ format: "YUYV", rateHz: 60 })).rejects.toThrow(
      /at 60 Hz, the camera keeps .* 30 Hz/,
    );
    await expect(refused({ format: "NV12" })).rejects.toThrow(/expected NV12 .*keeps YUYV/);
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
    cameras.push(await refused({ format: "GREY", width: 32, height: 24, rateHz: 30 }));
  });

  test("controls are set before the first frame", async () => {
    await opened({ controls: { gain: 50, exposure_time_absolute: "80" } }, { controls: [GAIN, EXPOSURE] });
    expect([fake.control(PATH, GAIN.id), fake.control(PATH, EXPOSURE.id)]).toEqual([50, 80]);
  });

  test("controls that change the format are set before it, also after an unplug", async () => {
    const stride = { id: 0x9a206e, name: "Preferred Stride", minimum: 0, maximum: 65535, value: 0 };
    const camera = await opened({ controls: { preferred_stride: 256 } }, { controls: [stride] });
    expect(camera.format.strideBytes).toBe(256);
    looped(camera);
    await streaming();
    fake.unplug(PATH);
    fake.plugIn({ path: PATH, controls: [stride] });
    await streaming();
    expect(fake.control(PATH, stride.id)).toBe(256);
  });

  test("frames can arrive in the process's own memory, and buffers can be exported", async () => {
    const own = await opened({ memory: "userptr", buffers: 5 });
    looped(own);
    await streaming();
    expect(fake.state(PATH)).toMatchObject({ mappings: 0, queued: 5 });
    await own.close();
    const exported = await opened({ dmaBuffers: true });
    expect(exported.dmaBuffers).toHaveLength(8);
  });
});

describe("frames", () => {
  test.each([false, true])("in place, with the driver's facts; multi-planar %s", async (multiPlanar) => {
    const camera = await opened({}, { multiPlanar, strideExtra: 16 });
    expect(camera.identity.multiPlanar).toBe(multiPlanar);
    const frames: Frame[] = [];
    camera.start((frame) => frames.push(frame));
    await streaming();
    const stamp = now() - 5_000_000n;
    const flags = 0x12001;
    fake.deliver(PATH, { timestampNs: stamp, sequence: 40, flags, bytes: counted(777, 80 * 48) });
    fake.deliver(PATH, { timestampNs: stamp + 33_000_000n, sequence: 43, bytes: counted(778, 80 * 48) });
    await until(() => frames.length === 2, "two frames");
    const [first, second] = frames as [Frame, Frame];
    const micros = (ns: bigint) => ns - (ns % 1000n);
    expect(first).toMatchObject({
      width: 64,
      height: 48,
      strideBytes: 80,
      format: "GREY",
      sequence: 40,
      flags,
    });
    expect(first).toMatchObject({
      timestampOrigin: "monotonic",
      timestampPoint: "startOfExposure",
      lostBefore: 0,
    });
    expect(first.timestampNs).toBe(micros(stamp));
    expect(first.driverTimestampNs).toBe(micros(stamp));
    expect(first.arrivalNs).toBeGreaterThan(stamp);
    expect(first.bytesUsed).toBe(80 * 48);
    expect(second).toMatchObject({ sequence: 43, lostBefore: 2, timestampPoint: "endOfFrame" });
    expect(readCounter(first.data)).toBe(777);
    // The driver's own memory: what it writes is seen without a copy.
    fake.poke(PATH, 100, 201);
    expect(second.data[100]).toBe(201);
    expect(fake.state(PATH).queued).toBe(6);
    first.release();
    first.release();
    expect(first.held).toBe(false);
    expect(fake.state(PATH).queued).toBe(7);
    second.release();
  });

  test("a loop releases each at the next turn, unless it was released or kept", async () => {
    const camera = await opened();
    const frames: Frame[] = [];
    const { seen } = looped(camera, (frame) => {
      if (frame.sequence === 1) frame.release();
      if (frame.sequence === 2) frame.keep();
      frames.push(frame);
    });
    await streaming();
    for (let i = 0; i < 4; i++) {
      deliver();
      await until(() => seen.length === i + 1, `frame ${i}`);
      await rest(1);
    }
    expect(seen).toEqual([0, 1, 2, 3]);
    expect(frames.map((frame) => frame.sequence === 2 && frame.held)).toContain(true);
    // One kept; the newest goes back when the next is asked for, which is at once.
    expect(fake.state(PATH).queued).toBe(7);
    frames.find(({ sequence }) => sequence === 2)!.release();
    expect(fake.state(PATH).queued).toBe(8);
  });

  test("a slow reader gets the newest; what gave way is counted", async () => {
    const camera = await opened();
    let go = () => {};
    const { seen } = looped(
      camera,
      () =>
        new Promise<void>((resolve) => {
          go = resolve;
        }),
    );
    await streaming();
    deliver();
    await until(() => seen.length === 1, "the first");
    for (let i = 0; i < 5; i++) deliver();
    await until(() => camera.statistics().frames === 6, "all announced");
    // The reader holds one and the newest waits for it: the others are the driver's again.
    expect(fake.state(PATH).queued).toBe(6);
    go();
    await until(() => seen.length === 2, "the newest");
    expect(seen).toEqual([0, 5]);
    expect(camera.statistics().drops).toEqual({ replaced: 4 });
    go();
  });

  test("leaving the loop keeps the camera open; another loop continues", async () => {
    const camera = await opened();
    const first = (async () => {
      for await (const frame of camera) return frame.sequence;
      return -1;
    })();
    await streaming();
    deliver();
    expect(await first).toBe(0);
    expect(fake.state(PATH)).toMatchObject({ queued: 8, streaming: true });
    deliver();
    await until(() => camera.statistics().drops.unread === 1, "the image is unread");
    const next = camera.frame();
    deliver();
    const frame = await next;
    expect([frame.sequence, frame.held]).toEqual([2, true]);
    frame.release();
  });

  test("one reader at a time", async () => {
    const camera = await opened();
    const stop = camera.start((frame) => frame.release());
    expect(() => camera.start(() => {})).toThrow(expect.objectContaining({ code: "INVALID_STATE" }));
    stop();
    camera.start((frame) => frame.release());
    await camera.close();
    expect(() => camera.start(() => {})).toThrow(/is closed/);
  });

  test("a frame that is held while the camera closes stays readable until its release", async () => {
    const camera = await opened();
    const frames: Frame[] = [];
    camera.start((frame) => frames.push(frame));
    await streaming();
    deliver(counted(321));
    await until(() => frames.length === 1, "a frame");
    await camera.close();
    expect(readCounter(frames[0]!.data)).toBe(321);
    frames[0]!.release();
    expect(frames[0]!.data).toHaveLength(0);
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  async function readJpeg(decode: "none" | "grey" | "rgb") {
    const formats = [{ fourcc: "MJPG", width: 64, height: 48, ratesHz: [30] }];
    const camera = await opened({ format: "MJPEG", decode }, { formats });
    const jpeg = await motionJpeg({ width: 64, height: 48, pixel: () => [120, 90, 200] });
    const next = camera.frame();
    await streaming();
    deliver(jpeg);
    const frame = await next;
    if (decode === "none") {
      expect(frame).toMatchObject({ format: "MJPEG", strideBytes: 0 });
      expect(Buffer.compare(frame.data, jpeg)).toBe(0);
    } else if (decode === "grey") {
      expect(frame).toMatchObject({ format: "GREY", strideBytes: 64, fourcc: "MJPG" });
      expect(Math.abs(frame.data[1000]! - 120)).toBeLessThan(3);
    } else {
      expect(frame).toMatchObject({ format: "RGB8", strideBytes: 192 });
      // JFIF: R = Y + 1.402 (Cr - 128), G = Y - 0.344 (Cb - 128) - 0.714 (Cr - 128), B = Y + 1.772 (Cb - 128).
      const expected = [120 + 1.402 * 72, 120 + 0.344 * 38 - 0.714 * 72, 120 - 1.772 * 38];
      for (const [i, value] of expected.entries())
        expect(Math.abs(frame.data[3 * 1000 + i]! - value)).toBeLessThan(4);
    }
    frame.release();
  }
  test("Motion JPEG as it came", () => readJpeg("none"));
  needs("turbojpeg").suite("Motion JPEG", () => {
    test.each(["grey", "rgb"] as const)("decoded to %s", readJpeg);
  });
});

describe("controls", () => {
  test("set and read back: what the driver keeps", async () => {
    const camera = await opened({}, { controls: [GAIN] });
    expect(camera.controls().map(({ name }) => name)).toEqual(["gain"]);
    expect(camera.set("gain", 33)).toEqual({ name: "gain", asked: 33, got: 30 });
    expect(camera.get("gain")).toBe(30);
    expect(() => camera.set("gain", 200)).toThrow(/from 0 to 100 in steps of 5 for gain, got 200/);
    expect(() => camera.get("zoom")).toThrow(expect.objectContaining({ code: "DEVICE_UNSUITABLE" }));
  });

  test("exposure and gain that somebody else changed are events", async () => {
    const camera = await opened({}, { controls: [GAIN, EXPOSURE] });
    camera.watch("gain", "exposure_time_absolute");
    expect(() => camera.watch("zoom")).toThrow(/no control "zoom"/);
    const changes: [string, number][] = [];
    camera.on("control", ({ name, value }) => changes.push([name, value]));
    const { seen } = looped(camera);
    await streaming();
    fake.change(PATH, GAIN.id, 15);
    fake.change(PATH, EXPOSURE.id, 99);
    await until(() => changes.length === 2, "two changes");
    expect(changes).toEqual([
      ["gain", 15],
      ["exposure_time_absolute", 99],
    ]);
    // Frames continue next to them.
    deliver();
    fake.change(PATH, GAIN.id, 20);
    await until(() => seen.length === 1 && changes.length === 3, "a frame and a change");
  });

  test("more changes than are taken in time are counted, and the camera's thread sleeps again", async () => {
    const camera = await opened({}, { controls: [GAIN] });
    camera.watch("gain");
    let count = 0;
    camera.on("control", () => count++);
    looped(camera);
    await streaming();
    for (let i = 0; i < 200; i++) fake.change(PATH, GAIN.id, i % 100);
    const lost = () => camera.supervised.camera!.native.statistics().eventsLost;
    await until(() => count + lost() === 200, "all images delivered or counted");
    expect(count).toBeGreaterThanOrEqual(64);
    const { threadNs } = camera.statistics();
    await rest(50);
    expect(camera.statistics().threadNs - threadNs).toBeLessThan(5e6);
  });
});
