// SPDX-License-Identifier: Apache-2.0
// Every camera of camera-configs/, with its published formats on the driver in memory: its settings open it, in the format that
// the file names, and pairs arrive in place; only Motion JPEG is decoded, once.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import sharp from "sharp";
import { afterEach, expect, test } from "vitest";
import { captureFormatFrom, type FramePair, openV4l2Source } from "../../../../camera/index.js";
import { frameSize, parseMargins } from "../../../../camera/live/pair-layout.js";
import { fakeVideo } from "../../../../camera/v4l2/test/fake-video/fake-video.js";
import { loadConfig } from "../../../../edge/config/index.js";
import { clocks, now, until, video } from "../../../doubles/cameras.js";
import { needs } from "../../../doubles/needs.js";

interface CameraConfig {
  name: string;
  sources: string[];
  note?: string;
  driver: string;
  /** Rates by size, by V4L2's four letters; no rates: none are published. */
  formats: Record<string, Record<string, number[]>>;
  settings: Record<string, string | number | boolean>;
  /** The format that the settings must choose. */
  delivers: string;
  /** Person and board that ran it; empty: it has not been run. */
  hardware: string;
}

const FOLDER = join(import.meta.dirname, "../../../../camera-configs");
const CAMERAS = readdirSync(FOLDER).map(
  (file) => [file, JSON.parse(readFileSync(join(FOLDER, file), "utf8")) as CameraConfig] as const,
);
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test("the table has 25 cameras or more, each with a public source", () => {
  expect(CAMERAS.length).toBeGreaterThanOrEqual(25);
  for (const [file, { sources }] of CAMERAS)
    expect(sources, file).toContainEqual(expect.stringMatching(/^https?:/));
  expect(new Set(CAMERAS.map(([, { name }]) => name)).size).toBe(CAMERAS.length);
});

needs("toolchain").suite("cameras", () => {
  test.each(CAMERAS)("%s", async (_, { driver, formats, settings, delivers }) => {
    const set = ["source.kind=v4l2", ...Object.entries(settings).map(([key, value]) => `${key}=${value}`)];
    const { rateHz, other: _other, ...v4l2 } = loadConfig({ set, environment: {} }).config.source.v4l2;
    const fake = fakeVideo();
    const paths = [v4l2.left, v4l2.right, v4l2.sideBySide].filter((path) => path !== undefined);
    const offered = Object.entries(formats).flatMap(([fourcc, sizes]) =>
      Object.entries(sizes).map(([size, rates]) => {
        const [width, height] = size.split("x").map(Number) as [number, number];
        return { fourcc, width, height, ratesHz: rates.map(Math.floor) };
      }),
    );
    for (const path of paths) fake.plugIn({ path, driver, formats: offered });
    const notes: string[] = [];
    const source = await openV4l2Source(
      { ...v4l2, buffers: 4, memory: "userptr", ...(rateHz !== "max" && { rateHz }) },
      {
        video,
        clocks,
        system: fake.system,
        folders: { sysfs: "/nowhere" },
        onNote: (note) => notes.push(note),
      },
    );
    cleanups.push(() => source.stop());
    const chosen = new RegExp(`^source\\.v4l2\\.format auto takes ${delivers} \\(`);
    expect(notes.filter((note) => !chosen.test(note))).toEqual([]);
    expect(notes).toHaveLength(v4l2.format === "auto" ? 1 : 0);
    const { description } = source;
    expect(description.title).toContain(`, ${delivers} `);
    const size = `${v4l2.width}x${v4l2.height}`;
    const words =
      v4l2.layout === "interleaved"
        ? `${size} at`
        : v4l2.sideBySide
          ? `(two images of ${size})`
          : `${size} each`;
    expect(description.title).toContain(words.replace(" at", rateHz === "max" ? "" : " at"));
    if (rateHz !== "max") expect(description.rateHz).toBe(rateHz);
    const pairs: FramePair[] = [];
    source.start({
      onPair: (pair) => pairs.push(pair),
      onDegraded: () => {},
      onEnd: () => {},
      onError: (error) => {
        throw error;
      },
    });
    await until(() => paths.every((path) => fake.state(path).streaming), "all stream");
    const bytes = delivers === "MJPEG" ? await jpeg(offered[0]!.fourcc, v4l2, paths.length === 1) : undefined;
    const timestampNs = now();
    const margins = v4l2.margins === undefined ? undefined : parseMargins(v4l2.margins);
    const frame = v4l2.sideBySide ? frameSize(v4l2, v4l2.layout, margins) : v4l2;
    const bytesUsed = bytes?.length ?? description.leftStrideBytes * frame.height;
    for (const path of paths)
      expect(fake.deliver(path, { timestampNs, sequence: 0, bytesUsed, ...(bytes && { bytes }) })).toBe(true);
    await until(() => pairs.length === 1, "a pair", 3000);
    const [pair] = pairs as [FramePair];
    const memory = (source.inputMemory ?? []).map((one) => ("bytes" in one ? one.bytes : one).buffer);
    for (const side of ["left", "right"] as const) {
      expect(pair[side]).toMatchObject({ width: v4l2.width, height: v4l2.height });
      // A pair of bytes under another format's name is read as Y8I.
      const isPair = v4l2.layout === "interleaved" && ["YUYV", "Y16"].includes(delivers);
      const read = isPair ? "Y8I" : delivers;
      expect(pair[side].format.startsWith(read) || v4l2.mono || delivers === "MJPEG").toBe(true);
      expect(memory).toContain(pair[side].data.buffer);
    }
    pair.release();
  });
});

/** A frame of a Motion JPEG camera. */
function jpeg(fourcc: string, size: { width: number; height: number }, isWide: boolean): Promise<Buffer> {
  expect(captureFormatFrom(fourcc)).toBe("MJPEG");
  const width = (isWide ? 2 : 1) * size.width;
  return sharp({ create: { width, height: size.height, channels: 3, background: "#888" } })
    .jpeg()
    .toBuffer();
}
