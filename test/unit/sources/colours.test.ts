// SPDX-License-Identifier: Apache-2.0
// Tests colours from every kind of source, for matchers that read them; and the message if there are none.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import sharp from "sharp";
import { FORMAT_TRAITS, isInterleaved } from "v4l2-camera/parts";
import { afterAll, describe, expect, test } from "vitest";
import {
  type FramePair,
  openCommandSource,
  openReplaySource,
  type PairSource,
  type PixelFormat,
  SceneRenderer,
  SyntheticSource,
  toRgb,
} from "../../../camera/index.js";
import { chooseFormat } from "../../../camera/live/choose.js";
import { ALGORITHMS, type Algorithm, readsColours } from "../../../cuda/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import { loadNative } from "../../../edge/contracts/native.js";
import { computePair, openPair, readPair } from "../../../edge/match/match-pair.js";
import { openRuntime } from "../../../edge/run/main.js";
import { native, Random } from "../../doubles/stages.js";

const folder = mkdtempSync(join(tmpdir(), "depthwatt-colours-"));
afterAll(() => rmSync(folder, { recursive: true }));

const [WIDTH, HEIGHT] = [32, 24];
const random = new Random(11);
const rgb = () => random.fill(new Uint8Array(3 * WIDTH * HEIGHT), 0, 255);

/** The first pair, its bytes copied. */
async function firstPair(source: PairSource) {
  const pair = await new Promise<FramePair>((resolve, reject) =>
    source.start({ onPair: resolve, onDegraded: () => {}, onEnd: () => {}, onError: reject }),
  );
  const copied = [pair.left, pair.right].map(({ data, format, strideBytes }) => {
    return { bytes: Uint8Array.from(data), format, strideBytes };
  });
  pair.release();
  await source.stop();
  return copied as [(typeof copied)[0], (typeof copied)[0]];
}

function file(name: string, bytes: Uint8Array): string {
  writeFileSync(join(folder, name), bytes);
  return join(folder, name);
}
const ppm = (pixels: Uint8Array) => Buffer.concat([Buffer.from(`P6\n${WIDTH} ${HEIGHT}\n255\n`), pixels]);
const pgm = (pixels: Uint8Array) => Buffer.concat([Buffer.from(`P5\n${WIDTH} ${HEIGHT}\n255\n`), pixels]);
const raw = { width: WIDTH, height: HEIGHT, channels: 3 } as const;
const png = (pixels: Uint8Array) => sharp(pixels, { raw }).png().toBuffer();

describe("recordings", () => {
  const play = (settings: { left?: string; right?: string; sideBySide?: string }, colours = true) =>
    openReplaySource({ ...settings, rateHz: "max", colours }).then(async (source) => {
      const pair = await firstPair(source);
      return { pair, description: source.description };
    });

  test("PNG and PPM keep their colours, byte for byte; a grey picture stays grey; no consumer asks: grey", async () => {
    const [left, right] = [rgb(), rgb()];
    const files = { left: file("left.png", await png(left)), right: file("right.ppm", ppm(right)) };
    const { pair, description } = await play(files);
    expect(description).toMatchObject({
      leftFormat: "RGB8",
      rightFormat: "RGB8",
      leftStrideBytes: 3 * WIDTH,
    });
    expect(pair.map(({ format, strideBytes }) => ({ format, strideBytes }))).toEqual(
      Array(2).fill({ format: "RGB8", strideBytes: 3 * WIDTH }),
    );
    expect(Buffer.compare(pair[0].bytes, left)).toBe(0);
    expect(Buffer.compare(pair[1].bytes, right)).toBe(0);

    const grey = file("grey.pgm", pgm(left.subarray(0, WIDTH * HEIGHT)));
    const mixed = await play({ ...files, right: grey });
    expect(mixed.description).toMatchObject({
      leftFormat: "RGB8",
      rightFormat: "GREY",
      rightStrideBytes: WIDTH,
    });
    expect((await play(files, false)).description).toMatchObject({
      leftFormat: "GREY",
      leftStrideBytes: WIDTH,
    });
  });

  test("JPEG's colours are those of its decoder; a side by side picture is cut between pixels", async () => {
    const jpeg = await sharp(rgb(), { raw }).jpeg({ quality: 95 }).toBuffer();
    const decoded = await sharp(jpeg).raw().toBuffer();
    const { pair } = await play({ sideBySide: file("both.jpg", jpeg) });
    for (const [side, { bytes, strideBytes }] of pair.entries()) {
      expect(strideBytes).toBe((3 * WIDTH) / 2);
      for (let y = 0; y < HEIGHT; y++) {
        const start = 3 * (y * WIDTH + (side * WIDTH) / 2);
        const row = bytes.subarray(y * strideBytes, (y + 1) * strideBytes);
        expect(Buffer.compare(row, decoded.subarray(start, start + strideBytes)), `row ${y}`).toBe(0);
      }
    }
  });
});

describe("the built-in scene", () => {
  test("in colours: its luma is about the grey scene's, and objects differ in colour", async () => {
    const options = { width: 96, height: 64, view: "ideal" } as const;
    const pictures = [];
    for (const colours of [false, true]) {
      const renderer = new SceneRenderer(loadNative(), { ...options, colours });
      pictures.push((await renderer.frame(5)).left.data);
      renderer.close();
    }
    const [grey, colours] = pictures as [Uint8Array, Uint8Array];
    expect(colours).toHaveLength(3 * grey.length);
    let [difference, whole, saturation] = [0, 0, 0];
    for (const [i, value] of grey.entries()) {
      const [r, g, b] = [colours[3 * i]!, colours[3 * i + 1]!, colours[3 * i + 2]!];
      // Values that are clipped at 255 are lost to luma.
      if (Math.max(r, g, b) < 255) {
        difference += Math.abs((77 * r + 150 * g + 29 * b) / 256 - value);
        whole++;
      }
      saturation += Math.abs(r - b) / grey.length;
    }
    expect(whole).toBeGreaterThan(grey.length / 2);
    expect(difference / whole).toBeLessThan(1);
    expect(saturation).toBeGreaterThan(20);
  });

  test("as a source it delivers RGB8 where colours are read", async () => {
    const source = new SyntheticSource(loadNative(), { width: 64, height: 48, rateHz: "max", colours: true });
    const [left] = await firstPair(source);
    expect(left).toMatchObject({ format: "RGB8", strideBytes: 192 });
    expect(left.bytes).toHaveLength(3 * 64 * 48);
  });
});

test("a command's NV12 keeps its chroma where colours are read, and only there", async () => {
  const frame = random.fill(new Uint8Array(1.5 * WIDTH * HEIGHT), 0, 255);
  const line = `cat ${file("frame.nv12", frame)}`;
  const settings = {
    left: line,
    right: line,
    format: "NV12",
    width: WIDTH,
    height: HEIGHT,
    live: false,
    timeoutMs: 5000,
  } as const;
  const [left] = await firstPair(await openCommandSource({ ...settings, colours: true }));
  expect(left.format).toBe("NV12");
  expect(Buffer.compare(left.bytes, frame)).toBe(0);
  const [grey] = await firstPair(await openCommandSource(settings));
  expect(grey.format).toBe("GREY");
});

test("cameras: where colours are read, auto prefers formats that have them", () => {
  const formats = FORMAT_TRAITS.filter(({ format }) => !isInterleaved(format)).map(({ fourcc }) => ({
    fourcc,
    description: "",
    compressed: false,
    emulated: false,
    sizes: [],
  }));
  const camera = {
    path: "/dev/video0",
    driver: "d",
    card: "c",
    bus: "b",
    captures: true,
    streams: true,
    multiPlanar: false,
    controls: [],
  };
  const order: string[] = [];
  for (let left = formats; left.length > 0; ) {
    const request = { width: 64, height: 48, format: "auto", colours: true } as const;
    const { format, fourcc } = chooseFormat([{ ...camera, formats: left }], request).trait;
    order.push(format);
    left = left.filter((other) => other.fourcc !== fourcc);
  }
  expect(order.slice(0, 3)).toEqual(["NV12", "YUYV", "UYVY"]);
  expect(order.slice(-6)).toEqual(["GREY", "Y10", "Y12", "Y16", "Y10P", "Y12P"]);
});

const formats = [
  "RGB8",
  "YUYV",
  "UYVY",
  "NV12",
  "BAYER_RGGB8",
  "BAYER_GRBG10",
  "BAYER_GBRG12",
  "BAYER_BGGR16",
];
const sizes = [
  [13, 9],
  [2, 2],
  [1, 4],
  [4, 1],
] as const;
test.each(formats)("still pictures have the engine's colours: %s", (format) => {
  const stage = native.stages.rectify as unknown as (call: object) => string;
  const strideBytes = 41;
  for (const [width, height] of sizes) {
    const image = random.fill(new Uint8Array(2 * strideBytes * height), 0, 255);
    const expected = new Uint8Array(3 * width * height);
    const size = { inputWidth: width, inputHeight: height, width, height };
    stage({ variant: "reference", format, ...size, strideBytes, image, rgb: expected });
    const still = {
      data: image,
      width,
      height,
      strideBytes,
      format: format as PixelFormat,
      timestampNs: 0n,
      sequence: 0,
    };
    expect(Buffer.compare(toRgb(still).data, expected), `${width}x${height}`).toBe(0);
  }
});

const COLOUR_MATCHERS = ALGORITHMS.filter(readsColours);

test("esaw, esmp, sad and pyramid read colours", () => {
  expect(COLOUR_MATCHERS).toEqual(expect.arrayContaining(["esaw", "esmp", "sad", "pyramid"]));
});

describe("a pair of pictures", () => {
  /** Match as `depthwatt match` does, and what it says. */
  const match = async (algorithm: Algorithm, [left, right]: [string, string]) => {
    const notes: string[] = [];
    const note = (text: string) => notes.push(text);
    const set = ["board=none", "engine.backend=cpu", "match.numDisparities=16"];
    const { config } = loadConfig({ set: [...set, `match.algorithm=${algorithm}`], environment: {} });
    const pictures = await readPair(left, right, algorithm, note);
    const { disparityQ4 } = await computePair(await openPair(config, pictures, note));
    return { disparityQ4, notes, formats: pictures.map(({ format }) => format) };
  };

  test.each(COLOUR_MATCHERS)(
    "in grey: %s reports it once and computes as with red = green = blue",
    async (algorithm) => {
      const values = [0, 1].map(() => random.fill(new Uint8Array(WIDTH * HEIGHT), 0, 255));
      values[1]!.set(values[0]!.subarray(3), 0);
      const thrice = (grey: Uint8Array) =>
        Uint8Array.from({ length: 3 * grey.length }, (_, i) => grey[Math.floor(i / 3)]!);
      const grey = values.map((v, i) => file(`grey-${algorithm}-${i}.pgm`, pgm(v)));
      const coloured = values.map((v, i) => file(`thrice-${algorithm}-${i}.ppm`, ppm(thrice(v))));
      const got = await match(algorithm, grey as [string, string]);
      const expected = await match(algorithm, coloured as [string, string]);
      expect(got.formats).toEqual(["GREY", "GREY"]);
      expect(expected.formats).toEqual(["RGB8", "RGB8"]);
      expect(got.disparityQ4).toEqual(expected.disparityQ4);
      expect(got.disparityQ4.some((d) => d === 3 * 16)).toBe(true);
      expect(got.notes).toEqual([
        `${algorithm} reads colours, the pictures have no colours: red, green and blue are the grey value`,
      ]);
      expect(expected.notes).toEqual([]);
    },
  );

  test("in grey: a matcher of grey images says nothing", async () => {
    const one = file("quiet.pgm", pgm(rgb().subarray(0, WIDTH * HEIGHT)));
    expect((await match("sgm", [one, one])).notes).toEqual([]);
  });
});

describe("a run", () => {
  const run = async (set: Record<string, string>) => {
    const notices: string[] = [];
    const all = { "outputs.mqtt.broker": "none", "outputs.viewer.enabled": "false", board: "none", ...set };
    const words = Object.entries(all).map(([key, value]) => `${key}=${value}`);
    const { config } = loadConfig({ set: [...words, "power.sensor=none"], environment: {} });
    const runtime = await openRuntime(config, 3, { onNotice: (notice) => notices.push(notice) });
    const { frames } = await runtime.run();
    return { frames, notices: notices.filter((notice) => notice.includes("colours")) };
  };

  test.each(COLOUR_MATCHERS)("with %s says once that it gets no colours", async (algorithm) => {
    const place = file("still.pgm", pgm(rgb().subarray(0, WIDTH * HEIGHT)));
    const replay = {
      "source.kind": "replay",
      "source.replay.rateHz": "max",
      "source.replay.loop": "true",
      "match.numDisparities": "16",
      "source.replay.left": place,
      "source.replay.right": place,
      "match.algorithm": algorithm,
    };
    const { frames, notices } = await run(replay);
    expect(frames).toBe(3);
    expect(notices).toEqual([
      `${algorithm} reads colours, the source's images (GREY) have no colours: red, green and blue are the grey value`,
    ]);
    const coloured = file("coloured.png", await png(rgb()));
    expect(
      (await run({ ...replay, "source.replay.left": coloured, "source.replay.right": coloured })).notices,
    ).toEqual([]);
    expect((await run({ ...replay, "match.algorithm": "sgm" })).notices).toEqual([]);
  });
});
