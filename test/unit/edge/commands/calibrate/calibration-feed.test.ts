// SPDX-License-Identifier: Apache-2.0
// Small images with corners, the progress and the end of a live calibration, as the page shows them.
import sharp from "sharp";
import { expect, test } from "vitest";
import type { GreyImage } from "../../../../../camera/index.js";
import { CalibrationFeed } from "../../../../../edge/commands/calibrate/calibration-feed.js";
import type { CalibrationDocument } from "../../../../../edge/outputs/viewer/protocol.js";
import type { LiveLook } from "../../../../../edge/rig/calibrate/index.js";
import { until } from "../../../../doubles/frames.js";

function opened(pages = 1) {
  const documents: [kind: string, document: CalibrationDocument & { state?: string; reason?: string }][] = [];
  const logs: [level: string, text: string][] = [];
  const hub = {
    pages,
    document: (device: string, kind: string, document: never) => {
      expect(device).toBe("rig");
      documents.push([kind, document]);
    },
    log: (level: string, text: string) => logs.push([level, text]),
  };
  const feed = new CalibrationFeed(hub as never, "rig");
  const shown = () => documents.filter(([kind]) => kind === "calibration").map(([, document]) => document);
  return { feed, hub, documents, logs, shown };
}

/** Columns of the left half have one grey value, those of the right half another. */
function image(
  width: number,
  height: number,
  [dark, bright]: readonly number[],
  bits: 8 | 16 = 8,
): GreyImage {
  const data = bits === 8 ? new Uint8Array(width * height) : new Uint16Array(width * height);
  return {
    width,
    height,
    data: data.map((_: number, i: number) => (i % width < width / 2 ? dark : bright)!),
  };
}

function look(left: GreyImage, right: GreyImage, points = [0, 0], changes: object = {}): LiveLook {
  const seen = { left: { points: Float64Array.from(points) }, right: { points: new Float64Array() } };
  const words = { verdict: "taken", text: "taken: pair 1", wanted: "the middle", board: "9x6" };
  return { images: { left, right }, seen, ...words, ...changes } as unknown as LiveLook;
}

test.each([
  [480, 360, 480, 360, 1],
  [481, 361, 240, 180, 2],
  [960, 540, 480, 270, 2],
  [961, 540, 320, 180, 3],
])("an image of %i x %i is shown as %i x %i, every %i pixels", async (width, height, w, h, step) => {
  const { feed, shown } = opened();
  const half = image(width, height, [40, 200]);
  feed.look(look(half, half, [12, 30.3, width - 1, 0]));
  await until("a document", () => shown().length === 1);
  const { left, right } = shown()[0]!.images;
  expect([left.width, left.height, right.width, right.height]).toEqual([w, h, w, h]);
  const round = (value: number) => Number((value / step).toFixed(1));
  expect(left.corners).toEqual([12, 30.3, width - 1, 0].map((value) => expect.closeTo(round(value), 6)));
  const { data, info } = await sharp(Buffer.from(left.jpeg, "base64"))
    .greyscale()
    .raw()
    .toBuffer({ resolveWithObject: true });
  expect([info.width, info.height]).toEqual([w, h]);
  const at = (x: number) => data[Math.floor(h / 2) * w + x]!;
  expect(Math.abs(at(20) - 40)).toBeLessThan(4);
  expect(Math.abs(at(w - 20) - 200)).toBeLessThan(4);
});

test("16-bit images are shown up to their brightest value", async () => {
  const { feed, shown } = opened();
  const deep = image(64, 48, [100, 1000], 16);
  feed.look(look(deep, image(64, 48, [0, 0], 16)));
  await until("a document", () => shown().length === 1);
  const pixels = async (side: "left" | "right") =>
    sharp(Buffer.from(shown()[0]!.images[side].jpeg, "base64")).greyscale().raw().toBuffer();
  const left = await pixels("left");
  expect(Math.abs(left[24 * 64 + 8]! - 25)).toBeLessThan(4);
  expect(left[24 * 64 + 56]).toBeGreaterThan(251);
  expect(Math.max(...(await pixels("right")))).toBeLessThan(4);
});

test("nothing is made where no page is open, and one look at a time", async () => {
  const { feed, hub, documents, shown } = opened(0);
  const one = image(32, 24, [0, 255]);
  feed.look(look(one, one));
  hub.pages = 1;
  feed.look(look(one, one, [0, 0], { text: "first" }));
  feed.look(look(one, one, [0, 0], { text: "left out" }));
  await until("a document", () => shown().length === 1);
  await until("that it is free again", () => {
    feed.look(look(one, one, [0, 0], { text: "second" }));
    return shown().length >= 2;
  });
  expect(
    shown()
      .map(({ text }) => text)
      .slice(0, 2),
  ).toEqual(["first", "second"]);
  expect(documents[0]).toEqual(["state", { state: "online", reason: "calibrating" }]);
});

test("an image that cannot be encoded is reported, and the next one is shown", async () => {
  const { feed, logs, shown } = opened();
  feed.look(look(image(0, 0, [0, 0]), image(0, 0, [0, 0])));
  await until("the report", () => logs.length === 1);
  expect(logs[0]![0]).toBe("error");
  const good = image(32, 24, [0, 255]);
  await until("the next one", () => {
    feed.look(look(good, good));
    return shown().length > 0;
  });
  feed.notice("pair 3 was left out");
  expect(logs.at(-1)).toEqual(["info", "pair 3 was left out"]);
});

test("progress and worth are those of the guide and the solution; the end keeps the last look", async () => {
  const { feed, documents, shown } = opened();
  feed.finished("too early");
  expect(shown()).toEqual([]);
  const progress = {
    pairs: 4,
    wantedPairs: 15,
    share: 0.25,
    tilts: { left: 1, right: 0, upper: 2, lower: 0 },
    left: { counts: [1, 2] },
    right: { counts: [3] },
  };
  const result = {
    rmsPixels: 0.3,
    calibration: { left: { K: [400] } },
    deviations: { leftFocalPixels: 2 },
    depthErrors: [{ depthMetres: 3 }],
  };
  const one = image(32, 24, [0, 255]);
  feed.look(look(one, one, [0, 0], { progress, result, trouble: "none" }));
  await until("a document", () => shown().length === 1);
  expect(shown()[0]).toMatchObject({
    verdict: "taken",
    text: "taken: pair 1",
    wanted: "the middle",
    board: "9x6",
    trouble: "none",
    progress: { pairs: 4, share: 0.25, cells: { left: [1, 2], right: [3] }, wantedTilts: 2 },
    worth: { rmsPixels: 0.3, focalPercent: 0.5, depthErrors: [{ depthMetres: 3 }] },
  });
  feed.finished("12 pairs, 0.3 px");
  expect(shown()[1]).toEqual({ ...shown()[0], result: "12 pairs, 0.3 px" });
  expect(documents.at(-1)).toEqual(["state", { state: "stopped", reason: "12 pairs, 0.3 px" }]);
});
