// SPDX-License-Identifier: Apache-2.0
// From settings to a source with drivers in this file: where each image is in its frame, descriptions, notes and refusals.
import { afterEach, describe, expect, test } from "vitest";
import { openV4l2Source, type PairSource, type V4l2Settings } from "../../../../camera/index.js";
import type { MeasureDecoding } from "../../../../camera/live/decoding-costs.js";
import {
  FACTS_BYTES,
  type NativeAddon,
  type NativeOpenOptions,
  RING_ENTRIES,
} from "../../../../camera/v4l2/src/native.js";

interface Driver {
  formats: Record<string, number[]>;
  driver?: string;
  controls?: [name: string, value: number, inactive?: boolean][];
  /** The driver's answer to a request, where it differs. */
  agreed?: object;
  strideBytes?: number;
  /** Memory that it refuses. */
  refuses?: readonly string[];
}

const opened: PairSource[] = [];
afterEach(async () => {
  for (const source of opened.splice(0)) await source.stop();
});

/** Drivers by path. */
function bench(drivers: Record<string, Driver>) {
  const asked: NativeOpenOptions[] = [];
  const notes: string[] = [];
  const log: string[] = [];
  const natives = new Map<string, { images: Uint8Array[]; wake: () => void }>();
  const identity = (path: string) => ({
    path,
    driver: drivers[path]!.driver ?? "hand",
    card: `Camera ${path}`,
    bus: path,
    captures: true,
    streams: true,
    multiPlanar: false,
  });
  const addon = {
    describe: async (path: string) => ({
      ...identity(path),
      controls: [],
      formats: Object.entries(drivers[path]!.formats).map(([fourcc, ratesHz]) => ({
        fourcc,
        description: "",
        compressed: false,
        emulated: false,
        sizes: [
          {
            minWidth: 1,
            maxWidth: 4096,
            stepWidth: 1,
            minHeight: 1,
            maxHeight: 4096,
            stepHeight: 1,
            ratesHz,
            rateRange: false,
          },
        ],
      })),
    }),
    open: async (options: NativeOpenOptions) => {
      const { path, width = 0, height = 0, fourcc = "" } = options;
      asked.push(options);
      const { agreed, strideBytes = 4096, controls = [], refuses = [], formats } = drivers[path]!;
      for (const word of refuses)
        if (word in options) throw Object.assign(new Error(`no ${word}`), { code: "DEVICE_UNSUITABLE" });
      const values = new Map(controls.map(([name, value], id) => [id, { name, value }]));
      const ring = new ArrayBuffer(4 * RING_ENTRIES);
      const facts = new ArrayBuffer(FACTS_BYTES);
      const images = [new Uint8Array(strideBytes * height)];
      let onWake: (produced: number, fault: number, action: undefined, events: boolean) => void = () => {};
      natives.set(path, {
        images,
        wake: () => {
          new BigInt64Array(facts).set([1_000_000_000n, 1_000_000_000n]);
          new Uint32Array(facts).set([0, 0x2000], 4);
          onWake(1, 0, undefined, false);
        },
      });
      return {
        identity: identity(path),
        format: {
          fourcc,
          width,
          height,
          strideBytes,
          imageBytes: strideBytes * height,
          planes: [{ strideBytes, imageBytes: strideBytes * height }],
          rateHz: formats[fourcc]![0] ?? 0,
          ...agreed,
        },
        planes: 1,
        images,
        ring,
        facts,
        exportedDescriptors: options.exportBuffers ? [9] : [],
        start: (wake: typeof onWake) => {
          onWake = wake;
        },
        release: () => {},
        controls: () =>
          controls.map(([name, , inactive = false], id) => ({
            id,
            name,
            kind: "integer",
            wide: false,
            readable: true,
            writable: true,
            inactive,
            minimum: 0,
            maximum: 1000,
            step: 1,
            initial: 0,
            menu: [],
          })),
        readControl: (id: number) => values.get(id)!.value,
        writeControl: (id: number, _: boolean, value: number) => {
          log.push(`${path} ${values.get(id)!.name}=${value}`);
          // Odd values are not taken.
          values.get(id)!.value = value - (value % 2);
        },
        statistics: () => ({ streamOnNs: 0, threadNs: 0 }),
        close: async () => void log.push(`${path} closed`),
        freeKept: () => {},
      };
    },
  } as unknown as NativeAddon;
  const open = async (settings: Partial<V4l2Settings>, more = {}) => {
    const source = await openV4l2Source({ width: 64, height: 48, ...settings } as V4l2Settings, {
      video: addon,
      clocks: () => ({ monotonicNs: 1n, realtimeNs: 1n }),
      folders: { sysfs: "/nowhere" },
      buses: { forBus: () => undefined } as never,
      onNote: (note) => notes.push(note),
      ...more,
    });
    opened.push(source);
    return source;
  };
  /** Offsets of the two images in the only camera's frame. */
  const offsets = (source: PairSource, path: string) => {
    const found: number[] = [];
    source.start({
      onPair: (pair) => {
        for (const { data } of [pair.left, pair.right]) found.push(data.byteOffset);
        pair.release();
      },
      onDegraded: () => {},
      onEnd: () => {},
      onError: (error) => expect.unreachable(error.message),
    });
    const { images, wake } = natives.get(path)!;
    wake();
    return found.map((offset) => offset - images[0]!.byteOffset);
  };
  return { open, offsets, asked, notes, log };
}

const ONE = "/dev/one";
const STRIDE = 4096;

describe("the format", () => {
  const measuring = (yuyvNs: number, jpegNs: number) => {
    const asked: unknown[] = [];
    const measureDecoding: MeasureDecoding = async (...request) => {
      asked.push(request);
      return { nsPerPixel: new Map([["YUYV", yuyvNs] as const, ["MJPEG", jpegNs] as const]), cores: 2 };
    };
    return { asked, measureDecoding };
  };

  test.each([
    [false, 1, 9, "YUYV"],
    [true, 9, 1, "MJPG"],
  ])(
    "is measured where costs decide, with colours %s: %d and %d ns take %s",
    async (colours, yuyv, jpeg, fourcc) => {
      const { open, asked, notes } = bench({ [ONE]: { formats: { YUYV: [30], MJPG: [30] } } });
      const { asked: measured, measureDecoding } = measuring(yuyv, jpeg);
      const source = await open({ sideBySide: ONE, ...(colours && { colours }) }, { measureDecoding });
      expect(measured).toEqual([[["YUYV", "MJPEG"], colours]]);
      expect(asked.map((one) => one.fourcc)).toEqual([fourcc]);
      expect(notes).toEqual([source.description.formatChoice]);
      expect(notes[0]).toMatch(
        /^source\.v4l2\.format auto takes (YUYV|MJPEG) \(30 Hz, .* ms a pair\); also possible/,
      );
    },
  );

  test.each<[string, Partial<V4l2Settings>, Record<string, number[]>, string, boolean]>([
    ["only one", {}, { YUYV: [30] }, "YUYV", true],
    ["named", { format: "YUYV" }, { YUYV: [30], MJPG: [30] }, "YUYV", false],
    ["only one that reaches the rate", { rateHz: 30 }, { YUYV: [30], MJPG: [10] }, "YUYV", true],
  ])("is not measured: %s", async (_, settings, formats, fourcc, hasReason) => {
    const { open, asked, notes } = bench({ [ONE]: { formats } });
    const { asked: measured, measureDecoding } = measuring(9, 1);
    await open({ sideBySide: ONE, ...settings }, { measureDecoding });
    expect([measured, asked.map((one) => one.fourcc), notes.length]).toEqual([
      [],
      [fourcc],
      hasReason ? 1 : 0,
    ]);
  });
});

describe("one camera with both images", () => {
  test.each<[string, Partial<V4l2Settings>, string, [string, string, number, number, string]]>([
    ["GREY", {}, "GREY", ["128x48", "side by side", 0, 64, "GREY"]],
    ["YUYV", { layout: "rightLeft" }, "YUYV", ["128x48", "side by side, right image first", 128, 0, "YUYV"]],
    [
      "GREY",
      { layout: "topBottom" },
      "GREY",
      ["64x96", "left image above the right one", 0, 48 * STRIDE, "GREY"],
    ],
    [
      "Y16 ",
      { layout: "bottomTop" },
      "Y16",
      ["64x96", "right image above the left one", 48 * STRIDE, 0, "Y16"],
    ],
    ["Y10P", {}, "Y10P", ["128x48", "side by side", 0, 80, "Y10P"]],
    ["Y8I ", { layout: "interleaved" }, "Y8I", ["64x48", "both images in every pixel", 0, 0, "Y8I"]],
    ["Y12I", { layout: "interleaved" }, "Y12I", ["64x48", "both images in every pixel", 0, 0, "Y12I"]],
    [
      "YUYV",
      { layout: "interleaved", format: "YUYV" },
      "YUYV",
      ["64x48", "both images in every pixel", 0, 0, "Y8I"],
    ],
    [
      "YUYV",
      { margins: "4,2,6,8" },
      "YUYV",
      ["138x58", "side by side", 2 * STRIDE + 8, 2 * STRIDE + 136, "YUYV"],
    ],
    ["BA10", { mono: true }, "BAYER_GRBG10", ["128x48", "side by side", 0, 128, "Y10"]],
    ["RGGB", { mono: true }, "BAYER_RGGB8", ["128x48", "side by side", 0, 64, "GREY"]],
    ["pRAA", { mono: true }, "BAYER_RGGB10P", ["128x48", "side by side", 0, 80, "Y10P"]],
    ["Y10 ", { rawAlignment: "high" }, "Y10", ["128x48", "side by side", 0, 128, "Y16"]],
    ["BA10", { rawAlignment: "high", mono: true }, "BAYER_GRBG10", ["128x48", "side by side", 0, 128, "Y16"]],
  ])("%s %j", async (fourcc, more, name, [frame, words, left, right, format]) => {
    const { open, offsets, asked } = bench({ [ONE]: { formats: { [fourcc]: [30] } } });
    const source = await open({ sideBySide: ONE, ...more });
    const isInterleaved = more.layout === "interleaved";
    const { formatChoice, ...description } = source.description;
    const images = isInterleaved ? "" : " (two images of 64x48)";
    expect(description).toEqual({
      title: `cameras ${ONE} ${words}, ${name} ${frame}${images} at 30 Hz`,
      width: 64,
      height: 48,
      leftFormat: isInterleaved ? `${format}_LEFT` : format,
      rightFormat: isInterleaved ? `${format}_RIGHT` : format,
      leftStrideBytes: STRIDE,
      rightStrideBytes: STRIDE,
      rateHz: 30,
      clock: "monotonic",
    });
    expect(formatChoice === undefined).toBe(more.format !== undefined);
    const [width, height] = frame.split("x").map(Number);
    expect(asked).toEqual([{ path: ONE, fourcc, width, height, formatControls: {} }]);
    expect(offsets(source, ONE)).toEqual([left, right]);
  });

  test.each([
    [false, "GREY", 128, 64],
    [true, "RGB8", 384, 192],
  ])("Motion JPEG with colours %s has rows that touch", async (colours, format, strideBytes, right) => {
    const { open, offsets, asked } = bench({ [ONE]: { formats: { MJPG: [] } } });
    const source = await open({ sideBySide: ONE, colours });
    expect(source.description).toMatchObject({
      leftFormat: format,
      leftStrideBytes: strideBytes,
      rightStrideBytes: strideBytes,
      rateHz: undefined,
      title: `cameras ${ONE} side by side, MJPEG 128x48 (two images of 64x48)`,
    });
    expect(asked[0]!.decode).toBe(colours ? "rgb" : undefined);
    expect(offsets(source, ONE)).toEqual([0, right]);
  });

  test.each<[string, Partial<V4l2Settings>, string]>([
    ["Y10P", { width: 66 }, "a multiple of 4 for two Y10P images"],
    ["Y12P", { width: 65 }, "a multiple of 2 for two Y12P images"],
    ["Y10P", { margins: "2,0,0,0" }, "Expected a left margin (source.v4l2.margins) that is a multiple of 4"],
    ["GREY", { margins: "1,0,0,0" }, "with even left and top"],
    ["NV12", { colours: true, margins: "0,2,0,0" }, "Expected a format other than NV12"],
    ["NV12", { colours: true, margins: "0,0,0,2" }, "Expected a format other than NV12"],
    ["NV12", { colours: true, layout: "topBottom" }, "Expected a format other than NV12"],
  ])("%s with %j is refused", async (fourcc, more, message) => {
    const { open, asked } = bench({ [ONE]: { formats: { [fourcc]: [30] } } });
    await expect(open({ sideBySide: ONE, ...more })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
    });
    expect(asked).toEqual([]);
  });

  test("neighbours of these requests are possible", async () => {
    const { open } = bench({ [ONE]: { formats: { NV12: [30] } } });
    await open({ sideBySide: ONE, colours: true, margins: "2,0,2,0" });
    await open({ sideBySide: ONE, layout: "topBottom" });
    const packed = bench({ [ONE]: { formats: { Y10P: [30] } } });
    await packed.open({ sideBySide: ONE, layout: "topBottom", width: 66 });
  });
});

describe("two cameras", () => {
  const [LEFT, RIGHT] = ["/dev/left", "/dev/right"];
  const both = (left: Partial<Driver> = {}, right: Partial<Driver> = {}) =>
    bench({
      [LEFT]: { formats: { GREY: [30] }, ...left },
      [RIGHT]: { formats: { GREY: [30] }, ...right },
    });
  const pair = { left: LEFT, right: RIGHT };

  test("are described together, each with its row length", async () => {
    const { open, asked } = both({ strideBytes: 64 }, { strideBytes: 128, formats: { GREY: [15] } });
    const source = await open({ ...pair, rateHz: 29.7, buffers: 5 }, { system: "here" });
    expect(source.description).toMatchObject({
      title: `cameras ${LEFT} and ${RIGHT}, GREY 64x48 each at 30 Hz`,
      leftStrideBytes: 64,
      rightStrideBytes: 128,
      rateHz: 30,
    });
    const request = { fourcc: "GREY", width: 64, height: 48, rateHz: 29.7, buffers: 5, system: "here" };
    expect(asked).toEqual([LEFT, RIGHT].map((path) => ({ path, ...request, formatControls: {} })));
  });

  test.each([
    [30, []],
    [29.71, []],
    [29.7, ["asked for 29.7 Hz, the camera delivers 30 Hz."]],
    [30.3, []],
    [30.4, ["asked for 30.4 Hz, the camera delivers 30 Hz."]],
    [undefined, []],
  ])("asked for %s Hz", async (rateHz, notes) => {
    const parts = both();
    await parts.open({ ...pair, ...(rateHz && { rateHz }), format: "GREY" });
    expect(parts.notes).toEqual([LEFT, RIGHT].flatMap((path) => notes.map((note) => `${path}: ${note}`)));
  });

  test("get the requested controls by side, then the right one the left one's, and each difference is a note", async () => {
    const parts = both(
      {
        controls: [
          ["Gain", 10],
          ["Brightness", 6],
          ["Sensor Mode", 0],
        ],
      },
      {
        controls: [
          ["Gain", 4],
          ["Brightness", 2],
          ["Contrast", 3, true],
        ],
      },
    );
    await parts.open({
      ...pair,
      format: "GREY",
      controls: "left.gain=21,right.brightness=8,left.sensor_mode=3",
    });
    expect(parts.asked.map(({ formatControls }) => formatControls)).toEqual([{ sensor_mode: 3 }, {}]);
    expect(parts.log).toEqual([`${LEFT} Gain=21`, `${RIGHT} Brightness=8`]);
    expect(parts.notes).toEqual([`${LEFT}: asked for gain=21, the camera set 20.`]);
    const equal = both({ controls: [["Gain", 10]] }, { controls: [["Gain", 4]] });
    await equal.open({ ...pair, format: "GREY" });
    expect(equal.log).toEqual([`${RIGHT} Gain=10`]);
    expect(equal.notes).toEqual([`${RIGHT}: gain set to 10, as on the left camera.`]);
  });

  test("of which one does not do as asked are both closed", async () => {
    const { open, log } = both({}, { agreed: { width: 32 } });
    await expect(open(pair)).rejects.toMatchObject({
      code: "DEVICE_UNSUITABLE",
      message: `${RIGHT}: expected GREY 64x48, the driver set GREY 32x48.`,
    });
    expect(log.sort()).toEqual([`${LEFT} closed`, `${RIGHT} closed`]);
    for (const agreed of [{ height: 47 }, { fourcc: "YUYV" }]) {
      const other = both({ agreed });
      await expect(other.open(pair)).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
      expect(other.log).toEqual([`${LEFT} closed`]);
    }
  });

  test.each<[string, Partial<V4l2Settings>]>([
    ["got none", {}],
    [`got ${LEFT}`, { left: LEFT }],
    [`got ${RIGHT}`, { right: RIGHT }],
    ["the same device twice", { left: LEFT, right: LEFT }],
    ["source.v4l2.layout topBottom, got two", { ...pair, layout: "topBottom" }],
    ["source.v4l2.margins, got two", { ...pair, margins: "0,0,0,0" }],
    ["for source.v4l2.other.device", { ...pair, other: { device: RIGHT, width: 8, height: 8 } }],
  ])("%s is refused", async (message, settings) => {
    const { open, asked } = both();
    await expect(open(settings)).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining(message),
    });
    expect(asked).toEqual([]);
  });

  test.each([
    [[], ["ownMemory"], undefined],
    [["ownMemory"], ["exportBuffers", "keepMapped"], "so its buffers are exported (DMA buffers)."],
    [["ownMemory", "exportBuffers"], [], "and exports no buffers, so images are copied."],
  ])("with memory auto, whose driver refuses %j", async (refuses, used, note) => {
    const { open, asked, notes } = both({ refuses });
    await open({ ...pair, format: "GREY", memory: "auto" });
    const words = ["ownMemory", "exportBuffers", "keepMapped"];
    const last = asked.filter(({ path }) => path === LEFT).at(-1)!;
    expect(words.filter((word) => word in last)).toEqual(used);
    const start = `${LEFT}: the driver takes no memory of this process (USERPTR)`;
    expect(notes).toEqual(
      note === undefined
        ? []
        : [expect.stringMatching(`^${start.replace(/[()]/g, ".")},? ${note.replace(/[()]/g, ".")}$`)],
    );
  });

  test("a memory that is named and refused is an error", async () => {
    const { open, asked } = both({ refuses: ["ownMemory"] });
    await expect(open({ ...pair, memory: "userptr" })).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    expect(asked).toHaveLength(1);
  });
});

describe("a further camera", () => {
  const [LEFT, RIGHT, OTHER] = ["/dev/left", "/dev/right", "/dev/other"];
  const three = (other: Driver) =>
    bench({ [LEFT]: { formats: { GREY: [30] } }, [RIGHT]: { formats: { GREY: [30] } }, [OTHER]: other });
  const pair = { left: LEFT, right: RIGHT, format: "GREY" as const };

  test.each([
    ["MJPG", "RGB8", 96, 0],
    ["YUYV", "YUYV", 4096, 0],
  ])("with %s has its own size, in colours", async (fourcc, format, strideBytes, offsetBytes) => {
    const { open, asked, notes } = three({ formats: { [fourcc]: [10] } });
    const source = await open({
      ...pair,
      controls: "",
      buffers: 6,
      other: { device: OTHER, width: 32, height: 24, rateHz: 10 },
    });
    expect(source.description.other).toEqual({ width: 32, height: 24, strideBytes, format, offsetBytes });
    const rest = { formatControls: {}, buffers: 6, decode: "rgb" };
    expect(asked[2]).toEqual({ path: OTHER, fourcc, width: 32, height: 24, rateHz: 10, ...rest });
    expect(notes).toEqual([expect.stringMatching(/^source\.v4l2\.other\.format auto takes /)]);
  });

  test("whose driver refuses it closes the pair's", async () => {
    const { open, log } = three({ formats: { GREY: [10] }, agreed: { width: 8 } });
    const other = { device: OTHER, width: 32, height: 24, format: "GREY" as const };
    await expect(open({ ...pair, other })).rejects.toMatchObject({ code: "DEVICE_UNSUITABLE" });
    expect(log.sort()).toEqual([LEFT, OTHER, RIGHT].map((path) => `${path} closed`));
  });
});
