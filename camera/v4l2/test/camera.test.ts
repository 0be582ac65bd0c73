// SPDX-License-Identifier: Apache-2.0
// The native capture against the driver in memory: formats, delivery and the return of buffers.
import { readdirSync } from "node:fs";
import { beforeEach, describe, expect, test } from "vitest";
import { V4l2Camera } from "../src/camera.js";
import { counted, readCounter, until, video } from "./fake-video/helpers.js";
import {
  descriptors,
  fake,
  openAndStart,
  options,
  PATH,
  useFreshDriver,
} from "./fake-video/native-camera.js";

describe("native capture", () => {
  beforeEach(useFreshDriver);

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

  test("describes every field of a format, and of a control of each kind", async () => {
    const ranged = { minimum: 0, maximum: 7, value: 3 };
    fake.plugIn({
      path: PATH,
      card: "Card",
      driver: "driver",
      bus: "usb-1",
      formats: [{ fourcc: "Y16 ", width: 64, height: 48, ratesHz: [12, 30] }],
      controls: [
        { id: 0x980901, name: "Plain", minimum: -9, maximum: 9, step: 3, value: 6 },
        { id: 0x980902, name: "Switch", type: 2, minimum: 0, maximum: 1, value: 1 },
        {
          id: 0x980903,
          name: "Menu",
          type: 3,
          ...ranged,
          maximum: 2,
          value: 1,
          menu: ["a", "", "c"],
          flags: 0x10,
        },
        { id: 0x980904, name: "Button", type: 4, minimum: 0, maximum: 0, value: 0 },
        { id: 0x980905, name: "Wide", type: 5, minimum: 0, maximum: 2 ** 40, value: 2 ** 33, flags: 0x4 },
        { id: 0x980906, name: "Text", type: 7, ...ranged },
        { id: 0x980907, name: "Mask", type: 8, ...ranged, flags: 0x40 },
        { id: 0x980908, name: "Disabled", ...ranged, flags: 0x1 },
      ],
    });
    const control = {
      readable: true,
      writable: true,
      inactive: false,
      wide: false,
      minimum: 0,
      step: 1,
      menu: [],
    };
    expect(await video.describe(PATH, fake.system)).toEqual({
      path: PATH,
      driver: "driver",
      card: "Card",
      bus: "usb-1",
      captures: true,
      streams: true,
      multiPlanar: false,
      formats: [
        {
          fourcc: "Y16 ",
          description: expect.any(String),
          compressed: false,
          emulated: false,
          sizes: [
            {
              minWidth: 64,
              maxWidth: 64,
              stepWidth: 1,
              minHeight: 48,
              maxHeight: 48,
              stepHeight: 1,
              ratesHz: [12, 30],
              rateRange: false,
            },
          ],
        },
      ],
      controls: [
        {
          ...control,
          id: 0x980901,
          name: "Plain",
          kind: "integer",
          minimum: -9,
          maximum: 9,
          step: 3,
          initial: 6,
        },
        { ...control, id: 0x980902, name: "Switch", kind: "boolean", maximum: 1, initial: 1 },
        {
          ...control,
          id: 0x980903,
          name: "Menu",
          kind: "menu",
          inactive: true,
          maximum: 2,
          initial: 1,
          menu: [
            { value: 0, name: "a" },
            { value: 2, name: "c" },
          ],
        },
        { ...control, id: 0x980904, name: "Button", kind: "button", readable: false, maximum: 0, initial: 0 },
        {
          ...control,
          id: 0x980905,
          name: "Wide",
          kind: "integer",
          wide: true,
          writable: false,
          maximum: 2 ** 40,
          initial: 2 ** 33,
        },
        { ...control, id: 0x980907, name: "Mask", kind: "bitmask", readable: false, maximum: 7, initial: 3 },
      ],
    });
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

  test("a number that is no buffer's is refused", async () => {
    fake.plugIn({ path: PATH });
    const { camera } = await openAndStart({ buffers: 4 });
    for (const image of [4, -1, 1.5, Number.NaN, 2 ** 31, -(2 ** 31)])
      expect(() => camera.native.release(image), String(image)).toThrow(
        /^Expected an image buffer from 0 to 3, got/,
      );
    expect(() => camera.native.release(3)).toThrow(/is not held/);
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
});
