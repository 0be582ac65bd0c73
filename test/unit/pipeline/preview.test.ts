// SPDX-License-Identifier: Apache-2.0
// The preview's picture, its pace, and that it never holds a slot or hides a drop.
import sharp from "sharp";
import { expect, test } from "vitest";
import { DISPARITY_COLOURS } from "../../../camera/index.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import type { PublishDropCause } from "../../../edge/outputs/mqtt/index.js";
import { previewSink } from "../../../edge/outputs/mqtt/preview.js";
import { until } from "../../doubles/frames.js";

function createFrame(
  width: number,
  height: number,
  disparityQ4: (x: number, y: number) => number,
): ComputedFrame {
  const map = Int16Array.from({ length: width * height }, (_, i) =>
    disparityQ4(i % width, Math.floor(i / width)),
  );
  return { slot: { disparityQ4: map }, width, height } as unknown as ComputedFrame;
}

function setUp(encoding: "jpeg" | "png", answer?: PublishDropCause) {
  const files: { file: Uint8Array; contentType: string }[] = [];
  const drops: string[] = [];
  let nowMs = 1000;
  let released = 0;
  const sink = previewSink({
    publisher: {
      preview: (file, contentType) => {
        files.push({ file, contentType });
        return answer;
      },
    },
    encoding,
    range: () => ({ min: 0, max: 64 }),
    onDropped: (cause) => drops.push(cause),
    now: () => nowMs,
  });
  const show = (frame: ComputedFrame, atMs: number) => {
    nowMs = atMs;
    sink(frame, () => {
      released++;
    });
  };
  return { files, drops, show, released: () => released };
}

const pixels = async (file: Uint8Array) => {
  const { data, info } = await sharp(file).removeAlpha().raw().toBuffer({ resolveWithObject: true });
  return {
    ...info,
    at: (x: number, y: number) => [...data.subarray(3 * (y * info.width + x)).subarray(0, 3)],
  };
};

test("colours stand for disparities, black for none, and a wide picture is thinned and not averaged", async () => {
  const { files, show } = setUp("png");
  // Columns of 0 and 63 px side by side: a mean would be a colour that nothing has.
  show(
    createFrame(960, 6, (x, y) => (y < 3 ? (x % 3 === 1 ? 63 * 16 : 0) : -32_768)),
    1000,
  );
  await until("a picture", () => files.length === 1);
  expect(files[0]!.contentType).toBe("image/png");
  const picture = await pixels(files[0]!.file);
  expect([picture.width, picture.height]).toEqual([320, 2]);
  const colour = Math.floor((63 * 255) / 64 + 0.5);
  for (const x of [0, 100, 319]) {
    expect(picture.at(x, 0)).toEqual([...DISPARITY_COLOURS.subarray(3 * colour, 3 * colour + 3)]);
    expect(picture.at(x, 1)).toEqual([0, 0, 0]);
  }
});

test.each([
  [1, 1],
  [321, 1],
  [319, 7],
])("a picture of %d x %d pixels has one too", async (width, height) => {
  const { files, show, drops } = setUp("jpeg");
  show(
    createFrame(width, height, () => 16),
    1000,
  );
  await until("a picture", () => files.length === 1);
  expect(files[0]!.contentType).toBe("image/jpeg");
  const picture = await pixels(files[0]!.file);
  expect(picture.width).toBe(width > 320 ? 160 : width);
  expect(picture.height).toBe(height);
  expect(drops).toEqual([]);
});

test("at most two a second, and every slot goes back at once", async () => {
  const { files, show, released } = setUp("png");
  const frame = createFrame(8, 4, () => 160);
  for (let i = 0; i < 30; i++) {
    show(frame, 1000 + i * 100);
    expect(released()).toBe(i + 1);
    // Packing takes its time on other threads; the pace is the clock's.
    const wanted = Math.floor(i / 5) + 1;
    await until(`picture ${wanted}`, () => files.length === wanted);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(files).toHaveLength(6);
});

test("a picture that is not sent is counted under its cause", async () => {
  const { drops, show } = setUp("png", "offline");
  show(
    createFrame(8, 4, () => 160),
    1000,
  );
  await until("counted", () => drops.length === 1);
  expect(drops).toEqual(["preview.offline"]);
});
