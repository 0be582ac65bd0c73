// SPDX-License-Identifier: Apache-2.0
// Tests the decisions of a camera source before its first image: controls, layouts, the driver's changes, cameras that
// are closed.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import { CameraControls, findCamera, findUser, isSameDevice, V4l2Camera } from "v4l2-camera/parts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openV4l2Source, type V4l2Settings } from "../../../../camera/index.js";
import { ExposureLoop } from "../../../../camera/live/exposure-loop.js";
import {
  type FakeCamera,
  type FakeVideo,
  fakeVideo,
} from "../../../../camera/v4l2/test/fake-video/fake-video.js";
import { clocks, now, recording, until, video } from "../../../doubles/cameras.js";
import { needs } from "../../../doubles/needs.js";

const [LEFT, RIGHT] = ["/dev/fake0", "/dev/fake1"] as const;
const INACTIVE = 0x10;
const EXPOSURE = { id: 0x980911, name: "Exposure", minimum: 1, maximum: 1000, value: 50 };
const GAIN = { id: 0x980913, name: "Gain", minimum: 0, maximum: 100, value: 7 };
let fake: FakeVideo;
let cleanups: (() => unknown)[] = [];

function plugBoth(left: Partial<FakeCamera>, right: Partial<FakeCamera> = left): void {
  fake.plugIn({ path: LEFT, ...left });
  fake.plugIn({ path: RIGHT, ...right });
}

async function open(settings: Partial<V4l2Settings> = {}, folders = {}, onNote?: (note: string) => void) {
  const request = { left: LEFT, right: RIGHT, width: 64, height: 48, autoExposure: "off" } as const;
  const around = {
    video,
    clocks,
    system: fake.system,
    folders: { sysfs: "/nowhere", ...folders },
    ...(onNote && { onNote }),
  };
  const source = await openV4l2Source({ ...request, ...settings }, around);
  cleanups.push(() => source.stop());
  return source;
}

needs("toolchain").suite("before the first image", () => {
  beforeEach(() => {
    fake = fakeVideo();
    cleanups = [];
  });
  afterEach(async () => {
    for (const cleanup of cleanups.reverse()) await cleanup();
  });

  test("a control that was asked for one camera is not made equal afterwards; the others are", async () => {
    plugBoth(
      { controls: [EXPOSURE, GAIN] },
      {
        controls: [
          { ...EXPOSURE, value: 9 },
          { ...GAIN, value: 1 },
        ],
      },
    );
    await open({ controls: "right.gain=33" });
    expect([fake.control(LEFT, GAIN.id), fake.control(RIGHT, GAIN.id)]).toEqual([7, 33]);
    expect(fake.control(RIGHT, EXPOSURE.id)).toBe(50);
  });

  test("a control without effect at the moment is left alone", async () => {
    plugBoth({ controls: [EXPOSURE] }, { controls: [{ ...EXPOSURE, value: 9, flags: INACTIVE }] });
    await open();
    expect(fake.control(RIGHT, EXPOSURE.id)).toBe(9);
  });

  test("a value outside a control's range is refused with the range, before the driver sees it", async () => {
    plugBoth({ controls: [EXPOSURE, { ...GAIN, type: 2, maximum: 1 }] });
    await expect(open({ controls: "exposure=1001" })).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${LEFT}: expected a whole number from 1 to 1000 for exposure, got 1001.`,
    });
    await expect(open({ controls: "exposure=1.5" })).rejects.toThrow(/got 1.5/);
    await expect(open({ controls: "exposure=" })).rejects.toThrow(/NAME=VALUE/);
    expect(fake.control(LEFT, EXPOSURE.id)).toBe(50);
  });

  test("NVIDIA's sensors: frame_rate in millionths, bypass off, exposure after the rate, and ranges that say nothing", async () => {
    const INTEGER64 = 5;
    const frameRate = { id: 0x9a206b, name: "Frame Rate", type: INTEGER64, value: 60_000_000 };
    const exposure = { id: 0x9a206a, name: "Exposure", type: INTEGER64, value: 9 };
    const bypass = { id: 0x9a2064, name: "Bypass Mode", minimum: 0, maximum: 1, value: 1 };
    const unknownRange = { minimum: 0, maximum: 0, step: 0 };
    const controls = [
      { ...frameRate, ...unknownRange, accepts: [2_000_000, 90_000_000] as [number, number] },
      { ...exposure, ...unknownRange, accepts: [1, 100_000] as [number, number] },
      bypass,
    ];
    plugBoth({ driver: "tegra-video", controls });
    const notes: string[] = [];
    const source = await open({ rateHz: 25, controls: "exposure=5000" }, {}, (note) => notes.push(note));
    expect([LEFT, RIGHT].map((path) => controls.map(({ id }) => fake.control(path, id)))).toEqual([
      [25_000_000, 5000, 0],
      [25_000_000, 5000, 0],
    ]);
    expect(source.description.rateHz).toBe(25);
    expect(notes).toEqual([expect.stringMatching(/^source\.v4l2\.format auto takes \w+ \(/)]);
  });

  test("NVIDIA's sensors: sensor_mode and preferred_stride are set before the format, which they change", async () => {
    const mode = { id: 0x9a2008, name: "Sensor Mode", type: 5, minimum: 0, maximum: 0, step: 0, value: 0 };
    const stride = { id: 0x9a206e, name: "Preferred Stride", minimum: 0, maximum: 65535, value: 0 };
    const controls = [{ ...mode, accepts: [0, 3] as [number, number] }, stride];
    const formats = [60, 120].map((rate, sensorMode) => ({
      fourcc: "RG10",
      width: 64,
      height: 48,
      ratesHz: [rate],
      sensorMode,
    }));
    plugBoth({ driver: "tegra-video", controls, formats });
    const request = { controls: "sensor_mode=1,preferred_stride=256", rateHz: 120 };
    const { description } = await open(request);
    expect(description).toMatchObject({ rateHz: 120, leftStrideBytes: 256, rightStrideBytes: 256 });
    expect([fake.control(LEFT, mode.id), fake.control(RIGHT, mode.id)]).toEqual([1, 1]);
  });

  test("a control before the format: refused values, and cameras without it", async () => {
    plugBoth({
      controls: [{ id: 0x9a206e, name: "Preferred Stride", minimum: 0, maximum: 65535, value: 0 }],
    });
    await expect(open({ controls: "preferred_stride=wide" })).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${LEFT}: expected a whole number for preferred_stride, got wide.`,
    });
    await expect(open({ controls: "preferred_stride=70000" })).rejects.toThrow(
      /Numerical result out of range.*\(preferred_stride=70000\)/,
    );
    await expect(open({ controls: "sensor_mode=1" })).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${LEFT}: the camera has no control "sensor_mode".`,
    });
  });

  test("NVIDIA's sensors: a refused bypass_mode is reported, a rate out of range is the nearest, other drivers are left alone", async () => {
    const frameRate = { id: 0x9a206b, name: "Frame Rate", minimum: 2e6, maximum: 60e6, value: 30e6 };
    const bypass = { id: 0x9a2064, name: "Bypass Mode", minimum: 0, maximum: 1, value: 1 };
    const controls = [frameRate, { ...bypass, accepts: [1, 0] as [number, number] }];
    plugBoth({ driver: "tegra-video", controls });
    const notes: string[] = [];
    const source = await open({ rateHz: 120 }, {}, (note) => notes.push(note));
    expect(source.description.rateHz).toBe(60);
    expect(notes.filter((note) => note.startsWith(LEFT))).toEqual([
      expect.stringMatching(/Numerical result out of range.*bypass_mode=0.*The stream starts without it\.$/),
      `${LEFT}: asked for 120 Hz, the camera delivers 60 Hz.`,
    ]);
    await source.stop();
    plugBoth({ driver: "other", controls });
    await open({ rateHz: 30 });
    expect(fake.control(LEFT, bypass.id)).toBe(1);
    expect(fake.control(LEFT, frameRate.id)).toBe(30e6);
  });

  test.each([
    ["RGGB", "GREY"],
    ["BG10", "Y10"],
    ["GB12", "Y12"],
    ["RG16", "Y16"],
  ])("a sensor without colour filter that lists %s is read as %s", async (fourcc, format) => {
    plugBoth({ formats: [{ fourcc, width: 64, height: 48, ratesHz: [30] }] });
    expect((await open({ mono: true })).description).toMatchObject({
      leftFormat: format,
      rightFormat: format,
    });
  });

  test("depthwatt's exposure control stays off next to the camera's own, unless it is asked for", async () => {
    const own = {
      id: 0x9a0901,
      name: "Auto Exposure",
      type: 3,
      minimum: 0,
      maximum: 1,
      value: 0,
      menu: ["Auto", "Manual"],
    };
    plugBoth({ controls: [EXPOSURE, own] });
    const options = { path: LEFT, fourcc: "GREY", width: 64, height: 48, system: fake.system };
    const camera = await V4l2Camera.open(video, options);
    cleanups.push(() => camera.close());
    const sides = [new CameraControls(camera.native)];
    expect(new ExposureLoop(sides, "auto").state).toEqual({
      on: false,
      reason: "the camera has its own (auto_exposure)",
    });
    expect(new ExposureLoop(sides, "on").state).toEqual({ on: true });
    expect(new ExposureLoop(sides, "off").state).toMatchObject({ on: false });
  });

  test("side by side in two bytes a pixel: the right camera begins that many bytes further on", async () => {
    const formats = [{ fourcc: "YUYV", width: 128, height: 48, ratesHz: [30] }];
    fake.plugIn({ path: LEFT, formats, strideExtra: 16 });
    const source = await openV4l2Source(
      { sideBySide: LEFT, width: 64, height: 48 },
      { video, clocks, system: fake.system },
    );
    cleanups.push(() => source.stop());
    expect(source.description).toMatchObject({
      leftStrideBytes: 272,
      rightStrideBytes: 272,
      rightFormat: "YUYV",
    });
    const { held, events } = recording(true);
    source.start(events);
    await until(() => fake.state(LEFT).streaming, "stream");
    fake.deliver(LEFT, { timestampNs: now(), sequence: 0, bytes: new Uint8Array(272 * 48) });
    await until(() => held.length === 1, "a pair");
    const { left, right } = held[0]!;
    expect(right.data.byteOffset - left.data.byteOffset).toBe(128);
    held[0]!.release();
  });

  test("a driver that sets another size than the one it lists is refused with both", async () => {
    plugBoth({ stubbornWidth: 48 });
    await expect(open()).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${LEFT}: expected GREY 64x48, the driver set GREY 48x48.`,
    });
    expect(fake.state(LEFT)).toMatchObject({ opens: 0, mappings: 0 });
  });

  test("defective pixels of each side are replaced in what the cameras deliver", async () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-defects-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const defects = join(folder, "defects.json");
    plugBoth({});
    const write = (pixels: object) => writeFileSync(defects, JSON.stringify(pixels));
    write({ left: [[64, 0]], right: [] });
    await expect(open({ defects })).rejects.toThrow(/expected pixels of one image of 64x48, got \(64, 0\)/);
    await expect(open({ defects: `${defects}.gone` })).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(fake.state(LEFT).opens).toBe(0);

    write({ left: [[10, 0]], right: [[5, 1]] });
    const source = await open({ defects, format: "GREY" });
    const { events, held } = recording(true);
    source.start(events);
    for (const path of [LEFT, RIGHT]) await until(() => fake.state(path).streaming, "stream on");
    const bytes = Uint8Array.from({ length: 64 * 48 }, (_, i) => i % 251);
    const timestampNs = now();
    for (const path of [LEFT, RIGHT]) fake.deliver(path, { timestampNs, sequence: 0, bytes });
    await until(() => held.length === 1, "a pair");
    const { left, right } = held[0]!;
    expect([left.data[10], left.data[69], right.data[10], right.data[69]]).toEqual([9, 69, 10, 68]);
    held[0]!.release();
  });

  test("the rate is the one the driver keeps, also where it answers with what was asked", async () => {
    const formats = [{ fourcc: "GREY", width: 64, height: 48, ratesHz: [30, 15] }];
    plugBoth({ formats, echoesRate: true });
    const notes: string[] = [];
    const request = {
      left: LEFT,
      right: RIGHT,
      width: 64,
      height: 48,
      autoExposure: "off",
      rateHz: 60,
    } as const;
    const source = await openV4l2Source(request, {
      video,
      clocks,
      system: fake.system,
      folders: { sysfs: "/nowhere" },
      onNote: (note) => notes.push(note),
    });
    cleanups.push(() => source.stop());
    expect(source.description.rateHz).toBe(30);
    for (const path of [LEFT, RIGHT])
      expect(notes).toContain(`${path}: asked for 60 Hz, the camera delivers 30 Hz.`);
  });

  // V4L2_FIELD_INTERLACED: both half pictures, taken at two moments, in one image.
  test.each([false, true])("interlaced video is refused, multi-planar %s", async (multiPlanar) => {
    plugBoth({ field: 4, multiPlanar });
    await expect(open()).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${LEFT}: expected progressive video, the input gives interlaced fields.`,
    });
  });

  test("an image in several memory planes is refused with their number", async () => {
    plugBoth({ multiPlanar: true, memoryPlanes: 2 });
    await expect(open()).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${LEFT}: expected GREY in one memory plane, the driver gives 2 separate planes.`,
    });
  });

  test("the left camera is let go when the right one fails", async () => {
    plugBoth({}, { stubbornWidth: 48 });
    await expect(open()).rejects.toThrow(RIGHT);
    for (const path of [LEFT, RIGHT]) expect(fake.state(path)).toMatchObject({ opens: 0, mappings: 0 });
    plugBoth({});
    fake.fail(RIGHT, "REQBUFS", constants.errno.EBUSY, 1);
    await expect(open()).rejects.toMatchObject({ code: "DEVICE_BUSY" });
    for (const path of [LEFT, RIGHT]) expect(fake.state(path)).toMatchObject({ opens: 0, mappings: 0 });
  });

  // Constructed from the compatible strings of NVIDIA's device trees; no such board has run this.
  test.each([
    ["a Xavier NX", "tegra-video", "nvidia,p3449-0000\0nvidia,tegra194\0", "Y16"],
    ["an Orin", "tegra-video", "nvidia,p3768-0000+p3767-0000\0nvidia,tegra234\0", "Y16"],
    ["a Thor", "tegra-video", "nvidia,p4071-0000\0nvidia,tegra264\0", "Y16"],
    ["a Nano", "tegra-video", "nvidia,p3450-0000\0nvidia,tegra210\0", "Y10"],
    ["a webcam on an Orin", "uvcvideo", "nvidia,tegra234\0", "Y10"],
  ])("raw samples of %s stand where its board puts them", async (_, driver, compatible, expected) => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-board-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, "compatible"), compatible);
    plugBoth({ driver, formats: [{ fourcc: "Y10 ", width: 64, height: 48, ratesHz: [30] }] });
    const source = await open({}, { compatible: join(folder, "compatible") });
    expect(source.description).toMatchObject({ leftFormat: expected, rightFormat: expected });
  });

  test("one device under two names is one device", () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-link-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const [file, link, other] = ["file", "link", "other"].map((name) => join(folder, name));
    for (const path of [file!, other!]) writeFileSync(path, "");
    symlinkSync(file!, link!);
    expect(isSameDevice(file!, link!)).toBe(true);
    expect(isSameDevice(file!, other!)).toBe(false);
  });

  test("the first stream finds no USB bandwidth: the run ends with that code, and auto's choice is explained", async () => {
    const formats = [
      { fourcc: "YUYV", width: 64, height: 48, ratesHz: [5] },
      { fourcc: "MJPG", width: 64, height: 48, ratesHz: [30] },
    ];
    plugBoth({ formats });
    fake.fail(RIGHT, "STREAMON", constants.errno.ENOSPC, 1e9);
    const notes: string[] = [];
    const source = await open({ rateHz: 30 }, {}, (note) => notes.push(note));
    expect(notes).toContain("source.v4l2.format auto takes MJPEG (30 Hz); also possible: YUYV (5 Hz).");
    const { errors, events } = recording();
    source.start(events);
    await until(() => errors.length === 1, "the error");
    expect(errors[0]).toMatchObject({ code: "DEVICE_BANDWIDTH", message: expect.stringContaining(RIGHT) });
  });

  test("who has a busy camera: another process, by name, and never this one", () => {
    const folder = mkdtempSync(join(tmpdir(), "depthwatt-proc-"));
    cleanups.push(() => rmSync(folder, { recursive: true }));
    const device = join(folder, "video0");
    writeFileSync(device, "");
    const holds = (pid: number, path: string) => {
      mkdirSync(join(folder, "proc", String(pid), "fd"), { recursive: true });
      writeFileSync(join(folder, "proc", String(pid), "comm"), "viewer\n");
      symlinkSync(path, join(folder, "proc", String(pid), "fd", "7"));
    };
    holds(process.pid, device);
    holds(41, "/dev/null");
    expect(findUser(device, join(folder, "proc"))).toBeUndefined();
    holds(42, device);
    expect(findUser(device, join(folder, "proc"))).toEqual({ pid: 42, name: "viewer" });
  });

  test("a camera of the same kind in another place is another camera", async () => {
    fake.plugIn({ path: LEFT, bus: "usb-1" });
    const identity = await video.identify(LEFT, fake.system);
    const find = () => findCamera(video, LEFT, identity, { sysfs: "/nowhere" }, fake.system);
    expect(await find()).toBe(LEFT);
    fake.plugIn({ path: LEFT, bus: "usb-2" });
    expect(await find()).toBeUndefined();
    fake.plugIn({ path: LEFT, bus: "usb-1", card: "Other Camera" });
    expect(await find()).toBeUndefined();
  });
});
