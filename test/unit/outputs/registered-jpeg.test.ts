// SPDX-License-Identifier: Apache-2.0
// Depth in another camera's image as a JPEG: the colours that the preview has at the same distance, black without a value.
import sharp from "sharp";
import { expect, test } from "vitest";
import { colourDisparity, type Rectification } from "../../../camera/index.js";
import { parseFrame, writeFrame } from "../../../core/frame/payload.js";
import type { ComputedFrame } from "../../../edge/contracts/computed-frame.js";
import { previewSink } from "../../../edge/outputs/mqtt/preview.js";
import type { Publisher } from "../../../edge/outputs/mqtt/publisher-types.js";
import { RealtimeOffset } from "../../../edge/outputs/mqtt/realtime-offset.js";
import { depthColours } from "../../../edge/outputs/mqtt/registered-colours.js";
import type { MqttSettings } from "../../../edge/outputs/mqtt/settings.js";
import { streamSinks } from "../../../edge/outputs/mqtt/streams.js";

/** Bands of one distance each, wide enough that JPEG keeps their middle. */
const BAND = 32;
const DISPARITIES = [undefined, 4, 12, 30, 47.5, 60, 90];
const [WIDTH, HEIGHT] = [BAND * DISPARITIES.length, BAND];
const RECTIFICATION = { focalPixels: 400, baselineMetres: 0.12, disparityOffsetPixels: 1.5 } as Rectification;
const RANGE = { min: 2, max: 66 };

const bandOf = (i: number) => DISPARITIES[Math.floor((i % WIDTH) / BAND)];
/** Millimetres at a disparity of the rectified pair. */
const millimetresAt = (disparity: number) =>
  Math.round((1000 * RECTIFICATION.focalPixels * RECTIFICATION.baselineMetres) / (disparity + 1.5));

const off = { enabled: false };
const SETTINGS = {
  depth: off,
  disparity: off,
  confidence: off,
  left: off,
  right: off,
  points: off,
  registered: { enabled: true, confidence: true, encoding: "jpeg" },
} as unknown as MqttSettings;

function frameOfBands(): ComputedFrame {
  const pixels = { length: WIDTH * HEIGHT };
  return {
    width: WIDTH,
    height: HEIGHT,
    clock: "file",
    leftTimestampNs: 1n,
    rightTimestampNs: 2n,
    leftSequence: 1,
    rightSequence: 1,
    encodings: { registration: { camera: "rgb", width: WIDTH, height: HEIGHT } },
    slot: {
      registered: Uint16Array.from(pixels, (_, i) => {
        const disparity = bandOf(i);
        return disparity === undefined ? 0 : millimetresAt(disparity);
      }),
      registeredConfidence: Uint8Array.from(pixels, (_, i) => (bandOf(i) === undefined ? 0 : 200)),
      disparityQ4: Int16Array.from(pixels, (_, i) => {
        const disparity = bandOf(i);
        return disparity === undefined ? -32_768 : 16 * disparity;
      }),
    },
  } as unknown as ComputedFrame;
}

/** Red, green and blue in the middle of each band. */
async function bandColours(file: Uint8Array): Promise<number[][]> {
  const { data, info } = await sharp(file).toColourspace("srgb").raw().toBuffer({ resolveWithObject: true });
  expect(info).toMatchObject({ width: WIDTH, height: HEIGHT });
  return DISPARITIES.map((_, band) => {
    const at = info.channels * ((HEIGHT >> 1) * WIDTH + band * BAND + (BAND >> 1));
    return [0, 1, 2].map((channel) => data[at + (info.channels === 3 ? channel : 0)]!);
  });
}

const apart = (one: number[][], other: number[][]) =>
  Math.max(...one.flatMap((colour, band) => colour.map((value, i) => Math.abs(value - other[band]![i]!))));

test("a picture of registered depth has the preview's colours, and a header of colours", async () => {
  const messages: Uint8Array[] = [];
  const publisher = {
    maxMessageBytes: 1 << 20,
    nextFrameNumber: () => 7,
    publish: (...[buffer, at, bytes, frame, release]: Parameters<Publisher["publish"]>) => {
      const identity = { frameNumber: 7, runId: 1, clockDomain: 0 };
      messages.push(writeFrame(buffer, at, bytes, frame, identity).slice());
      release(true);
    },
  } as unknown as Publisher;
  const colours = depthColours(() => ({ range: RANGE, rectification: RECTIFICATION }));
  const sinks = streamSinks(SETTINGS, true, {
    publisher,
    offset: new RealtimeOffset(),
    onDropped: (cause) => expect.fail(cause),
    onReduced: () => expect.fail("reduced"),
    colours,
  });
  expect(sinks).toHaveLength(2);
  const frame = frameOfBands();
  for (const sink of sinks) expect(await new Promise((resolve) => sink(frame, resolve))).toBe(true);

  const [depth, confidence] = messages.map((message) => parseFrame(message));
  expect(depth!.header).toMatchObject({
    stream: "registered",
    encoding: "jpeg",
    element: "rgb8",
    quantity: "colourValue",
    invalidRule: "none",
    unitScale: 1,
    valueOffset: 0,
    width: WIDTH,
    height: HEIGHT,
  });
  expect(confidence!.header).toMatchObject({
    stream: "registeredConfidence",
    element: "u8",
    encoding: "jpeg",
  });

  const shown = await bandColours(depth!.body);
  const data = Float32Array.from(DISPARITIES, (disparity) => disparity ?? Number.POSITIVE_INFINITY);
  const expected = colourDisparity({ data, width: data.length, height: 1 }, RANGE).data;
  // JPEG, and a distance in whole millimetres.
  expect(
    apart(
      shown,
      DISPARITIES.map((_, band) => [...expected.subarray(3 * band, 3 * band + 3)]),
    ),
  ).toBeLessThan(14);
  expect(Math.max(...shown[0]!)).toBeLessThan(4);
  expect(new Set(shown.slice(1, 6).map(String)).size).toBe(5);
  // Nearer than the searched range is the last colour.
  const last = colourDisparity({ data: Float32Array.of(66), width: 1, height: 1 }, RANGE).data;
  expect(apart([shown[6]!], [[...last]])).toBeLessThan(14);

  const preview = await new Promise<Uint8Array>((resolve) => {
    const publisher = { preview: (file: Uint8Array) => void resolve(file) };
    previewSink({
      publisher,
      encoding: "jpeg",
      range: () => RANGE,
      onDropped: (cause) => expect.fail(cause),
    })(frame, () => {});
  });
  expect(apart(shown, await bandColours(preview))).toBeLessThan(14);
  expect(await bandColours(confidence!.body)).toEqual(
    DISPARITIES.map((disparity) => (disparity === undefined ? [0, 0, 0] : [200, 200, 200])),
  );
});

test("another range or calibration gives other colours, the same ones the same memory", () => {
  let scale = { range: { min: 0, max: 64 }, rectification: RECTIFICATION };
  const colours = depthColours(() => scale);
  const depth = Uint16Array.of(0, 1000);
  const first = colours(depth);
  const before = [...first];
  expect(colours(depth)).toBe(first);
  scale = { ...scale, range: { min: 0, max: 128 } };
  const farther = [...colours(depth)];
  scale = { ...scale, rectification: { ...RECTIFICATION, baselineMetres: 0.24 } };
  const wider = [...colours(depth)];
  expect(new Set([before, farther, wider].map(String)).size).toBe(3);
  expect([before, farther, wider].map((pixels) => pixels.slice(0, 3))).toEqual(Array(3).fill([0, 0, 0]));
});
