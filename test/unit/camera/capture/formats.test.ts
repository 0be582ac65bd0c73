// SPDX-License-Identifier: Apache-2.0
// The table of formats, the choice among them, stills, and requested controls.
import { CAPTURE_FORMATS, type CaptureFormat, controlName } from "v4l2-camera";
import {
  delivered,
  FORMAT_TRAITS,
  isInterleaved,
  type NativeDescription,
  packedSamples,
} from "v4l2-camera/parts";
import { describe, expect, test } from "vitest";
import type { PixelFormat, RawImage } from "../../../../camera/frame.js";
import { chooseFormat, formatsToMeasure, offerText } from "../../../../camera/live/choose.js";
import type { DecodingCosts } from "../../../../camera/live/decoding-costs.js";
import {
  frameSize,
  isSecond,
  parseMargins,
  sizeWords,
  titleSize,
} from "../../../../camera/live/pair-layout.js";
import { parseControls } from "../../../../camera/live/requested-controls.js";
import { toGrey } from "../../../../camera/recordings/still.js";
import type { DepthwattError } from "../../../../core/index.js";
import { Random } from "../../../doubles/random.js";

const camera = (path: string, formats: [string, number, number][]): NativeDescription => ({
  path,
  driver: "uvcvideo",
  card: "Camera",
  bus: "usb-1",
  captures: true,
  streams: true,
  multiPlanar: false,
  controls: [],
  formats: formats.map(([fourcc, width, height]) => ({
    fourcc,
    description: "",
    compressed: false,
    emulated: false,
    sizes: [
      {
        minWidth: width,
        maxWidth: width,
        stepWidth: 1,
        minHeight: height,
        maxHeight: height,
        stepHeight: 1,
        ratesHz: [30],
        rateRange: false,
      },
    ],
  })),
});

describe("format table", () => {
  test("every name and every fourcc once, four letters each", () => {
    expect(new Set(CAPTURE_FORMATS).size).toBe(FORMAT_TRAITS.length);
    expect(new Set(FORMAT_TRAITS.map(({ fourcc }) => fourcc)).size).toBe(FORMAT_TRAITS.length);
    for (const { fourcc } of FORMAT_TRAITS) expect(fourcc).toHaveLength(4);
  });

  test("bytes of a pixel, and the bits of raw words", () => {
    const bytes = (format: CaptureFormat) => {
      if (format === "MJPEG") return 0;
      if (format.endsWith("10P")) return 10 / 8;
      if (format.endsWith("12P")) return 12 / 8;
      if (/^(GREY|NV12|BAYER_....8)$/.test(format)) return 1;
      return format === "RGB8" || format === "Y12I" ? 3 : 2;
    };
    const bits = (format: CaptureFormat) => Number(/^(?:Y|BAYER_....)(10|12)$/.exec(format)?.[1] ?? 0);
    expect(
      FORMAT_TRAITS.map(({ format, bytesPerPixel, rawBits }) => [format, bytesPerPixel, rawBits ?? 0]),
    ).toEqual(CAPTURE_FORMATS.map((format) => [format, bytes(format), bits(format)]));
    const packed = (format: CaptureFormat) => [format, packedSamples(format)];
    expect((["Y10P", "Y12P", "BAYER_RGGB10P", "BAYER_RGGB12P", "Y10", "GREY"] as const).map(packed)).toEqual([
      ["Y10P", 4],
      ["Y12P", 2],
      ["BAYER_RGGB10P", 4],
      ["BAYER_RGGB12P", 2],
      ["Y10", 1],
      ["GREY", 1],
    ]);
  });

  test("words filled from the top are 16-bit samples; JPEG is delivered as grey", () => {
    expect(delivered("Y10", "high")).toBe("Y16");
    expect(delivered("BAYER_GBRG12", "high")).toBe("BAYER_GBRG16");
    expect(delivered("BAYER_GBRG12", "low")).toBe("BAYER_GBRG12");
    expect(delivered("BAYER_RGGB8", "high")).toBe("BAYER_RGGB8");
    expect(delivered("YUYV", "high")).toBe("YUYV");
    expect(delivered("MJPEG", "low")).toBe("GREY");
    expect(delivered("MJPEG", "high", true)).toBe("RGB8");
  });
});

describe("what raw alignment leaves alone", () => {
  test("every format but the 10 and 12 bit ones of raw sensors", () => {
    const raw = CAPTURE_FORMATS.filter((format) => delivered(format, "high") !== delivered(format, "low"));
    const expected = ["Y", "BAYER_RGGB", "BAYER_GRBG", "BAYER_GBRG", "BAYER_BGGR"];
    expect([...raw].sort()).toEqual(expected.flatMap((name) => [`${name}10`, `${name}12`]).sort());
    for (const format of raw) expect(delivered(format, "high")).toBe(format.replace(/1[02]$/, "16"));
    expect(delivered("NV12", "high")).toBe("NV12");
  });
});

describe("choice of the format", () => {
  test("what a library makes up is not what the camera offers", () => {
    const offers = camera("/dev/video0", [
      ["GREY", 640, 480],
      ["YUYV", 640, 480],
    ]);
    offers.formats[0]!.emulated = true;
    expect(chooseFormat([offers], { width: 640, height: 480, format: "auto" }).trait.format).toBe("YUYV");
  });

  test("a range of sizes has steps: between them nothing is offered", () => {
    const offers = camera("/dev/video0", [["GREY", 640, 480]]);
    const range = {
      minWidth: 32,
      maxWidth: 640,
      stepWidth: 16,
      minHeight: 24,
      maxHeight: 480,
      stepHeight: 8,
    };
    offers.formats[0]!.sizes = [{ ...range, ratesHz: [30], rateRange: true }];
    const choose = (width: number, height: number) =>
      chooseFormat([offers], { width, height, format: "auto" }).trait;
    expect(choose(48, 32).format).toBe("GREY");
    for (const [width, height] of [
      [40, 32],
      [48, 30],
      [656, 480],
      [16, 24],
    ] as const)
      expect(() => choose(width, height)).toThrow(/offers GREY 32x24 to 640x480/);
  });

  test("auto takes grey before colour, few bytes before many, Motion JPEG last", () => {
    const all = FORMAT_TRAITS.filter(({ format }) => !isInterleaved(format)).map(
      ({ fourcc }): [string, number, number] => [fourcc, 640, 480],
    );
    const order: string[] = [];
    for (let left = all; left.length > 0; ) {
      const { format, fourcc } = chooseFormat([camera("/dev/video0", left)], {
        width: 640,
        height: 480,
        format: "auto",
      }).trait;
      order.push(format);
      left = left.filter(([other]) => other !== fourcc);
    }
    expect(order.filter((format) => !format.startsWith("BAYER"))).toEqual([
      "GREY",
      "NV12",
      "YUYV",
      "UYVY",
      "Y10",
      "Y12",
      "Y16",
      "Y10P",
      "Y12P",
      "RGB8",
      "MJPEG",
    ]);
    expect(order.findIndex((format) => format.endsWith("8"))).toBeGreaterThan(order.indexOf("UYVY"));
    expect(order.findIndex((format) => format.startsWith("BAYER"))).toBeLessThan(order.indexOf("Y10"));
    expect(order.at(-1)).toBe("MJPEG");
    const ofMosaics = order.filter((format) => format.startsWith("BAYER"));
    const orders = ["RGGB", "GRBG", "GBRG", "BGGR"];
    expect(ofMosaics).toEqual(
      ["8", "10", "12", "16", "10P", "12P"].flatMap((depth) =>
        orders.map((colours) => `BAYER_${colours}${depth}`),
      ),
    );
  });

  const request = { width: 640, height: 480, format: "auto" } as const;

  test("the cheapest that both offer at the size", () => {
    const left = camera("/dev/video0", [
      ["MJPG", 640, 480],
      ["YUYV", 640, 480],
      ["GREY", 320, 240],
    ]);
    const right = camera("/dev/video2", [
      ["GREY", 640, 480],
      ["YUYV", 640, 480],
      ["MJPG", 640, 480],
    ]);
    expect(chooseFormat([left, right], request).trait.format).toBe("YUYV");
    expect(chooseFormat([right], request).trait.format).toBe("GREY");
    expect(chooseFormat([left, right], { ...request, format: "MJPEG" }).trait.format).toBe("MJPEG");
  });

  test("a camera that lists no sizes is taken at its word", () => {
    const plain = camera("/dev/video0", [["GREY", 1, 1]]);
    plain.formats[0]!.sizes = [];
    expect(chooseFormat([plain], request).trait.format).toBe("GREY");
  });

  /** One 1280x480 image with both sides, as USB 2 stereo cameras offer it. */
  const wide = (ratesHz: Record<string, number[]>) => {
    const offers = camera(
      "/dev/video0",
      Object.keys(ratesHz).map((fourcc) => [fourcc, 1280, 480]),
    );
    for (const format of offers.formats) format.sizes[0]!.ratesHz = ratesHz[format.fourcc]!;
    return offers;
  };
  const wideRequest = { width: 1280, height: 480, format: "auto" } as const;

  test("auto takes a format that reaches the rate, and names the alternatives", () => {
    const offers = wide({ YUYV: [10, 5], MJPG: [60, 30] });
    const chosen = chooseFormat([offers], { ...wideRequest, rateHz: 30 });
    expect(chosen.trait.format).toBe("MJPEG");
    expect(chosen.reason).toBe("source.v4l2.format auto takes MJPEG (60 Hz); also possible: YUYV (10 Hz).");
    for (const rateHz of [10, 5, undefined]) {
      const slow = chooseFormat([offers], { ...wideRequest, ...(rateHz && { rateHz }) });
      const reason = "source.v4l2.format auto takes YUYV (10 Hz); also possible: MJPEG (60 Hz).";
      expect([slow.trait.format, slow.reason]).toEqual(["YUYV", reason]);
    }
    expect(chooseFormat([offers], { ...wideRequest, format: "YUYV", rateHz: 30 })).toMatchObject({
      trait: { format: "YUYV" },
      reason: undefined,
    });
  });

  test("the slower of two cameras counts; a rate that no format reaches gets the fastest format", () => {
    const left = wide({ YUYV: [30], MJPG: [30] });
    const right = wide({ YUYV: [10], MJPG: [25] });
    const request = { ...wideRequest, rateHz: 30 };
    expect(chooseFormat([left], request).trait.format).toBe("YUYV");
    expect(chooseFormat([left, right], request).trait.format).toBe("MJPEG");
    // 29.97 Hz is 30 Hz.
    expect(chooseFormat([wide({ YUYV: [29.97], MJPG: [30] })], request).trait.format).toBe("YUYV");
  });

  test("two cameras on one USB bus: auto takes the format whose streams fit", () => {
    const vga = () =>
      camera("/dev/video0", [
        ["YUYV", 640, 480],
        ["MJPG", 640, 480],
      ]);
    const request = { width: 640, height: 480, format: "auto", rateHz: 30 } as const;
    const link = (bus: string, megabitsPerSecond = 480) => ({ bus, megabitsPerSecond });
    const format = (...links: Parameters<typeof chooseFormat>[2] & object) =>
      chooseFormat([vga(), vga()], { ...request, width: 640 }, links).trait.format;
    // 640 x 480 x 16 bits x 30 Hz is 147 Mbit/s each, and 80 % of 480 Mbit/s is 384.
    expect(format(link("1"), link("1"))).toBe("YUYV");
    expect(format(link("1", 300), link("1", 300))).toBe("MJPEG");
    expect(format(link("1", 300), link("2", 300))).toBe("YUYV");
    expect(format(link("1", 5000), link("1", 5000))).toBe("YUYV");
    expect(format(undefined, undefined)).toBe("YUYV");
    expect(chooseFormat([vga(), vga()], request, [link("1", 12), link("1", 12)]).reason).toMatch(
      /takes MJPEG \(30 Hz\); also possible: YUYV \(30 Hz, too much for the USB bus\)/,
    );
  });

  /** Decoding costs in nanoseconds of one core for a pixel. */
  const costs = (nsPerPixel: Partial<Record<CaptureFormat, number>>, cores = 4): DecodingCosts => ({
    nsPerPixel: new Map(Object.entries(nsPerPixel) as [CaptureFormat, number][]),
    cores,
  });

  test("of formats that reach the rate, auto takes the cheapest for this machine", () => {
    const offers = wide({ BA81: [30], MJPG: [60] });
    const request = { ...wideRequest, rateHz: 30 };
    const choose = (table: DecodingCosts, more = {}) =>
      chooseFormat([offers], { ...request, ...more }, [], table);
    // 1280 x 480 pixels of 10 ns are 6.1 ms.
    const cheapJpeg = choose(costs({ BAYER_BGGR8: 10, MJPEG: 3 }));
    expect(cheapJpeg.reason).toBe(
      "source.v4l2.format auto takes MJPEG (60 Hz, 1.8 ms a pair); also possible: BAYER_BGGR8 (30 Hz, 6.1 ms).",
    );
    expect(choose(costs({ BAYER_BGGR8: 10, MJPEG: 13 })).trait.format).toBe("BAYER_BGGR8");
    // The order of the table decides where costs are about equal, and where one of them is not known.
    for (const [MJPEG, format] of [
      [8.4, "BAYER_BGGR8"],
      [8.2, "MJPEG"],
    ] as const)
      expect(choose(costs({ BAYER_BGGR8: 10, MJPEG })).trait.format).toBe(format);
    expect(choose(costs({ BAYER_BGGR8: 10 })).trait.format).toBe("BAYER_BGGR8");
    // Two cameras have twice the pixels.
    const both = chooseFormat([offers, offers], request, [], costs({ BAYER_BGGR8: 10, MJPEG: 3 }));
    expect(both.reason).toMatch(/MJPEG \(60 Hz, 3.7 ms a pair\)/);
  });

  test("Motion JPEG counts as fast as this machine decodes it, on a core for each camera", () => {
    const offers = wide({ YUYV: [10], MJPG: [60] });
    const request = { ...wideRequest, rateHz: 30 };
    const choose = (count: number, ns: number, cores: number) =>
      chooseFormat(Array(count).fill(offers), request, [], costs({ MJPEG: ns }, cores));
    // 1280 x 480 x 50 ns are 30.7 ms: 32 images a second.
    expect(choose(1, 50, 1).trait.format).toBe("MJPEG");
    expect(choose(2, 50, 2).trait.format).toBe("MJPEG");
    // One core decodes 16 of each camera, which is still more than YUYV's 10; twice as slow, it is not.
    expect(choose(2, 50, 1).reason).toBe(
      "source.v4l2.format auto takes MJPEG (60 Hz, decoded at 16 Hz, 61 ms a pair); also possible: YUYV (10 Hz).",
    );
    expect(choose(2, 100, 1).trait.format).toBe("YUYV");
  });

  test("where colours are read, a format without them is not taken because it costs less", () => {
    const offers = wide({ GREY: [30], YUYV: [30] });
    const table = costs({ GREY: 1, YUYV: 3 });
    const choose = (colours: boolean) =>
      chooseFormat([offers], { ...wideRequest, colours }, [], table).trait.format;
    expect([choose(true), choose(false)]).toEqual(["YUYV", "GREY"]);
  });

  test("formats are measured where the choice depends on it", () => {
    const measured = (ratesHz: Record<string, number[]>, more = {}) =>
      formatsToMeasure([wide(ratesHz)], { ...wideRequest, rateHz: 30, ...more });
    expect(measured({ YUYV: [30], MJPG: [60] })).toEqual(["YUYV", "MJPEG"]);
    expect(measured({ YUYV: [30], MJPG: [60] }, { format: "YUYV" })).toEqual([]);
    // The rate of the only fast format depends on the decoder, if that is Motion JPEG.
    expect(measured({ YUYV: [10], MJPG: [60] })).toEqual(["MJPEG"]);
    expect(measured({ YUYV: [60], MJPG: [10] })).toEqual([]);
    expect(measured({ MJPG: [60] })).toEqual([]);
    expect(measured({ GREY: [30], YUYV: [30], BA81: [15] })).toEqual(["GREY", "YUYV"]);
    expect(measured({ GREY: [30], YUYV: [15] })).toEqual([]);
    expect(measured({ YUYV: [10], MJPG: [60] }, { rateHz: undefined })).toEqual(["YUYV", "MJPEG"]);
  });

  test("the steps of a range begin at its smallest size", () => {
    const offers = camera("/dev/video0", [["GREY", 640, 480]]);
    const range = { minWidth: 20, maxWidth: 84, minHeight: 10, maxHeight: 13, stepHeight: 0 };
    const isOffered = (stepWidth: number, width: number, height: number) => {
      offers.formats[0]!.sizes = [{ ...range, stepWidth, ratesHz: [30], rateRange: true }];
      try {
        return chooseFormat([offers], { width, height, format: "auto" }).trait.format === "GREY";
      } catch {
        return false;
      }
    };
    expect([20, 36, 84, 32, 35].map((width) => isOffered(16, width, 11))).toEqual([
      true,
      true,
      true,
      false,
      false,
    ]);
    expect([22, 21].map((width) => isOffered(2, width, 11))).toEqual([true, false]);
    expect([20, 21, 19, 84, 85].map((width) => isOffered(1, width, 11))).toEqual([
      true,
      true,
      false,
      true,
      false,
    ]);
    expect([9, 10, 13, 14].map((height) => isOffered(1, 20, height))).toEqual([false, true, true, false]);
  });

  test("a device that captures nothing, or does not stream, is no camera", () => {
    for (const lacks of ["captures", "streams"]) {
      const device = { ...camera("/dev/video9", [["GREY", 640, 480]]), [lacks]: false };
      expect(() => chooseFormat([camera("/dev/video0", [["GREY", 640, 480]]), device], request)).toThrow(
        expect.objectContaining({
          code: "DEVICE_UNSUITABLE",
          message: "/dev/video9 (Camera): expected a camera, got a device that does not capture video.",
          context: { device: "/dev/video9" },
        }),
      );
    }
  });

  test("a rate is reached at 99 % of it; of formats that are equally slow the first is taken", () => {
    const format = (yuyvHz: number, jpegHz: number) =>
      chooseFormat([wide({ YUYV: [yuyvHz], MJPG: [jpegHz] })], { ...wideRequest, rateHz: 100 }).trait.format;
    expect([format(99, 100), format(98.9, 99), format(20, 20), format(20, 21)]).toEqual([
      "YUYV",
      "MJPEG",
      "YUYV",
      "MJPEG",
    ]);
  });

  test("a bus carries 80 % of its bits; where it carries no format, the cheapest is taken", () => {
    const sized = (...fourccs: string[]) =>
      camera(
        "/dev/video0",
        fourccs.map((fourcc): [string, number, number] => [fourcc, 1000, 1000]),
      );
    const choose = (offers: NativeDescription, links: Parameters<typeof chooseFormat>[2], rateHz?: number) =>
      chooseFormat(
        [offers, offers],
        { ...request, width: 1000, height: 1000, ...(rateHz && { rateHz }) },
        links,
      );
    const links = (megabitsPerSecond: number) => [undefined, { bus: "1", megabitsPerSecond }];
    // A million pixels at 30 Hz: GREY is 240 Mbit/s, NV12 360 and YUYV 480.
    const format = (fourcc: string, megabitsPerSecond: number, rateHz?: number) =>
      choose(sized(fourcc, "MJPG"), links(megabitsPerSecond), rateHz).trait.format;
    expect([format("GREY", 300, 30), format("GREY", 299, 30)]).toEqual(["GREY", "MJPEG"]);
    expect([format("NV12", 450, 30), format("NV12", 449, 30)]).toEqual(["NV12", "MJPEG"]);
    expect([format("YUYV", 600, 30), format("YUYV", 599, 30)]).toEqual(["YUYV", "MJPEG"]);
    // Where no rate is asked for, none is too much.
    expect(format("YUYV", 1)).toBe("YUYV");
    expect(choose(sized("YUYV", "GREY"), links(1), 30).reason).toBe(
      "source.v4l2.format auto takes GREY (30 Hz, too much for the USB bus); also possible: YUYV (30 Hz, too much for the USB bus).",
    );
  });

  test("the reason has rates of two digits, and decoding on one core a camera however many there are", () => {
    const offers = wide({ YUYV: [29.9701], MJPG: [60] });
    const reason = (rateHz: number, more = {}) =>
      chooseFormat([offers], { ...wideRequest, rateHz, ...more }, [], costs({ MJPEG: 100, YUYV: 1.234 }))
        .reason;
    expect(reason(25, { section: "source.csi" })).toBe(
      "source.csi.format auto takes YUYV (29.97 Hz, 0.76 ms a pair); also possible: MJPEG (60 Hz, decoded at 16 Hz, 61 ms).",
    );
    offers.formats[0]!.sizes[0]!.ratesHz = [];
    expect(reason(25)).toMatch(/takes YUYV \(an unlisted rate, 0\.76 ms a pair\)/);
  });

  test("pairs in every pixel are those of Y8I and Y12I, and of a format of two bytes that is named", () => {
    const all = camera("/dev/video0", [
      ["GREY", 640, 480],
      ["YUYV", 640, 480],
      ["Y16 ", 640, 480],
      ["UYVY", 640, 480],
      ["Y8I ", 640, 480],
    ]);
    const choose = (format: CaptureFormat | "auto", interleaved = true) => {
      try {
        return chooseFormat([all], { ...request, format, interleaved }).trait.format;
      } catch (error) {
        return (error as DepthwattError).code;
      }
    };
    expect((["auto", "Y8I", "YUYV", "Y16"] as const).map((format) => choose(format))).toEqual([
      "Y8I",
      "Y8I",
      "YUYV",
      "Y16",
    ]);
    expect((["GREY", "UYVY", "Y12I"] as const).map((format) => choose(format))).toEqual(
      Array(3).fill("DEVICE_UNSUITABLE"),
    );
    expect([choose("auto", false), choose("Y8I", false)]).toEqual(["GREY", "DEVICE_UNSUITABLE"]);
  });

  test("what a camera offers is at most six formats of five sizes", () => {
    const sizes = (count: number) => Array.from({ length: count }, (_, at) => 100 + at);
    const offers = (fourccs: string[], widths: number[]) => {
      const made = camera(
        "/dev/video0",
        fourccs.map((fourcc): [string, number, number] => [fourcc, 1, 50]),
      );
      const [size] = made.formats[0]?.sizes ?? [];
      for (const format of made.formats)
        format.sizes = widths.map((width) => ({ ...size!, minWidth: width, maxWidth: width }));
      return offerText(made);
    };
    expect(offers([], [])).toBe("nothing");
    expect(offers(["Y10 "], [])).toBe("Y10");
    expect(offers(["GREY", "Y10 "], sizes(1))).toBe("GREY 100x50, Y10 100x50");
    expect(offers(["GREY"], sizes(5))).toBe("GREY 100x50 101x50 102x50 103x50 104x50");
    expect(offers(["GREY"], sizes(6))).toBe("GREY 100x50 101x50 102x50 103x50 104x50 ...");
    expect(offers([..."ABCDEF"], [])).toBe("A, B, C, D, E, F");
    expect(offers([..."ABCDEFG"], [])).toBe("A, B, C, D, E, F and 1 more");
    expect(offers([..."ABCDEFGH"], [])).toBe("A, B, C, D, E, F and 2 more");
  });

  test("cameras with nothing in common: the first is named, with the size in the words of the request", () => {
    const left = camera("/dev/video0", [["YUYV", 640, 480]]);
    const right = camera("/dev/video2", [["GREY", 640, 480]]);
    const asked = { ...request, words: "640x480 (two images of 320x480)", section: "source.csi" };
    expect(() => chooseFormat([left, right], asked)).toThrow(
      expect.objectContaining({
        code: "DEVICE_UNSUITABLE",
        message:
          "/dev/video0 (Camera): expected a format that depthwatt reads at 640x480 (two images of 320x480), the camera offers YUYV 640x480.",
        hint: "Choose a size and format that it offers (source.csi.width, source.csi.height, source.csi.format).",
        context: { device: "/dev/video0", expected: asked },
      }),
    );
    expect(() => chooseFormat([left, right], { ...request, format: "YUYV" })).toThrow(
      "/dev/video2 (Camera): expected YUYV at 640x480, the camera offers GREY 640x480.",
    );
  });

  test("names the camera that lacks it and what it has", () => {
    const left = camera("/dev/video0", [["YUYV", 640, 480]]);
    const right = camera("/dev/video2", [
      ["YUYV", 320, 240],
      ["H264", 640, 480],
    ]);
    expect(() => chooseFormat([left, right], request)).toThrow(
      "/dev/video2 (Camera): expected a format that depthwatt reads at 640x480, the camera offers YUYV 320x240, H264 640x480.",
    );
  });
});

describe("stills", () => {
  const raw = (
    format: PixelFormat,
    data: number[],
    strideBytes: number,
    width: number,
    height: number,
  ): RawImage => ({
    data: Uint8Array.from(data),
    width,
    height,
    strideBytes,
    format,
    timestampNs: 0n,
    sequence: 0,
  });

  test("grey of each layout, without the padding", () => {
    expect([...toGrey(raw("GREY", [1, 2, 9, 3, 4, 9], 3, 2, 2)).data]).toEqual([1, 2, 3, 4]);
    expect([...toGrey(raw("NV12", [1, 2, 3, 4, 8, 8], 2, 2, 2)).data]).toEqual([1, 2, 3, 4]);
    expect([...toGrey(raw("YUYV", [1, 9, 2, 9], 4, 2, 1)).data]).toEqual([1, 2]);
    expect([...toGrey(raw("UYVY", [9, 1, 9, 2], 4, 2, 1)).data]).toEqual([1, 2]);
    expect([...toGrey(raw("Y8I_LEFT", [1, 9, 2, 9], 4, 2, 1)).data]).toEqual([1, 2]);
    expect([...toGrey(raw("Y8I_RIGHT", [9, 1, 9, 2], 4, 2, 1)).data]).toEqual([1, 2]);
    expect([...toGrey(raw("Y10", [0xff, 0x03], 2, 1, 1)).data]).toEqual([0xffc0]);
    expect([...toGrey(raw("Y16", [0x34, 0x12], 2, 1, 1)).data]).toEqual([0x1234]);
    // Low bits 1, 2, 3, 0 of four samples, then a fifth sample with 3.
    const packed10 = [0x10, 0x20, 0x30, 0x40, 0b00111001, 0x50, 0, 0, 0, 0b00000011];
    expect([...toGrey(raw("Y10P", packed10, 10, 5, 1)).data]).toEqual([
      0x1040, 0x2080, 0x30c0, 0x4000, 0x50c0,
    ]);
    expect([...toGrey(raw("Y12P", [0x10, 0x20, 0xba, 0x30, 0, 0x0c], 6, 3, 1)).data]).toEqual([
      0x10a0, 0x20b0, 0x30c0,
    ]);
    const pair = [0x23, 0x61, 0x45];
    expect([...toGrey(raw("Y12I_LEFT", pair, 3, 1, 1)).data]).toEqual([0x1230]);
    expect([...toGrey(raw("Y12I_RIGHT", pair, 3, 1, 1)).data]).toEqual([0x4560]);
  });

  test("the grey of random bytes in every layout is reproduced", () => {
    const [width, height, strideBytes] = [12, 8, 41];
    const random = new Random(6);
    const data = Uint8Array.from({ length: 2 * strideBytes * height }, () => random.whole(0, 255));
    const formats = [
      "GREY",
      "Y10",
      "Y12",
      "Y16",
      "Y8I_LEFT",
      "Y8I_RIGHT",
      "Y12I_LEFT",
      "Y12I_RIGHT",
      "Y10P",
      "Y12P",
    ];
    const more = [
      "YUYV",
      "UYVY",
      "NV12",
      "RGB8",
      "BAYER_RGGB8",
      "BAYER_GRBG10",
      "BAYER_BGGR16",
      "BAYER_GBRG12P",
    ];
    const sums = [...formats, ...more].map((format) => {
      const image = {
        data,
        width,
        height,
        strideBytes,
        format: format as PixelFormat,
        timestampNs: 0n,
        sequence: 0,
      };
      const grey = toGrey(image).data as Uint8Array;
      return `${format} ${grey.constructor.name} ${grey.reduce((sum, value, at) => sum + value * (1 + (at % 13)), 0)}`;
    });
    expect(sums).toMatchInlineSnapshot(`
      [
        "GREY Uint8Array 85971",
        "Y10 Uint16Array 22484288",
        "Y12 Uint16Array 22594896",
        "Y16 Uint16Array 18635861",
        "Y8I_LEFT Uint8Array 88661",
        "Y8I_RIGHT Uint8Array 72450",
        "Y12I_LEFT Uint16Array 23118528",
        "Y12I_RIGHT Uint16Array 23522784",
        "Y10P Uint16Array 23220800",
        "Y12P Uint16Array 22606752",
        "YUYV Uint8Array 88661",
        "UYVY Uint8Array 72450",
        "NV12 Uint8Array 85971",
        "RGB8 Uint8Array 84625",
        "BAYER_RGGB8 Uint8Array 81877",
        "BAYER_GRBG10 Uint16Array 22104112",
        "BAYER_BGGR16 Uint16Array 19102890",
        "BAYER_GBRG12P Uint16Array 21500602",
      ]
    `);
  });

  test("a mosaic of one colour is flat: (R + 2 G + B) / 4 at every site, border included", () => {
    const [red, green, blue] = [40, 100, 200];
    const mosaic = Array.from({ length: 36 }, (_, i) => {
      const [x, y] = [i % 6, Math.floor(i / 6)];
      return y % 2 === 0 ? (x % 2 === 0 ? red : green) : x % 2 === 0 ? green : blue;
    });
    expect(new Set(toGrey(raw("BAYER_RGGB8", mosaic, 6, 6, 6)).data)).toEqual(new Set([110]));
  });
});

describe("frames of two images", () => {
  const image = { width: 640, height: 400 };
  test.each([
    ["leftRight", { width: 1292, height: 406 }, "right"],
    ["rightLeft", { width: 1292, height: 406 }, "left"],
    ["topBottom", { width: 652, height: 806 }, "right"],
    ["bottomTop", { width: 652, height: 806 }, "left"],
    ["interleaved", { width: 652, height: 406 }, undefined],
  ] as const)("%s: the frame, and the side whose image is second", (layout, size, second) => {
    expect(frameSize(image, layout, { left: 2, top: 4, right: 10, bottom: 2 })).toEqual(size);
    const plain = frameSize(image, layout);
    expect([size.width - plain.width, size.height - plain.height]).toEqual([12, 6]);
    expect(["left" as const, "right" as const].filter((side) => isSecond(layout, side))).toEqual(
      second === undefined ? [] : [second],
    );
  });

  test("margins begin at even places", () => {
    expect(parseMargins("48,2,841,7")).toEqual({ left: 48, top: 2, right: 841, bottom: 7 });
    for (const text of ["1,2,0,0", "2,1,0,0", "2,2,0", "2,2,0,123456", "a,2,0,0"])
      expect(() => parseMargins(text), text).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });

  test("sizes in words", () => {
    expect(titleSize(image, undefined)).toBe("640x400 each");
    expect(titleSize(image, image)).toBe("640x400");
    for (const frame of [
      { width: 1280, height: 400 },
      { width: 640, height: 800 },
    ])
      expect(sizeWords(frame, image)).toBe(`${frame.width}x${frame.height} (two images of 640x400)`);
  });
});

describe("control names and requested controls", () => {
  test("names as v4l2-ctl writes them", () => {
    expect(controlName("Exposure Time, Absolute")).toBe("exposure_time_absolute");
    expect(controlName("White Balance, Auto & Preset")).toBe("white_balance_auto_preset");
  });

  test("requests for both cameras, for one, and badly written ones", () => {
    expect(parseControls("Gain=5, left.auto_exposure = manual")).toEqual([
      { side: undefined, name: "gain", value: "5" },
      { side: "left", name: "auto_exposure", value: "manual" },
    ]);
    expect(parseControls("")).toEqual([]);
    expect(() => parseControls("gain")).toThrow(/NAME=VALUE/);
  });
});
