// SPDX-License-Identifier: Apache-2.0
// Drivers offer formats and controls in other forms than a webcam: ranges of sizes and rates, big-endian formats, menus of
// numbers, control names of any characters, and capabilities of the whole device alone.
import { beforeEach, expect, test } from "vitest";
import type { FakeControl } from "./fake-video/fake-video.js";
import { video } from "./fake-video/helpers.js";
import { fake, options, PATH, useFreshDriver } from "./fake-video/native-camera.js";

beforeEach(useFreshDriver);

test("a range of sizes has its limits, its steps, and the rates at its largest size from slow to fast", async () => {
  const range = { minWidth: 16, stepWidth: 4, minHeight: 12, stepHeight: 2 };
  fake.plugIn({
    path: PATH,
    formats: [
      { fourcc: "YUYV", width: 64, height: 48, ratesHz: [5, 20, 120], range, description: "YUYV 4:2:2" },
      { fourcc: "YUYV", width: 32, height: 24, ratesHz: [30] },
      { fourcc: "MJPG", width: 640, height: 480, ratesHz: [30, 15], description: "x".repeat(32) },
      { fourcc: "RGB3", width: 640, height: 480, ratesHz: [], flags: 2 },
      { fourcc: "Y16 ", width: 8, height: 6, ratesHz: [1], bigEndian: true, flags: 3 },
      { fourcc: "\u007fA\u001f ", width: 8, height: 6, ratesHz: [1], flags: 0 },
    ],
  });
  const size = (width: number, height: number, ratesHz: number[]) => ({
    minWidth: width,
    maxWidth: width,
    stepWidth: 1,
    minHeight: height,
    maxHeight: height,
    stepHeight: 1,
    ratesHz,
    rateRange: false,
  });
  const plain = { description: "a format", compressed: false, emulated: false };
  const { formats } = await video.describe(PATH, fake.system);
  expect(formats).toEqual([
    {
      ...plain,
      fourcc: "YUYV",
      description: "YUYV 4:2:2",
      sizes: [{ ...range, maxWidth: 64, maxHeight: 48, ratesHz: [5, 120], rateRange: true }],
    },
    {
      ...plain,
      fourcc: "MJPG",
      description: "x".repeat(32),
      compressed: true,
      sizes: [size(640, 480, [30, 15])],
    },
    { ...plain, fourcc: "RGB3", emulated: true, sizes: [size(640, 480, [])] },
    { ...plain, fourcc: "Y16 -BE", compressed: true, emulated: true, sizes: [size(8, 6, [1])] },
    { ...plain, fourcc: ".A. ", sizes: [size(8, 6, [1])] },
  ]);
});

test("a big-endian format is requested by its name", async () => {
  fake.plugIn({
    path: PATH,
    formats: [
      { fourcc: "Y16 ", width: 8, height: 6, ratesHz: [30] },
      { fourcc: "Y16 ", width: 16, height: 12, ratesHz: [30], bigEndian: true },
    ],
  });
  for (const [fourcc, width] of [
    ["Y16 ", 8],
    ["Y16 -BE", 16],
  ] as const) {
    const camera = await video.open(options({ fourcc, width: 1, height: 1 }));
    expect(camera.format).toMatchObject({ fourcc, width });
    await camera.close();
  }
});

test("a menu of numbers has their texts, and holes are left out; no control is of a type without one number", async () => {
  const control = (id: number, type: number, more: Partial<FakeControl> = {}): FakeControl => ({
    id,
    name: `Control ${id}`,
    type,
    minimum: 0,
    maximum: 3,
    value: 1,
    ...more,
  });
  fake.plugIn({
    path: PATH,
    controls: [
      control(0x980901, 9, { minimum: 1, menu: ["7", "-5", "", "10000000000"] }),
      control(0x980902, 3, { maximum: 400, menu: Array.from({ length: 300 }, (_, i) => `entry ${i}`) }),
      // Integers of 64 and 8 bits, an array of them, a class and a text.
      ...[5, 0x100, 0x106, 6, 7].map((type, i) => control(0x980910 + i, type)),
    ],
  });
  const { controls } = await video.describe(PATH, fake.system);
  expect(controls.map(({ kind, wide, menu }) => [kind, wide, menu.length])).toEqual([
    ["menu", false, 2],
    ["menu", false, 256],
    ["integer", true, 0],
  ]);
  expect(controls[0]!.menu).toEqual([
    { value: 1, name: "-5" },
    { value: 3, name: "10000000000" },
  ]);
  expect(controls[1]!.menu[255]).toEqual({ value: 255, name: "entry 255" });
});

test("a control's name has its letters and digits in small letters, and one underscore between words", async () => {
  const names = ["Az zA 09", " (Left)  Gain!", "@Zoom[`a{/9:", "Ä", "--"];
  fake.plugIn({
    path: PATH,
    controls: names.map((name, i) => ({ id: 0x980900 + i, name, minimum: -9, maximum: 99, value: 0 })),
  });
  const formatControls = { az_za_09: 1, left_gain: 2, zoom_a_9: 3, "": 4 };
  await (await video.open(options({ formatControls }))).close();
  expect(names.map((_, i) => fake.control(PATH, 0x980900 + i))).toEqual([1, 2, 3, 4, 0]);
  await expect(video.open(options({ formatControls: { az_za_09: 100 } }))).rejects.toThrow(
    /\(az_za_09=100\)/,
  );
  await expect(video.open(options({ formatControls: { left: 1 } }))).rejects.toThrow(/no control "left"/);
});

test("a driver that reports the capabilities of the whole device alone is a camera", async () => {
  fake.plugIn({ path: PATH, withoutDeviceCaps: true });
  expect(await video.identify(PATH, fake.system)).toMatchObject({
    captures: true,
    streams: true,
    multiPlanar: false,
  });
  fake.plugIn({ path: PATH, withoutDeviceCaps: true, multiPlanar: true });
  expect(await video.identify(PATH, fake.system)).toMatchObject({
    captures: true,
    streams: true,
    multiPlanar: true,
  });
  fake.plugIn({ path: PATH, withoutDeviceCaps: true, metadataOnly: true });
  expect(await video.identify(PATH, fake.system)).toEqual({
    path: PATH,
    driver: "fake",
    card: "Fake Camera",
    bus: `usb-fake-${PATH}`,
    captures: false,
    streams: true,
    multiPlanar: false,
  });
});

test.each([false, true])(
  "a format has every field, and nothing of the format before; multi-planar %s",
  async (multiPlanar) => {
    fake.plugIn({
      path: PATH,
      multiPlanar,
      formats: [
        { fourcc: "YUYV", width: 64, height: 48, ratesHz: [30, 15] },
        { fourcc: "GREY", width: 32, height: 24, ratesHz: [30] },
        { fourcc: "GREY", width: 16, height: 24, ratesHz: [30] },
        { fourcc: "GREY", width: 16, height: 12, ratesHz: [30] },
      ],
    });
    const formatOf = async (request: object) => {
      const camera = await video.open({ path: PATH, system: fake.system, ...request });
      await camera.close();
      return camera.format;
    };
    const described = (
      fourcc: string,
      width: number,
      height: number,
      strideBytes: number,
      rateHz: number,
    ) => {
      const plane = { strideBytes, imageBytes: strideBytes * height };
      return { fourcc, width, height, ...plane, planes: [plane], rateHz };
    };
    // The driver in memory takes longer rows and larger images if a request has them.
    const large = { fourcc: "YUYV", width: 64, height: 48, rateHz: 15 };
    expect(await formatOf(large)).toEqual(described("YUYV", 64, 48, 128, 15));
    expect(await formatOf({})).toEqual(described("YUYV", 64, 48, 128, 15));
    expect(await formatOf({ fourcc: "GREY" })).toEqual(described("GREY", 32, 24, 32, 15));
    expect(await formatOf({ width: 16 })).toEqual(described("GREY", 16, 24, 16, 15));
    expect(await formatOf({ height: 12 })).toEqual(described("GREY", 16, 12, 16, 15));
  },
);

test("a rate is requested in thousandths of a hertz, only where it is asked for and can be set", async () => {
  const formats = [{ fourcc: "GREY", width: 64, height: 48, ratesHz: [30, 60] }];
  const intervals: [object, number | undefined, [number, number], number][] = [
    [{}, undefined, [0, 0], 30],
    [{}, 29.97, [1000, 29_970], 30],
    [{}, 59.9404, [1000, 59_940], 60],
    [{}, 0.001, [1000, 1], 30],
    [{ fixedRate: true }, 60, [0, 0], 30],
    [{ formats: [{ ...formats[0]!, ratesHz: [0] }] }, undefined, [0, 0], 0],
  ];
  for (const [more, rateHz, interval, kept] of intervals) {
    fake.plugIn({ path: PATH, formats, ...more });
    const camera = await video.open(options(rateHz === undefined ? {} : { rateHz }));
    await camera.close();
    expect([fake.state(PATH).requestedInterval, camera.format.rateHz], `${rateHz} Hz`).toEqual([
      interval,
      kept,
    ]);
  }
});

test("a control of 64 bits keeps all of them, before the format is set and after", async () => {
  const wide = { id: 0x980901, name: "Wide", type: 5, minimum: -(2 ** 53), maximum: 2 ** 53, value: 0 };
  const narrow = { id: 0x980902, name: "Narrow", minimum: -(2 ** 31), maximum: 2 ** 31 - 1, value: 0 };
  fake.plugIn({ path: PATH, controls: [wide, narrow] });
  for (const [value, small] of [
    [2 ** 40 + 3, 2 ** 31 - 1],
    [-(2 ** 35) - 1, -(2 ** 31)],
  ] as const) {
    const camera = await video.open(options({ formatControls: { wide: value, narrow: small } }));
    expect([fake.control(PATH, wide.id), fake.control(PATH, narrow.id)]).toEqual([value, small]);
    expect([camera.readControl(wide.id, true), camera.readControl(narrow.id, false)]).toEqual([value, small]);
    camera.writeControl(wide.id, true, value - 9);
    camera.writeControl(narrow.id, false, -small - 1);
    expect([fake.control(PATH, wide.id), fake.control(PATH, narrow.id)]).toEqual([value - 9, -small - 1]);
    await camera.close();
  }
});

test("options are accepted up to their limits, and refused beyond them", async () => {
  fake.plugIn({
    path: PATH,
    controls: [{ id: 0x980900, name: "Wide", type: 5, minimum: -(2 ** 53), maximum: 2 ** 53, value: 0 }],
  });
  const verdict = async (more: object) => {
    try {
      await (await video.open(options(more))).close();
      return "accepted";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };
  const max = Number.MAX_SAFE_INTEGER;
  const limits: [(value: number) => object, number, number, number, number][] = [
    [(width) => ({ width }), 0, 1, 32768, 32769],
    [(height) => ({ height }), 0, 1, 32768, 32769],
    [(rateHz) => ({ rateHz }), 0.0009, 0.001, 100_000, 100_001],
    [(buffers) => ({ buffers }), 3, 4, 32, 33],
    [(wide) => ({ formatControls: { wide } }), -max - 1, -max, max, max + 1],
  ];
  for (const [more, below, lowest, highest, above] of limits) {
    const verdicts = [];
    for (const value of [below, lowest, highest, above]) verdicts.push(await verdict(more(value)));
    expect(verdicts, JSON.stringify(more(0))).toEqual([
      "INVALID_ARGUMENT",
      "accepted",
      "accepted",
      "INVALID_ARGUMENT",
    ]);
  }
  expect(await verdict({ formatControls: { wide: 0.5 } })).toBe("INVALID_ARGUMENT");
  expect(await verdict({ fourcc: "YUY" })).toBe("INVALID_ARGUMENT");
  expect(fake.state(PATH)).toMatchObject({ opens: 0, mappings: 0 });
});
