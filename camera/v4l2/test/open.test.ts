// SPDX-License-Identifier: Apache-2.0
// A camera as the package's reader knows it: listed, opened with a wish, read in a loop, controlled, unplugged, closed.
import { constants } from "node:os";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import {
  type Camera,
  CameraError,
  type CameraWish,
  describe as describeCamera,
  type Frame,
  listDevices,
  open,
} from "../src/index.js";
import { type FakeCamera, type FakeVideo, fakeVideo } from "./fake-video/fake-video.js";
import { counted, counterOf, now, rest, until } from "./fake-video/helpers.js";
import { motionJpeg } from "./motion-jpeg.js";

const PATH = "/dev/fake0";
const GAIN = { id: 0x980913, name: "Gain", minimum: 0, maximum: 100, step: 5, value: 10 };
const EXPOSURE = { id: 0x9a0902, name: "Exposure Time, Absolute", minimum: 1, maximum: 1000, value: 50 };
const { EBUSY, EACCES, ENOENT } = constants.errno;

let fake: FakeVideo;
let cameras: Camera[] = [];
const around = () => ({ system: fake.system, folders: { sysfs: "/nowhere" } });

async function opened(wish: CameraWish = {}, camera: Partial<FakeCamera> = {}): Promise<Camera> {
  fake.plugIn({ path: PATH, ...camera });
  const one = await open(PATH, wish, around());
  cameras.push(one);
  return one;
}

let sequence = 0;
function deliver(bytes: Uint8Array = counted(sequence), more = {}): void {
  expect(fake.deliver(PATH, { timestampNs: now(), sequence, bytes, ...more })).toBe(true);
  sequence++;
}
const streaming = () => until(() => fake.state(PATH).streaming, "stream on");

/** Starts reading in a loop. @returns what was read, and how the loop ended */
function looped(camera: Camera, body: (frame: Frame) => unknown = () => {}) {
  const seen: number[] = [];
  const ended = (async () => {
    for await (const frame of camera) {
      seen.push(frame.sequence);
      await body(frame);
    }
  })();
  return { seen, ended };
}

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

  test("a list names every node, and why one does not tell", async () => {
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

describe("a wish, and what the camera keeps", () => {
  const formats = [
    { fourcc: "YUYV", width: 64, height: 48, ratesHz: [30, 15] },
    { fourcc: "GREY", width: 32, height: 24, ratesHz: [30] },
  ];

  test("is read back, and what is left out stays as it is", async () => {
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
    const refused = (wish: CameraWish) => open(PATH, { ...wish, exact: true }, around());
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
    expect(counterOf(first.data)).toBe(777);
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

  test("leaving the loop keeps the camera open; another loop goes on", async () => {
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
    await until(() => camera.statistics().drops.unread === 1, "nobody reads");
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
    expect(counterOf(frames[0]!.data)).toBe(321);
    frames[0]!.release();
    expect(frames[0]!.data).toHaveLength(0);
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test.each(["none", "grey", "rgb"] as const)("Motion JPEG, decode %s", async (decode) => {
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
    // Frames go on beside them.
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
    await until(() => count + lost() === 200, "all told or counted");
    expect(count).toBeGreaterThanOrEqual(64);
    const { threadNs } = camera.statistics();
    await rest(50);
    expect(camera.statistics().threadNs - threadNs).toBeLessThan(5e6);
  });
});

describe("bad days", () => {
  test("unplugged and back under another name: the same camera, the same loop, its controls set again", async () => {
    const camera = await opened({ controls: { gain: 40 } }, { bus: "usb-1", controls: [GAIN] });
    camera.watch("gain");
    const events: string[] = [];
    camera.on("lost", (reason) => events.push(`lost ${reason}`));
    camera.on("back", () => events.push("back"));
    const { seen } = looped(camera);
    await streaming();
    deliver();
    await until(() => seen.length === 1, "a frame");
    fake.unplug(PATH);
    await until(() => events.length === 1, "lost");
    expect(events[0]).toBe(`lost ${PATH}: the camera was unplugged (ENODEV).`);
    expect(() => camera.set("gain", 5)).toThrow(/is away/);
    fake.plugIn({ path: PATH, bus: "usb-1", controls: [GAIN] });
    await until(() => fake.state(PATH).streaming, "stream again");
    sequence = 0;
    deliver();
    await until(() => seen.length === 2, "a frame again");
    expect(events[1]).toBe("back");
    expect(fake.control(PATH, GAIN.id)).toBe(40);
    const changed = vi.fn();
    camera.on("control", changed);
    fake.change(PATH, GAIN.id, 45);
    await until(() => changed.mock.calls.length === 1, "still watched");
  });

  test("without reconnection the loop throws what happened", async () => {
    const camera = await opened({ reconnect: false });
    const { ended } = looped(camera);
    await streaming();
    fake.unplug(PATH);
    await expect(ended).rejects.toMatchObject({ code: "DEVICE_UNAVAILABLE", message: /unplugged/ });
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("read by a function, the same is an error event", async () => {
    const camera = await opened({ reconnect: false });
    const errors: Error[] = [];
    camera.on("error", (error) => errors.push(error));
    camera.start((frame) => frame.release());
    await streaming();
    fake.unplug(PATH);
    await until(() => errors.length === 1, "an error");
    expect(errors[0]).toBeInstanceOf(CameraError);
  });

  test("an abort closes the camera, and the loop throws the signal's reason", async () => {
    const stop = new AbortController();
    const camera = await opened({ signal: stop.signal });
    const { seen, ended } = looped(camera);
    await streaming();
    deliver();
    await until(() => seen.length === 1, "a frame");
    stop.abort(new Error("enough"));
    await expect(ended).rejects.toThrow("enough");
    await camera.close();
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
    await expect(open(PATH, { signal: stop.signal }, around())).rejects.toThrow("enough");
    const late = new AbortController();
    const opening = open(PATH, { signal: late.signal }, around());
    late.abort();
    await expect(opening).rejects.toMatchObject({ name: "AbortError" });
    expect(fake.state(PATH).opens).toBe(0);
  });

  test("closed while a loop waits: the loop ends", async () => {
    const camera = await opened();
    const { seen, ended } = looped(camera);
    await streaming();
    await camera.close();
    await ended;
    expect(seen).toEqual([]);
  });

  test("it can be left to the end of a block", async () => {
    fake.plugIn({ path: PATH });
    const camera = await open(PATH, {}, around());
    await camera[Symbol.asyncDispose]();
    expect(fake.state(PATH).opens).toBe(0);
  });
});

describe("refused, with a code and what to do", () => {
  test.each([
    ["no permission", EACCES, "DEVICE_PERMISSION", /group 'video'/],
    ["busy", EBUSY, "DEVICE_BUSY", /other process/],
    ["gone", ENOENT, "DEVICE_UNAVAILABLE", /cable/],
  ])("%s", async (_, errno, code, hint) => {
    fake.plugIn({ path: PATH });
    fake.openError(PATH, errno);
    await expect(open(PATH, {}, around())).rejects.toMatchObject({ code, hint: expect.stringMatching(hint) });
  });

  test("not a device, not a camera, no such file", async () => {
    await expect(open("/dev/null")).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    await expect(open("/etc/hostname")).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    await expect(open("/")).rejects.toMatchObject({ code: expect.stringMatching(/^DEVICE_/) });
    await expect(open("/dev/video999")).rejects.toMatchObject({ code: "DEVICE_UNAVAILABLE" });
    await expect(describeCamera("/dev/null")).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    fake.plugIn({ path: PATH, metadataOnly: true });
    await expect(open(PATH, {}, around())).rejects.toThrow(/expected a camera that streams/);
  });

  test.each<[string, unknown]>([
    ["width", "wide"],
    ["width", -1],
    ["height", 0.5],
    ["rateHz", 0],
    ["rateHz", Number.NaN],
    ["rateHz", 1e300],
    ["buffers", 3],
    ["buffers", 33],
    ["format", "nonsense"],
    ["format", 5],
    ["decode", "blue"],
    ["memory", "card"],
  ])("%s: %s", async (name, value) => {
    fake.plugIn({ path: PATH });
    const refused = open(PATH, { [name]: value } as CameraWish, around());
    await expect(refused).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    expect(fake.state(PATH).opens).toBe(0);
  });

  test("a path that is no text, or has an end inside", async () => {
    await expect(open(5 as never)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(open("/dev/null\0x")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });

  test("a control that is not there, at opening", async () => {
    fake.plugIn({ path: PATH });
    await expect(open(PATH, { controls: { zoom: 1 } }, around())).rejects.toThrow(/no control "zoom"/);
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });
});

describe("a driver that lies", () => {
  test("of rows shorter than their pixels", async () => {
    fake.plugIn({ path: PATH, lies: { strideBytes: 10 } });
    await expect(open(PATH, {}, around())).rejects.toThrow(
      /rows of at least 64 bytes for GREY 64x48, the driver set 10/,
    );
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("of buffers smaller than the image", async () => {
    fake.plugIn({ path: PATH, lies: { bufferBytes: 1000 } });
    await expect(open(PATH, {}, around())).rejects.toThrow(
      /expected buffers for 64x48 in rows of 64 bytes, the driver gives 1000/,
    );
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test.each([[0], [4_000_000_000]])("of a height of %d", async (height) => {
    fake.plugIn({ path: PATH, lies: { height } });
    await expect(open(PATH, {}, around())).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("of more buffers than were asked for, or fewer than work", async () => {
    fake.plugIn({ path: PATH, lies: { buffers: 200 } });
    const camera = await open(PATH, {}, around());
    expect(fake.state(PATH).mappings).toBe(32);
    await camera.close();
    fake.plugIn({ path: PATH, maxBuffers: 2 });
    await expect(open(PATH, {}, around())).rejects.toThrow(/at least 4 frame buffers, the driver gives 2/);
  });

  test("of more bytes than its buffer has: the image is counted and not read", async () => {
    const camera = await opened();
    const { seen } = looped(camera);
    await streaming();
    deliver(counted(0), { bytesUsed: 50_000_000 });
    deliver();
    await until(() => seen.length === 1, "the honest one");
    expect(camera.statistics().drops).toEqual({ incomplete: 1 });
  });

  test("the same of a JPEG, which is decoded", async () => {
    const formats = [{ fourcc: "MJPG", width: 64, height: 48, ratesHz: [30] }];
    const camera = await opened({ format: "MJPEG", decode: "grey" }, { formats });
    const { seen } = looped(camera);
    await streaming();
    const jpeg = await motionJpeg({ width: 64, height: 48, pixel: () => [120, 128, 128] });
    deliver(jpeg, { bytesUsed: 50_000_000 });
    deliver(jpeg);
    await until(() => seen.length === 1, "the honest one");
    expect(camera.statistics().drops).toEqual({ incomplete: 1 });
  });

  test.each([
    ["a buffer that it never gave", 31],
    ["a buffer that the reader holds", 0],
  ])("of %s: the stream ends instead of two writing into one", async (_, claimedIndex) => {
    const camera = await opened({ reconnect: false });
    const errors: Error[] = [];
    camera.on("error", (error) => errors.push(error));
    const frames: Frame[] = [];
    camera.start((frame) => frames.push(frame));
    await streaming();
    deliver();
    await until(() => frames.length === 1, "a frame");
    deliver(counted(1), { claimedIndex });
    await until(() => errors.length === 1, "an error");
    expect(errors[0]!.message).toMatch(/taking an image \(VIDIOC_DQBUF\) failed \(EIO\)/);
    expect(frames).toHaveLength(1);
    frames[0]!.release();
  });
});
