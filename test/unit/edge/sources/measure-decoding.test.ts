// SPDX-License-Identifier: Apache-2.0
// The costs of formats on this machine: measured by the decoder and the rectification, once in a process.
import sharp from "sharp";
import { expect, test, vi } from "vitest";
import {
  CAPTURE_FORMATS,
  loadVideo,
  openV4l2Source,
  SAMPLE_SIZE,
  sampleJpeg,
} from "../../../../camera/index.js";
import { fakeVideo } from "../../../../camera/v4l2/test/fake-video/fake-video.js";
import { measureDecoding } from "../../../../edge/sources/v4l2/measure-decoding.js";
import { clocks, video } from "../../../doubles/cameras.js";
import { needs } from "../../../doubles/needs.js";

needs("turbojpeg").suite("what formats cost", () => {
  test.each([false, true])(
    "every format has a finite cost above 0, the same at the second call; colours: %s",
    async (colours) => {
      const { nsPerPixel, cores } = await measureDecoding(CAPTURE_FORMATS, colours);
      expect([...nsPerPixel.keys()]).toEqual(CAPTURE_FORMATS);
      for (const [format, cost] of nsPerPixel) {
        expect(Number.isFinite(cost), format).toBe(true);
        expect(cost, format).toBeGreaterThan(0);
      }
      expect(cores).toBeGreaterThanOrEqual(1);
      expect(await measureDecoding(CAPTURE_FORMATS, colours)).toEqual({ nsPerPixel, cores });
    },
  );

  test("the sample is a JPEG of its size, with an image in it", async () => {
    const call = { jpeg: sampleJpeg(), ...SAMPLE_SIZE, decode: "grey" } as const;
    expect(loadVideo().timeDecoding(call)).toBeGreaterThan(0);
    // About a bit for each pixel.
    expect((8 * call.jpeg.length) / (SAMPLE_SIZE.width * SAMPLE_SIZE.height)).toBeCloseTo(1, 0);
    const { channels } = await sharp(call.jpeg).stats();
    expect(channels[0]!.stdev).toBeGreaterThan(5);
  });

  test("anything but a JPEG of the size is refused", () => {
    const jpeg = sampleJpeg();
    const { timeDecoding } = loadVideo();
    for (const call of [
      { jpeg, width: 320, height: 241, decode: "grey" },
      { jpeg: jpeg.subarray(0, 2000), ...SAMPLE_SIZE, decode: "grey" },
      { jpeg: new Uint8Array(0), ...SAMPLE_SIZE, decode: "grey" },
      { jpeg, ...SAMPLE_SIZE, decode: "blue" },
      { jpeg: "x", ...SAMPLE_SIZE, decode: "grey" },
      { jpeg, width: 1e9, height: 240, decode: "rgb" },
      undefined,
    ])
      expect(() => timeDecoding(call as never)).toThrow(
        expect.objectContaining({ code: "INVALID_ARGUMENT" }),
      );
  });
});

needs("toolchain").suite("a camera that is opened", () => {
  test("the measured costs decide, and the choice is reported with them", async () => {
    const fake = fakeVideo();
    const formats = ["GREY", "YUYV", "MJPG"].map((fourcc) => ({
      fourcc,
      width: 64,
      height: 48,
      ratesHz: [30],
    }));
    for (const path of ["/dev/fake0", "/dev/fake1"]) fake.plugIn({ path, formats });
    const measure = vi.fn(async () => ({
      nsPerPixel: new Map([["GREY", 9] as const, ["YUYV", 2] as const, ["MJPEG", 5] as const]),
      cores: 1,
    }));
    const notes: string[] = [];
    const source = await openV4l2Source(
      { left: "/dev/fake0", right: "/dev/fake1", width: 64, height: 48, rateHz: 30 },
      {
        video,
        clocks,
        system: fake.system,
        folders: { sysfs: "/nowhere" },
        measureDecoding: measure,
        onNote: (note) => notes.push(note),
      },
    );
    try {
      expect(measure).toHaveBeenCalledWith(["GREY", "YUYV", "MJPEG"], false);
      expect(source.description.leftFormat).toBe("YUYV");
      expect(notes).toEqual([source.description.formatChoice]);
      expect(notes).toEqual([
        "source.v4l2.format auto takes YUYV (30 Hz, 0.012 ms a pair); also possible: GREY (30 Hz, 0.055 ms), MJPEG (30 Hz, 0.031 ms).",
      ]);
    } finally {
      await source.stop();
    }
  });
});
