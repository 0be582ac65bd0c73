// SPDX-License-Identifier: Apache-2.0
// A frame with pixels around its two images, as the PlayStation 4 camera delivers: each image is read in its place.
import { afterEach, expect, test } from "vitest";
import { openV4l2Source, toGrey } from "../../../../camera/index.js";
import { fakeVideo } from "../../../../camera/v4l2/test/fake-video/fake-video.js";
import { clocks, now, recording, until, video } from "../../../doubles/cameras.js";
import { needs } from "../../../doubles/needs.js";

const PATH = "/dev/video0";
const [WIDTH, HEIGHT] = [32, 16];
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

needs("toolchain").suite("margins", () => {
  test.each([
    ["leftRight", "YUYV", 2, 2 * WIDTH + 60, HEIGHT + 6],
    ["topBottom", "GREY", 1, WIDTH + 60, 2 * HEIGHT + 6],
  ] as const)("%s, %s", async (layout, fourcc, pixelBytes, width, height) => {
    const fake = fakeVideo();
    fake.plugIn({ path: PATH, formats: [{ fourcc, width, height, ratesHz: [30] }], strideExtra: 8 });
    const source = await openV4l2Source(
      { sideBySide: PATH, layout, margins: "48,2,12,4", width: WIDTH, height: HEIGHT },
      { video, clocks, system: fake.system },
    );
    cleanups.push(() => source.stop());
    expect(source.description.title).toContain(`${width}x${height} (two images of ${WIDTH}x${HEIGHT})`);
    const strideBytes = source.description.leftStrideBytes;
    expect(strideBytes).toBe(width * pixelBytes + 8);
    const bytes = new Uint8Array(strideBytes * height);
    const value = (side: number, x: number, y: number) => 1 + side * 100 + ((x + 3 * y) % 97);
    for (let y = 0; y < HEIGHT; y++)
      for (let x = 0; x < WIDTH; x++)
        for (const side of [0, 1]) {
          const [right, down] = layout === "leftRight" ? [side * WIDTH, 0] : [0, side * HEIGHT];
          bytes[(2 + down + y) * strideBytes + (48 + right + x) * pixelBytes] = value(side, x, y);
        }
    const { held, events } = recording(true);
    source.start(events);
    await until(() => fake.state(PATH).streaming, "stream");
    fake.deliver(PATH, { timestampNs: now(), sequence: 0, bytes });
    await until(() => held.length === 1, "a pair");
    for (const [side, image] of [held[0]!.left, held[0]!.right].entries()) {
      const grey = toGrey(image);
      const expected = Array.from({ length: WIDTH * HEIGHT }, (_, i) =>
        value(side, i % WIDTH, Math.floor(i / WIDTH)),
      );
      expect([...grey.data]).toEqual(expected);
    }
    held[0]!.release();
  });

  test.each([
    ["48,0,840", "GREY", false, /as left,top,right,bottom .* got 48,0,840\./],
    ["3,0,0,0", "GREY", false, /even left and top/],
    ["0,3,0,0", "GREY", false, /even left and top/],
    ["-2,0,0,0", "GREY", false, /as left,top,right,bottom/],
    ["2,0,2,0", "Y10P", false, /left margin .* multiple of 4 for Y10P, got 2/],
    ["0,2,4,0", "NV12", true, /other than NV12/],
  ])("%s of %s are refused", async (margins, fourcc, colours, message) => {
    const fake = fakeVideo();
    const [, top, , bottom] = margins.split(",").map(Number);
    const size = { width: 2 * WIDTH + 4, height: HEIGHT + (top ?? 0) + (bottom ?? 0) };
    fake.plugIn({ path: PATH, formats: [{ fourcc, ...size, ratesHz: [30] }] });
    const settings = { sideBySide: PATH, margins, width: WIDTH, height: HEIGHT, colours };
    const opening = openV4l2Source(settings, { video, clocks, system: fake.system });
    await expect(opening).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringMatching(message),
    });
  });

  test("two cameras have no margins", async () => {
    const fake = fakeVideo();
    for (const path of [PATH, "/dev/video2"])
      fake.plugIn({ path, formats: [{ fourcc: "GREY", width: WIDTH, height: HEIGHT, ratesHz: [30] }] });
    const settings = { left: PATH, right: "/dev/video2", margins: "2,0,0,0", width: WIDTH, height: HEIGHT };
    const opening = openV4l2Source(settings, { video, clocks, system: fake.system });
    await expect(opening).rejects.toThrow(/Expected one camera .* for source.v4l2.margins/);
  });
});
