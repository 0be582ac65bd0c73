// SPDX-License-Identifier: Apache-2.0
// Points with the colours of a third camera: a pattern whose colours give the pixel, against positions and occlusions that rays
// through the rendered scene give.
import { describe, expect, test } from "vitest";
import { distortFunction } from "../../camera/calibration/distortion.js";
import {
  type OtherCamera,
  rectify,
  registrationView,
  rotationMatrix,
  SceneRenderer,
  sceneCalibration,
  withHash,
} from "../../camera/index.js";
import type { ReceivedFrame } from "../../clients/javascript/src/index.js";
import { createEngine } from "../../cuda/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { startSmallRun } from "../doubles/small-run.js";
import { expectSameImage, native, Random, variants } from "../doubles/stages.js";
import { engineCases } from "../golden/engine-cases.mjs";

const stage = native.stages.registration as unknown as (call: object, camera: object) => string;
const options = { width: 640, height: 480, view: "rectified" } as const;

/** Below and to the right of the left camera, so that near things hide others from it. */
const RGB: OtherCamera = {
  name: "rgb",
  imageSize: { width: 400, height: 300 },
  K: [310, 0, 203, 0, 308, 147, 0, 0, 1],
  distortion: { model: "plumb_bob", coefficients: [-0.21, 0.06, 0.0008, -0.0006, 0] },
  R: rotationMatrix([0.02, -0.035, 0.012]),
  T: [-0.2, -0.12, 0.01],
};
const FISHEYE: OtherCamera = {
  ...RGB,
  name: "fisheye",
  K: [190, 0, 199, 0, 190, 151, 0, 0, 1],
  distortion: { model: "equidistant", coefficients: [0.03, -0.01, 0.002, 0] },
};
/** Side of a square of one colour, pixels. */
const SQUARE = 10;
/** Two different squares never have the same colour. */
const squareColour = (column: number, row: number) => [4 * column + 20, 5 * row + 30, (column ^ row) & 255];

function patternOf({ imageSize: { width, height } }: OtherCamera): Uint8Array {
  const pixels = new Uint8Array(3 * width * height);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      pixels.set(squareColour(Math.floor(x / SQUARE), Math.floor(y / SQUARE)), 3 * (y * width + x));
  return pixels;
}

/** Where a point of the rectified left image is in the other camera's image, and its depth there, in doubles. */
function projector(camera: OtherCamera, { focalPixels, cx, cy }: ReturnType<typeof rectify>) {
  const distort = distortFunction(camera.distortion);
  const at = new Float64Array(2);
  const { K, R, T } = camera;
  return (x: number, y: number, metres: number): [number, number, number] => {
    const [x3, y3] = [((x - cx) / focalPixels) * metres, ((y - cy) / focalPixels) * metres];
    const along = (row: number) =>
      R[3 * row]! * x3 + R[3 * row + 1]! * y3 + R[3 * row + 2]! * metres + T[row]!;
    const [X, Y, Z] = [along(0), along(1), along(2)];
    distort(X / Z, Y / Z, at);
    return [K[0] * at[0]! + K[2], K[4] * at[1]! + K[5], Z];
  };
}

test.each([RGB, FISHEYE])(
  "every point has the colour of its place, or none if it is hidden: $name",
  (camera) => {
    const calibration = withHash({ ...sceneCalibration(options), others: [camera] });
    const rectification = rectify(calibration);
    const renderer = new SceneRenderer(loadNative(), options);
    try {
      const { width, height, focalPixels, cx, cy, baselineMetres, disparityOffsetPixels } = rectification;
      const { disparity } = renderer.truth(3, "left", { width, height, focalPixels, cx, cy });
      const truth = renderer.depthOf(3, camera);
      const view = registrationView(calibration, rectification, camera.name);
      const others = view.width * view.height;
      const points = new Uint8Array(16 * width * height);
      const call = {
        variant: "reference",
        width,
        height,
        focalPixels,
        baselineMetres,
        disparityOffsetPixels,
        disparityQ4: Int16Array.from(disparity.data, (value) => Math.round(16 * value)),
        confidence: new Uint8Array(width * height).fill(255),
        fill: false,
        millimetres: new Uint16Array(others),
        registeredConfidence: new Uint8Array(others),
        pixels: patternOf(camera),
        points,
        pointBytes: 16,
      };
      stage(call, view);
      const project = projector(camera, rectification);
      const counts = {
        coloured: 0,
        wrong: 0,
        hidden: 0,
        hiddenWithColour: 0,
        outside: 0,
        outsideWithColour: 0,
      };
      let [seen, seenWithColour] = [0, 0];
      for (let y = 0; y < height; y++)
        for (let x = 0; x < width; x++) {
          const i = y * width + x;
          const metres = (focalPixels * baselineMetres) / (disparity.data[i]! + disparityOffsetPixels);
          const [u, v, depth] = project(x, y, metres);
          const [blue, green, red, has] = points.subarray(16 * i + 12, 16 * i + 16);
          if (has !== 0 && has !== 255) counts.wrong++;
          if (u < -1.5 || v < -1.5 || u > view.width + 0.5 || v > view.height + 0.5) {
            counts.outside++;
            if (has === 255) counts.outsideWithColour++;
            continue;
          }
          // A sixteenth of a pixel of disparity moves a point by less than a pixel.
          const far = (value: number) => Math.abs(((value + 0.5) % SQUARE) - SQUARE / 2) < SQUARE / 2 - 1.5;
          const [column, row] = [Math.round(u), Math.round(v)];
          if (!(column > 1 && row > 1 && column < view.width - 2 && row < view.height - 2)) continue;
          // A pixel of error at an edge makes neither of a hidden point nor of a seen one the other.
          let [min, max] = [Number.POSITIVE_INFINITY, 0];
          for (let dy = -2; dy <= 2; dy += 2)
            for (let dx = -2; dx <= 2; dx += 2) {
              const share = truth.data[(row + dy) * view.width + column + dx]! / depth;
              min = Math.min(min, share);
              max = Math.max(max, share);
            }
          if (max < 0.9) {
            counts.hidden++;
            if (has === 255) counts.hiddenWithColour++;
          } else if (min > 0.98 && max < 1.02) {
            seen++;
            if (has === 255) seenWithColour++;
          }
          if (has !== 255 || !far(u) || !far(v)) continue;
          counts.coloured++;
          const expected = squareColour(Math.floor((u + 0.5) / SQUARE), Math.floor((v + 0.5) / SQUARE));
          if (red !== expected[0] || green !== expected[1] || blue !== expected[2]) counts.wrong++;
        }
      console.info(camera.name, JSON.stringify({ ...counts, seen, seenWithColour }));
      expect(counts.coloured).toBeGreaterThan(40_000);
      expect(counts.wrong).toBe(0);
      // The fisheye lens sees all that the pair sees.
      expect(counts.outside).toBeGreaterThan(camera === RGB ? 500 : -1);
      expect(counts.outsideWithColour).toBe(0);
      expect(counts.hidden).toBeGreaterThan(1000);
      expect(counts.hiddenWithColour).toBe(0);
      expect(seenWithColour / seen).toBeGreaterThan(0.995);
    } finally {
      renderer.close();
    }
  },
);

/** A camera of another size than the images of the golden cases, whose image is the left one shifted. */
const BESIDE = {
  camera: "rgb",
  width: 120,
  height: 80,
  // biome-ignore format: one row of the matrix per line
  matrix: Float64Array.of(
    1.2, 0.02, 1, -0.4,
    -0.02, 1.2, 2, 0.2,
    0.0002, 0, 1, 0.001,
  ),
};

describe.each(variants)("an engine, %s", (instructionSet) => {
  test.each([
    ["RGB8", 3, "float32"],
    ["GREY", 1, "int16"],
  ] as const)(
    "%s: points have the stage's colours, and without an image none",
    async (format, bytes, element) => {
      const { options: whole, pair } = engineCases["from YUYV, rectified"]!;
      const strideBytes = bytes * BESIDE.width + 5;
      const points = { frame: "camera", element, colours: "registered", cx: 40, cy: 18 } as const;
      const registration = { ...BESIDE, fill: false, image: { format, strideBytes } };
      const engine = createEngine({ ...whole, backend: "cpu", instructionSet, points, registration });
      try {
        const image = new Random(4).fill(new Uint8Array(strideBytes * BESIDE.height), 0, 255);
        await engine.compute(pair.left, pair.right, image);
        const slot = engine.slots[0]!;
        const { width, height, geometry } = whole;
        const pixels = Uint8Array.from({ length: bytes * BESIDE.width * BESIDE.height }, (_, i) => {
          const perRow = bytes * BESIDE.width;
          return image[Math.floor(i / perRow) * strideBytes + (i % perRow)]!;
        });
        expectSameImage(slot.registeredImage, pixels, bytes * BESIDE.width, "the image");
        const pointBytes = element === "float32" ? 16 : 10;
        const expected = slot.points.slice();
        const call = {
          variant: "reference",
          width,
          height,
          ...geometry,
          fill: false,
          pixels,
          pointBytes,
          disparityQ4: slot.disparityQ4,
          confidence: slot.confidence,
          millimetres: new Uint16Array(BESIDE.width * BESIDE.height),
          registeredConfidence: new Uint8Array(BESIDE.width * BESIDE.height),
          points: expected,
        };
        stage(call, BESIDE);
        expectSameImage(slot.points, expected, pointBytes * width, "points");
        const flags = () =>
          Array.from({ length: width * height }, (_, i) => slot.points[(i + 1) * pointBytes - 1]);
        expect(flags().filter((flag) => flag === 255).length).toBeGreaterThan(500);
        await engine.compute(pair.left, pair.right);
        expect(new Set(flags())).toEqual(new Set([0]));
      } finally {
        engine.close();
      }
    },
  );
});

test("points of a third camera without its images, and images that are too short, are refused", async () => {
  const { options: whole, pair } = engineCases["from YUYV, rectified"]!;
  const points = { frame: "camera", element: "float32", colours: "registered", cx: 40, cy: 18 } as const;
  const registration = { ...BESIDE, fill: false };
  expect(() => createEngine({ ...whole, backend: "cpu", points, registration })).toThrow(
    expect.objectContaining({
      code: "ENGINE_PARAMETER",
      message: expect.stringContaining("need its images"),
    }),
  );
  const image = { format: "RGB8", strideBytes: 100 } as const;
  expect(() =>
    createEngine({ ...whole, backend: "cpu", points, registration: { ...registration, image } }),
  ).toThrow(
    expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("120 pixels") }),
  );
  const wide = { ...registration, image: { ...image, strideBytes: 360 } };
  const engine = createEngine({ ...whole, backend: "cpu", points, registration: wide });
  try {
    await expect(engine.compute(pair.left, pair.right, new Uint8Array(360 * 80 - 1))).rejects.toThrow(
      expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringContaining("28800 bytes") }),
    );
  } finally {
    engine.close();
  }
});

test("the colours of the scene's third camera are those of the left camera's image of the same points", async () => {
  const run = await startSmallRun(
    ["points", "left"],
    "source.synthetic.other=true",
    "registration.camera=rgb",
    "points.colour=registered",
    "outputs.mqtt.points.enabled=true",
    "outputs.mqtt.left.enabled=true",
    "outputs.mqtt.left.encoding=raw",
  );
  try {
    const [cloud, left] = await run.waitForBoth("points", "left");
    expect(cloud.header).toMatchObject({ element: "f32", width: 160, height: 96, points: { colour: "rgb" } });
    const { body } = cloud;
    const differences: number[] = [];
    for (let i = 0; i < 160 * 96; i++) {
      const [blue, green, red, has] = body.subarray(16 * i + 12, 16 * i + 16);
      if (has !== 255) continue;
      const grey = 0.299 * red! + 0.587 * green! + 0.114 * blue!;
      differences.push(Math.abs(grey - left.body[i]!));
    }
    differences.sort((a, b) => a - b);
    expect(differences.length).toBeGreaterThan(0.6 * 160 * 96);
    expect(differences[differences.length >> 1]).toBeLessThan(12);
  } finally {
    await run.close();
  }
}, 60_000);

test("the scene's third camera is not taken away while it colours the points, and comes back with another size", async () => {
  const run = await startSmallRun(
    ["points"],
    "source.synthetic.other=true",
    "registration.camera=rgb",
    "points.colour=registered",
    "outputs.mqtt.points.enabled=true",
  );
  const isColoured = ({ body }: ReceivedFrame) => {
    for (let at = 12; at < body.length; at += 16)
      if (body[at + 3] === 255 && body[at] !== body[at + 2]) return true;
    return false;
  };
  try {
    expect(isColoured(await run.waitFor("points"))).toBe(true);
    await expect(run.runtime.apply({ "source.synthetic.other": false })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("registration.camera"),
    });
    await run.runtime.apply({ "source.synthetic.width": 192 });
    expect(isColoured(await run.waitFor("points", { width: 192 }))).toBe(true);
  } finally {
    await run.close();
  }
}, 60_000);
