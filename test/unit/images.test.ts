// SPDX-License-Identifier: Apache-2.0
// Picture files: every codec against hand-made bytes, against a second decoder (fast-png) and against OpenCV.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { convertIndexedToRgb, decode, encode } from "fast-png";
import sharp from "sharp";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { damageWords, pictureFromSamples, sniffImage } from "../../camera/recordings/images/decode.js";
import {
  checkColourName,
  checkDisparityName,
  colourDisparity,
  DISPARITY_COLOURS,
  decodeGreyImage,
  decodePfm,
  decodePgm,
  decodePpm,
  disparityFromQ4,
  disparityToPng16,
  encodePgm,
  encodePng,
  greyFromSamples,
  readDisparity,
  readEnginePicture,
  readGreyImage,
  readPfm,
  readRgbImage,
  readStereoSideBySide,
  shownRange,
  writeDisparity,
  writeImage,
} from "../../camera/recordings/images/index.js";
import { encodePfm } from "../../camera/recordings/images/netpbm.js";
import { colourTable } from "../../core/index.js";
import { needs, needsData, PYTHON } from "../doubles/needs.js";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "depthwatt-images-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Numbers that visit the whole range, the same on every run. */
function samples(count: number, deep: boolean): Uint8Array | Uint16Array {
  const data = deep ? new Uint16Array(count) : new Uint8Array(count);
  let state = 12_345;
  for (let i = 0; i < count; i++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    data[i] = state >>> (deep ? 16 : 24);
  }
  return data;
}

const text = (value: string) => Buffer.from(value, "latin1");
const code = (error: string) => expect.objectContaining({ code: error });

describe("grey from colour", () => {
  test("weights add up to one and round to nearest", () => {
    const rgb = new Uint8Array([
      255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 0, 0, 0, 255, 1, 1, 1, 10, 20, 30,
    ]);
    // 77 * 255 = 19635 + 128 = 19763 >> 8 = 77; 150 * 255 -> 149; 29 * 255 -> 29; (770 + 3000 + 870 + 128) >> 8 = 18
    expect([...greyFromSamples(rgb, 7, 1, 3).data]).toEqual([255, 0, 77, 149, 29, 1, 18]);
  });

  test("alpha is dropped, 16 bit stays 16 bit", () => {
    expect([...greyFromSamples(new Uint8Array([9, 0, 7, 255]), 2, 1, 2).data]).toEqual([9, 7]);
    expect([...greyFromSamples(new Uint16Array([65535, 65535, 65535, 3]), 1, 1, 4).data]).toEqual([65535]);
  });
});

describe("PNG", () => {
  for (const deep of [false, true]) {
    for (const [width, height] of [
      [1, 1],
      [3, 5],
      [67, 31],
    ] as const) {
      test(`own writer, ${deep ? 16 : 8} bit ${width}x${height}: both decoders give the same numbers back`, async () => {
        const image = { data: samples(width * height, deep), width, height };
        const bytes = await encodePng(image);
        expect(await decodeGreyImage(bytes, "x.png")).toEqual(image);
        const second = decode(bytes, { checkCrc: true });
        expect([second.depth, second.channels]).toEqual([deep ? 16 : 8, 1]);
        expect([...second.data]).toEqual([...image.data]);
      });
    }
  }

  test("own writer, colour", async () => {
    const image = { data: samples(7 * 4 * 3, false) as Uint8Array, width: 7, height: 4 };
    await writeImage(join(folder, "colour.png"), image);
    expect(await readRgbImage(join(folder, "colour.png"))).toEqual(image);
  });

  test.each([
    [8, 1],
    [8, 2],
    [8, 3],
    [8, 4],
    [16, 1],
    [16, 2],
    [16, 3],
    [16, 4],
  ] as const)("%i bit with %i channels reads as grey by the written rule", async (depth, channels) => {
    const data = samples(9 * 5 * channels, depth === 16);
    const bytes = encode({ width: 9, height: 5, data, depth, channels });
    expect(await decodeGreyImage(bytes, "x.png")).toEqual(greyFromSamples(data, 9, 5, channels));
  });

  test("a damaged file is refused by name, also when only one bit of the body is wrong", async () => {
    const whole = Buffer.from(await encodePng({ data: samples(64 * 64, false), width: 64, height: 64 }));
    const flipped = Buffer.from(whole);
    flipped[2000]! ^= 0x10;
    for (const bytes of [whole.subarray(0, 900), flipped]) {
      await expect(decodeGreyImage(bytes, "left/0007.png")).rejects.toThrow(
        /^left\/0007\.png: expected a whole PNG/,
      );
      await expect(decodeGreyImage(bytes, "left/0007.png")).rejects.toEqual(code("SOURCE_UNREADABLE"));
    }
  });

  test.each([
    ["Warning treated as error due to failOn setting", "its end is missing, or a part of it cannot be read"],
    ["Input buffer has corrupt header:", "Input buffer has corrupt header"],
    ["VipsJpeg: premature end\nVipsJpeg: no image", "VipsJpeg: premature end VipsJpeg: no image"],
  ])("the message about damage is one line about the file: %s", (message, words) =>
    expect(damageWords(message)).toBe(words),
  );
});

describe("PPM", () => {
  test("P3 and P6 of 8 and 16 bit: three values a pixel", () => {
    expect(decodePpm(text("P3 2 1 255  1 2 3  4 5 6"), "a.ppm")).toEqual({
      data: new Uint8Array([1, 2, 3, 4, 5, 6]),
      width: 2,
      height: 1,
    });
    const deep = Buffer.concat([text("P6 1 1 65535\n"), Buffer.from([1, 2, 3, 4, 0xff, 0xfe])]);
    expect(decodePpm(deep, "a.ppm").data).toEqual(new Uint16Array([0x0102, 0x0304, 0xfffe]));
    expect(() => decodePpm(text("P6 2 1 255\nabc"), "a.ppm")).toThrow(/expected at least 6 bytes/);
    expect(() => decodePpm(text("P3 2 1 9  1 2 3  4 5 10"), "a.ppm")).toThrow(/0 to 9/);
    for (const [at, pixel] of [1, 1, 1, 2, 2, 2].entries()) {
      const values = Array.from({ length: 6 }, (_, i) => (i === at ? 8 : 7));
      const bytes = Buffer.concat([text("P6 2 1 7\n"), Buffer.from(values)]);
      expect(() => decodePpm(bytes, "a.ppm")).toThrow(`found 8 at pixel ${pixel}`);
    }
  });
});

test.each<[string, number[]]>([
  ["png", [0x89, 0x50, 0x4e, 0x47]],
  ["jpeg", [0xff, 0xd8, 0xff]],
  ["pgm", [0x50, 0x32]],
  ["pgm", [0x50, 0x35]],
  ["ppm", [0x50, 0x33]],
  ["ppm", [0x50, 0x36]],
  ["pfm", [0x50, 0x66]],
  ["pfm", [0x50, 0x46]],
])("%s is known by its first bytes %j, all of them", (kind, bytes) => {
  expect(sniffImage(Uint8Array.from(bytes))).toBe(kind);
  for (let at = 0; at < bytes.length; at++) {
    const changed = bytes.map((byte, i) => (i === at ? byte ^ 0x80 : byte));
    expect(sniffImage(Uint8Array.from(changed))).toBeUndefined();
  }
});

test("samples become a picture for the engine: colours without alpha, the upper byte of 16 bits", () => {
  const picture = (samples: Uint8Array | Uint16Array, channels: number) =>
    pictureFromSamples({ samples, width: 2, height: 1, channels }, true);
  const rgb = { data: Uint8Array.of(1, 2, 3, 5, 6, 7), width: 2, height: 1, format: "RGB8" };
  expect(picture(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8), 4)).toEqual(rgb);
  expect(picture(Uint8Array.of(1, 2, 3, 5, 6, 7), 3)).toEqual(rgb);
  expect(
    picture(
      Uint16Array.from([1, 2, 3, 5, 6, 7], (value) => 256 * value + 255),
      3,
    ),
  ).toEqual(rgb);
  expect(picture(Uint8Array.of(9, 255, 8, 255), 2)).toEqual({
    data: Uint8Array.of(9, 8),
    width: 2,
    height: 1,
    format: "GREY",
  });
});

test("PNG as 8-bit colour: grey becomes three equal values, alpha is left out, 16 bits are refused", async () => {
  const folder = mkdtempSync(join(tmpdir(), "depthwatt-rgb-"));
  const file = join(folder, "a.png");
  const read = (data: Uint8Array | Uint16Array, channels: number, depth: 8 | 16 = 8) => {
    writeFileSync(file, encode({ data, width: 2, height: 2, channels, depth }));
    return readRgbImage(file);
  };
  try {
    expect(await read(Uint8Array.of(7, 8, 9, 10), 1)).toEqual({
      data: Uint8Array.of(7, 7, 7, 8, 8, 8, 9, 9, 9, 10, 10, 10),
      width: 2,
      height: 2,
    });
    const rgba = Uint8Array.of(1, 2, 3, 255, 4, 5, 6, 255, 7, 8, 9, 255, 10, 11, 12, 255);
    expect((await read(rgba, 4)).data).toEqual(Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12));
    await expect(read(new Uint16Array(4), 1, 16)).rejects.toMatchObject({ code: "IMAGE_UNSUPPORTED" });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe("pictures for the engine", () => {
  const file = (name: string, bytes: Uint8Array) => {
    const path = join(folder, name);
    writeFileSync(path, bytes);
    return path;
  };
  const ppm = text("P3 2 1 255  10 20 30  250 0 5");

  test("colours where they are asked for and the file has them, grey otherwise", async () => {
    const path = file("colours.ppm", ppm);
    const rgb = { data: new Uint8Array([10, 20, 30, 250, 0, 5]), width: 2, height: 1, format: "RGB8" };
    expect(await readEnginePicture(path, true)).toEqual(rgb);
    const png = file("colours.png", await encodePng({ data: rgb.data, width: 2, height: 1 }));
    expect(await readEnginePicture(png, true)).toEqual({ ...rgb, data: expect.anything() });
    expect([...(await readEnginePicture(png, true)).data]).toEqual([10, 20, 30, 250, 0, 5]);
    // (77 R + 150 G + 29 B + 128) >> 8
    const grey = { data: new Uint8Array([18, 76]), width: 2, height: 1, format: "GREY" };
    expect(await readEnginePicture(path, false)).toEqual(grey);
    expect(await readGreyImage(path)).toEqual({ data: grey.data, width: 2, height: 1 });
    expect(await readEnginePicture(file("grey.pgm", text("P2 1 1 255 7")), true)).toMatchObject({
      format: "GREY",
    });
    expect(await readEnginePicture(file("deep.pgm", text("P2 1 1 999 700")), true)).toMatchObject({
      format: "Y16",
    });
  });

  test("16-bit colours keep their upper byte", async () => {
    const path = file("deep.ppm", text("P3 1 1 65535 513 65535 255"));
    expect([...(await readEnginePicture(path, true)).data]).toEqual([2, 255, 0]);
  });
});

describe("PGM", () => {
  test("plain and binary, comments, 8 and 16 bit", () => {
    expect(decodePgm(text("P2\n# made by hand\n3 2 # size\n9\n0 1 2\n3 4 9"), "a.pgm")).toEqual({
      data: new Uint8Array([0, 1, 2, 3, 4, 9]),
      width: 3,
      height: 2,
    });
    expect(decodePgm(text("P2 2 1 1000 7 1000"), "a.pgm").data).toEqual(new Uint16Array([7, 1000]));
    const deep = Buffer.concat([text("P5 2 1 65535\n"), Buffer.from([0x01, 0x02, 0xff, 0xfe])]);
    expect(decodePgm(deep, "a.pgm").data).toEqual(new Uint16Array([0x0102, 0xfffe]));
    // The first pixel is 0x0a, which is also white space: exactly one byte ends the header.
    const newline = Buffer.concat([text("P5\n2 1\n255\n"), Buffer.from([0x0a, 0x20])]);
    expect(decodePgm(newline, "a.pgm").data).toEqual(new Uint8Array([10, 32]));
  });

  test.each([false, true])("round trip, 16 bit: %s", (deep) => {
    const image = { data: samples(35, deep), width: 5, height: 7 };
    expect(decodePgm(encodePgm(image), "a.pgm")).toEqual(image);
  });

  test("six characters are white space, no others", () => {
    for (const space of "\t\n\v\f\r ") {
      expect(decodePgm(text(["P5", 1, 1, 255, "7"].join(space)), "a.pgm").data).toEqual(Uint8Array.of(0x37));
    }
    for (const other of ["\b", "\x0e", "\x1f", "!"])
      expect(() => decodePgm(text(`P5 1${other}1 255 7`), "a.pgm")).toThrow(`found "1${other}1"`);
  });

  test("values have a byte up to a largest one of 255, and two from 256 to 65535", () => {
    const decoded = (header: string, ...bytes: number[]) =>
      decodePgm(Buffer.concat([text(header), Buffer.from(bytes)]), "a.pgm").data;
    expect(decoded("P5 2 1 1\n", 0, 1)).toEqual(Uint8Array.of(0, 1));
    expect(decoded("P5 2 1 5\n", 5, 5)).toEqual(Uint8Array.of(5, 5));
    expect(decoded("P5 2 1 255\n", 255, 254)).toEqual(Uint8Array.of(255, 254));
    expect(decoded("P5 2 1 256\n", 1, 0, 0, 255)).toEqual(Uint16Array.of(256, 255));
    expect(decoded("P5 1 1 65535\n", 255, 255)).toEqual(Uint16Array.of(65_535));
    expect(decoded("P2 3 1 300\n1 2 3")).toEqual(Uint16Array.of(1, 2, 3));
    expect(decoded("P5 65535 1 9\n", ...new Array<number>(65_535).fill(9))).toHaveLength(65_535);
  });

  test("is written as a header of three lines and the values, most significant byte first", () => {
    const written = (data: Uint8Array | Uint16Array) =>
      Buffer.from(encodePgm({ data, width: 3, height: 1 })).toString("latin1");
    expect(written(Uint8Array.of(1, 2, 255))).toBe("P5\n3 1\n255\n\x01\x02\xff");
    expect(written(Uint16Array.of(1, 0x0203, 0xfffe))).toBe("P5\n3 1\n65535\n\x00\x01\x02\x03\xff\xfe");
  });

  test.each([
    ["P5 1 1 0\n\x00", /expected a largest value, a whole number from 1 to 65535, found "0"/],
    ["P5 1 1 65536\n\x00", /found "65536"/],
    ["P5 65536 1 9\n", /expected a width, a whole number from 1 to 65535, found "65536"/],
    ["P5 2 1 65535\n\x00\x01\x02", /expected at least 4 bytes for 2x1 pixels, found 3$/],
    ["P2 3 1 300\n1 ", /expected at least 3 bytes for 3x1 pixels, found 2$/],
    ["P5 1 1 5\n\x06", /expected values up to 5, its largest one, found 6 at pixel 1$/],
    ["P5 1 1 9", /expected at least 1 bytes for 1x1 pixels, found 0$/],
    ["P5\n4 4\n255\nabc", /a\.pgm: expected at least 16 bytes for 4x4 pixels, found 3/],
    ["P5\n0 4\n255\n", /expected a width, a whole number from 1 to 65535, found "0"/],
    ["P5\n4 -4\n255\n", /expected a height.*found "-4"/],
    ["P5\n4 4\n70000\n", /expected a largest value.*found "70000"/],
    ["P2\n2 1\n5\n3 6", /expected value 2 of 2, a whole number from 0 to 5, found "6"/],
    ["P5 2 1 5\n\x03\x06", /expected values up to 5, its largest one, found 6 at pixel 2/],
    ["P5 2 1 300\n\x01\x2c\x01\x2d", /expected values up to 300, its largest one, found 301 at pixel 2/],
    [`P5\n${"9".repeat(1000)}`, /found "9{20}\.\.\."$/],
    ["P5", /expected a width.*found ""/],
  ])("refuses %j", (bytes, message) => {
    expect(() => decodePgm(text(bytes), "a.pgm")).toThrow(message);
  });
});

test.each([
  ["BMP", Buffer.from("BM 0000"), "a file that begins with 0x424d2030"],
  ["PFM", Buffer.from("Pf\n1 1\n-1\n1234"), "pfm"],
])("%s is refused with the kinds that are read", async (_, bytes, found) => {
  await expect(decodeGreyImage(bytes, "x")).rejects.toMatchObject({
    code: "IMAGE_UNSUPPORTED",
    message: `x: expected PNG, JPEG, PGM or PPM, found ${found}`,
    hint: "Give PNG, JPEG, PGM or PPM.",
  });
});

describe("PFM", () => {
  test("rows run bottom-up, either byte order, the scale's size is no factor", () => {
    for (const [scale, little] of [
      ["-1", true],
      ["1.0", false],
      ["-0.003922", true],
    ] as const) {
      const body = Buffer.alloc(16);
      [1.5, Number.POSITIVE_INFINITY, 3, -4].forEach((v, i) => {
        if (little) body.writeFloatLE(v, 4 * i);
        else body.writeFloatBE(v, 4 * i);
      });
      const image = decodePfm(Buffer.concat([Buffer.from(`Pf\n2 2\n${scale}\n`), body]), "a.pfm");
      expect([...image.data]).toEqual([3, -4, 1.5, Number.POSITIVE_INFINITY]);
    }
  });

  test("refusals", () => {
    expect(() => decodePfm(Buffer.from("PF\n1 1\n-1\n123412341234"), "a.pfm")).toThrow(/colour \(PF\)/);
    expect(() => decodePfm(Buffer.from("Pf\n1 1\n0\n1234"), "a.pfm")).toThrow(
      /a scale that is a number other than 0/,
    );
    expect(() => decodePfm(Buffer.from("Pf\n2 1\n-1\n1234"), "a.pfm")).toThrow(/expected 8 bytes.*found 4/);
    expect(() => decodePfm(Buffer.from("Pf\n2 3\n-1\n1234"), "a.pfm")).toThrow(
      /expected 24 bytes for 2x3 floats, found 4$/,
    );
    expect(() => decodePfm(Buffer.from("Pf\n#1\n1 1 1"), "a.pfm")).toThrow(/found "#1"$/);
    for (const scale of ["x", "", "Infinity", "-0"])
      expect(() => decodePfm(Buffer.from(`Pf\n1 1\n${scale}`), "a.pfm")).toThrow(
        `other than 0, found "${scale}"`,
      );
  });

  test("is written from the lowest row, least significant byte first", () => {
    // 1 is 3f800000, -2 is c0000000 and 0.5 is 3f000000.
    const file = encodePfm({ data: Float32Array.of(1, -2, 0.5, 0), width: 2, height: 2 });
    expect(Buffer.from(file).toString("latin1")).toBe(
      "Pf\n2 2\n-1\n\0\0\0\x3f\0\0\0\0\0\0\x80\x3f\0\0\0\xc0",
    );
  });
});

describe("disparity files", () => {
  const infinity = Number.POSITIVE_INFINITY;

  test("16-bit PNG: x 256, 0 means none, a true 0 is written as 1", () => {
    const stored = disparityToPng16(
      { data: new Float32Array([0, infinity, 1, 12.5, 255.99, 0.001]), width: 6, height: 1 },
      "a.png",
    );
    expect([...stored.data]).toEqual([1, 0, 256, 3200, 65533, 1]);
  });

  test("16-bit PNG refuses 256 px and points to PFM", () => {
    const refuse = (value: number) => () =>
      disparityToPng16({ data: new Float32Array([1, value]), width: 1, height: 2 }, "a.png");
    expect(refuse(256)).toThrow(/expected disparities from 0 to below 256 px.*found 256 at x 0, y 1/);
    expect(refuse(255.999)).toThrow(code("IMAGE_UNSUPPORTED"));
    expect(refuse(-1)).toThrow(/found -1/);
    try {
      refuse(300)();
    } catch (error) {
      expect((error as { hint: string }).hint).toMatch(/\.pfm/);
    }
  });

  test("16-bit PNG: the largest disparity is 65535 / 256, and one that does not fit is named with its place", () => {
    const stored = (...values: number[]) => [
      ...disparityToPng16({ data: Float32Array.from(values), width: 2, height: 2 }, "a.png").data,
    ];
    expect(stored(255.998, 65_535 / 256, 1.5 / 256, 0)).toEqual([65_535, 65_535, 2, 1]);
    expect(() => stored(1, 2, 3, 256)).toThrow(/found 256 at x 1, y 1$/);
    expect(() => stored(1, -0.25, 3, 4)).toThrow(/found -0.25 at x 1, y 0$/);
  });

  test("of truths that know only +inf, any other value that is not finite is damage", async () => {
    const file = join(folder, "truth.pfm");
    const read = (values: number[], invalid?: "inf" | "+inf") => {
      writeFileSync(file, encodePfm({ data: Float32Array.from(values), width: 2, height: 2 }));
      return readDisparity(file, invalid && { invalid });
    };
    expect([...(await read([1, infinity, -2, 0], "+inf")).data]).toEqual([1, infinity, -2, 0]);
    await expect(read([1, 2, 3, Number.NaN], "+inf")).rejects.toMatchObject({
      code: "IMAGE_UNSUPPORTED",
      message: `${file}: expected disparities, or inf for none, found NaN at (1, 1)`,
    });
    await expect(read([1, -infinity, 3, 4], "+inf")).rejects.toThrow(/found -Infinity at \(1, 0\)$/);
    for (const invalid of ["inf", undefined] as const)
      expect([...(await read([1, -infinity, Number.NaN, 4], invalid)).data]).toEqual([
        1,
        infinity,
        infinity,
        4,
      ]);
  });

  test("colours are 256 even steps of a range, rounded half up; values beyond it have the ends'", () => {
    const turbo = colourTable("turbo");
    const place = new Map([...turbo].map((colour, at) => [colour & 0xffffff, at]));
    const places = (values: number[], range?: { min: number; max: number }) => {
      const { data, width, height } = colourDisparity(
        { data: Float32Array.from(values), width: values.length, height: 1 },
        range,
      );
      expect([data.length, width, height]).toEqual([3 * values.length, values.length, 1]);
      return values.map((_, at) =>
        place.get(data[3 * at]! + (data[3 * at + 1]! << 8) + (data[3 * at + 2]! << 16)),
      );
    };
    const every = Array.from({ length: 256 }, (_, at) => at);
    expect(places(every)).toEqual(every);
    expect(DISPARITY_COLOURS).toHaveLength(3 * 256);
    // Five colours a pixel.
    expect(places([-1, 0, 0.09, 0.11, 0.29, 0.31, 1, 50, 51, 99], { min: 0, max: 51 })).toEqual([
      0, 0, 0, 1, 1, 2, 5, 250, 255, 255,
    ]);
    expect(places([20, 10, 15, 12])).toEqual([255, 0, 128, 51]);
    expect(places([3, 3])).toEqual([0, 0]);
    expect(places([3, 4], { min: 3, max: 3 })).toEqual([0, 0]);
  });

  test("Q4 to file and back, by both formats", async () => {
    const disparity = disparityFromQ4(new Int16Array([16, -32768, 0, 17, 4095, 1]), 3, 2);
    expect([...disparity.data]).toEqual([1, infinity, 0, 1.0625, 255.9375, 0.0625]);
    await writeDisparity(join(folder, "d.pfm"), disparity);
    expect(await readDisparity(join(folder, "d.pfm"))).toEqual(disparity);
    await writeDisparity(join(folder, "d.png"), disparity);
    const fromPng = await readDisparity(join(folder, "d.png"));
    expect([...fromPng.data]).toEqual([1, infinity, 1 / 256, 1.0625, 255.9375, 0.0625]);
  });

  test("stored units and the invalid value are the caller's", async () => {
    await writeImage(join(folder, "raw.pgm"), { data: new Uint8Array([0, 8, 255]), width: 3, height: 1 });
    const truth = await readDisparity(join(folder, "raw.pgm"), { scale: 4, invalid: 255 });
    expect([...truth.data]).toEqual([0, 2, infinity]);
  });

  test("endings and folders that cannot be written", async () => {
    const one = { data: new Float32Array([1]), width: 1, height: 1 };
    await expect(writeDisparity(join(folder, "d.tif"), one)).rejects.toThrow(/ending in .pfm or .png/);
    expect(() => checkDisparityName("d.tif")).toThrow(code("USAGE"));
    expect(() => checkColourName("d.pfm")).toThrow(code("USAGE"));
    for (const name of ["d.pfm", "d.PNG"]) checkDisparityName(name);
    await expect(writeDisparity(join(folder, "no", "d.pfm"), one)).rejects.toEqual(code("OUTPUT_UNWRITABLE"));
    const colour = { data: new Uint8Array(3), width: 1, height: 1 };
    await expect(writeImage(join(folder, "c.pgm"), colour)).rejects.toThrow(/\.png for a colour picture/);
  });

  test("colours: ends of the range, none is black, the page's map, and its range of the 2nd to the 98th percentile", () => {
    const picture = colourDisparity({ data: new Float32Array([2, infinity, 10, 6]), width: 4, height: 1 });
    expect([...picture.data.subarray(0, 6)]).toEqual([...DISPARITY_COLOURS.subarray(0, 3), 0, 0, 0]);
    expect([...picture.data.subarray(6, 9)]).toEqual([...DISPARITY_COLOURS.subarray(765, 768)]);
    const [red, green, blue] = DISPARITY_COLOURS.subarray(3 * 200);
    expect((0xff000000 | (blue! << 16) | (green! << 8) | red!) >>> 0).toBe(colourTable("turbo")[200]);
    const values = Float32Array.from({ length: 101 }, (_, i) => (i < 2 || i > 98 ? 1000 * (i - 50) : i));
    expect(shownRange(Float32Array.of(...values, infinity))).toEqual({ min: 2, max: 98 });
    expect(shownRange(Float32Array.of(infinity))).toEqual({ min: 0, max: 1 });
  });
});

describe("files", () => {
  test("the first bytes decide, not the name", async () => {
    const image = { data: samples(12, false), width: 4, height: 3 };
    writeFileSync(join(folder, "really.jpg"), await encodePng(image));
    expect(await readGreyImage(join(folder, "really.jpg"))).toEqual(image);
  });

  test("a folder is none, and the kinds that a reader needs are named", async () => {
    const at = (name: string, bytes: Uint8Array) => {
      writeFileSync(join(folder, name), bytes);
      return join(folder, name);
    };
    const pgm = at("kind.pgm", text("P2 1 1 255 7"));
    const png = await encodePng({ data: samples(12, true), width: 4, height: 3 });
    const deep = at("kind.png", png);
    const cut = at("cut.png", png.subarray(0, png.length - 20));
    const pfm = at("kind.pfm", encodePfm({ data: Float32Array.of(1, 2), width: 2, height: 1 }));
    const rgb = "PNG or JPEG with 8 bits per channel";
    const refused = (file: string, expected: string, found: string) => ({
      code: "IMAGE_UNSUPPORTED",
      message: `${file}: expected ${expected}, found ${found}`,
      hint: `Give ${expected}.`,
      context: { file },
    });
    await expect(readRgbImage(pgm)).rejects.toMatchObject(refused(pgm, rgb, "pgm"));
    await expect(readRgbImage(deep)).rejects.toMatchObject(refused(deep, rgb, "png"));
    await expect(readPfm(pgm)).rejects.toMatchObject(refused(pgm, "PFM", "pgm"));
    expect(await readPfm(pfm)).toEqual({ data: Float32Array.of(1, 2), width: 2, height: 1 });
    await expect(readGreyImage(folder)).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: `expected a readable image at ${folder}, found: a folder`,
      context: { file: folder },
    });
    await expect(readGreyImage(cut)).rejects.toMatchObject({
      code: "SOURCE_UNREADABLE",
      message: expect.stringMatching(
        /cut\.png: expected a whole PNG of at most 67\.108864 megapixels, found damage: ./,
      ),
      context: { file: cut },
    });
  });

  test("a picture of more than 8192 x 8192 pixels is refused by its header", async () => {
    const header = Buffer.from(await encodePng({ data: samples(12, false), width: 4, height: 3 }));
    header.writeUInt32BE(8193, 16);
    header.writeUInt32BE(8192, 20);
    header.writeUInt32BE(crc32(header.subarray(12, 29)), 29);
    await expect(decodeGreyImage(header, "a.png")).rejects.toThrow(/exceeds pixel limit$/);
  });

  test("JPEG in colour has its three channels, and grey JPEG three equal ones", async () => {
    const flat = (channels: 1 | 3, ...colour: number[]) =>
      sharp(
        Uint8Array.from({ length: 256 * channels }, (_, i) => colour[i % channels]!),
        {
          raw: { width: 16, height: 16, channels },
        },
      )
        .jpeg({ quality: 100 })
        .toBuffer();
    const path = join(folder, "flat.jpg");
    const first = async (bytes: Uint8Array) => {
      writeFileSync(path, bytes);
      const { data, width, height } = await readRgbImage(path);
      expect([data.length, width, height]).toEqual([768, 16, 16]);
      return [...data.subarray(765)];
    };
    const [red, green, blue] = await first(await flat(3, 200, 90, 20));
    expect(Math.max(Math.abs(red! - 200), Math.abs(green! - 90), Math.abs(blue! - 20))).toBeLessThanOrEqual(
      3,
    );
    expect(await first(await flat(1, 77))).toEqual([77, 77, 77]);
  });

  test("JPEG", async () => {
    const ramp = Uint8Array.from({ length: 64 * 48 }, (_, i) => 40 + (i % 64) * 2 + Math.floor(i / 64));
    const bytes = await sharp(ramp, { raw: { width: 64, height: 48, channels: 1 } })
      .jpeg({ quality: 95 })
      .toBuffer();
    const image = await decodeGreyImage(bytes, "a.jpg");
    expect([image.width, image.height]).toEqual([64, 48]);
    const error = Math.max(...ramp.map((value, i) => Math.abs(value - image.data[i]!)));
    expect(error).toBeLessThanOrEqual(4);
  });

  test("a missing file, a file that is no image, an empty file", async () => {
    const missing = join(folder, "nothing.png");
    await expect(readGreyImage(missing)).rejects.toThrow(
      `expected a readable image at ${missing}, found: no such file`,
    );
    writeFileSync(join(folder, "notes.png"), "hello");
    await expect(readGreyImage(join(folder, "notes.png"))).rejects.toThrow(/begins with 0x68656c6c/);
    writeFileSync(join(folder, "empty.png"), "");
    await expect(readGreyImage(join(folder, "empty.png"))).rejects.toThrow(/found an empty file/);
    await expect(readGreyImage(folder)).rejects.toEqual(code("SOURCE_UNREADABLE"));
  });

  test("side by side", async () => {
    const file = join(folder, "sbs.pgm");
    await writeImage(file, { data: new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]), width: 4, height: 2 });
    const { left, right } = await readStereoSideBySide(file);
    expect([...left.data, ...right.data]).toEqual([1, 2, 5, 6, 3, 4, 7, 8]);
    await writeImage(file, { data: new Uint8Array(3), width: 3, height: 1 });
    await expect(readStereoSideBySide(file)).rejects.toThrow(
      /expected an even width for two images.*found 3/,
    );
    writeFileSync(file, text("P3 2 2 255  1 2 3  4 5 6  7 8 9  10 11 12"));
    expect(await readStereoSideBySide(file, true)).toEqual({
      left: { data: Uint8Array.of(1, 2, 3, 7, 8, 9), width: 1, height: 2, format: "RGB8" },
      right: { data: Uint8Array.of(4, 5, 6, 10, 11, 12), width: 1, height: 2, format: "RGB8" },
    });
    // (77 R + 150 G + 29 B + 128) >> 8
    expect([...(await readStereoSideBySide(file)).left.data]).toEqual([2, 8]);
    writeFileSync(file, text("P2 2 1 65535  257 65535"));
    expect(await readStereoSideBySide(file, true)).toEqual({
      left: { data: Uint16Array.of(257), width: 1, height: 1, format: "Y16" },
      right: { data: Uint16Array.of(65535), width: 1, height: 1, format: "Y16" },
    });
  });
});

needs("opencv").suite("OpenCV reads our files, and we read its files", () => {
  test("PNG 8 and 16, PGM 8 and 16, PFM", async () => {
    const image = (deep: boolean) => ({ data: samples(11 * 6, deep), width: 11, height: 6 });
    const greys = [false, true].flatMap((deep) =>
      ["png", "pgm"].map((ending) => ({ ...image(deep), name: `${deep ? 16 : 8}.${ending}` })),
    );
    for (const { name, ...grey } of greys) await writeImage(join(folder, `ours-${name}`), grey);
    const disparity = { data: new Float32Array([0.25, 1, 2.5, 100, 7, 8]), width: 3, height: 2 };
    await writeDisparity(join(folder, "ours-d.pfm"), disparity);
    const names = [...greys.map(({ name }) => name), "d.pfm"];
    const script = `import cv2, json
read = {name: cv2.imread("ours-" + name, -1) for name in ${JSON.stringify(names)}}
for name, image in read.items(): cv2.imwrite("theirs-" + name, image)
print(json.dumps({name: image.flatten().tolist() for name, image in read.items()}))`;
    const run = spawnSync(PYTHON, ["-c", script], { cwd: folder, encoding: "utf8" });
    expect(run.stderr).toBe("");
    const seen = JSON.parse(run.stdout) as Record<string, number[]>;
    for (const { name, ...grey } of greys) {
      expect(seen[name], name).toEqual([...grey.data]);
      expect(await readGreyImage(join(folder, `theirs-${name}`)), name).toEqual(grey);
    }
    expect(seen["d.pfm"]).toEqual([...disparity.data]);
    expect(await readDisparity(join(folder, "theirs-d.pfm"))).toEqual(disparity);
  });
});

needsData("midd_v2").suite("research pictures: libvips and fast-png agree on every PNG", (root) => {
  const files = readdirSync(root, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".png"),
  );

  test(`${files.length} files, palettes among them`, async () => {
    let palettes = 0;
    for (const name of files) {
      const bytes = readFileSync(join(root, name));
      const second = decode(bytes);
      if (second.palette) palettes++;
      else if (second.depth < 8) continue;
      const values = second.palette ? convertIndexedToRgb(second) : (second.data as Uint8Array);
      const channels = values.length / (second.width * second.height);
      const expected = greyFromSamples(new Uint8Array(values), second.width, second.height, channels);
      expect(
        Buffer.compare(Buffer.from((await readGreyImage(join(root, name))).data), Buffer.from(expected.data)),
        name,
      ).toBe(0);
    }
    expect(palettes).toBeGreaterThan(3);
  });

  test("tsukuba's palette map is the plain grey map next to it", async () => {
    const palette = await readGreyImage(join(root, "tsukuba/disp.png"));
    expect(palette).toEqual(await readGreyImage(join(root, "tsukuba/disp_gray.pgm")));
  });
});
