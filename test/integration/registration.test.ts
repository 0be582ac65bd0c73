// SPDX-License-Identifier: Apache-2.0
// Depth in another camera's image against the rendered scene's exact depth there: pose, lens and size of a camera next to the pair.
import sharp from "sharp";
import { describe, expect, test } from "vitest";
import {
  type OtherCamera,
  parseStereoCalibration,
  rectify,
  registrationView,
  rotationMatrix,
  sceneCalibration,
  stringifyCalibration,
  withHash,
} from "../../camera/index.js";
import { createEngine } from "../../cuda/index.js";
import { FISHEYE, RGB, registrationErrors } from "../doubles/registration-errors.mjs";
import { startSmallRun } from "../doubles/small-run.js";
import { expectSameImage, native, variants } from "../doubles/stages.js";
import { engineCases, hashResult } from "../golden/engine-cases.mjs";

const stage = native.stages.registration as unknown as (call: object, camera: object) => string;

const options = { width: 640, height: 480, view: "rectified" } as const;
const withOthers = (others: OtherCamera[]) => withHash({ ...sceneCalibration(options), others });

test.each([RGB, FISHEYE])("the projection agrees with the scene's exact depth, $name", async (camera) => {
  const { share, wrong, median } = await registrationErrors(camera);
  console.info(
    `${camera.name}: ${(100 * share).toFixed(1)} % of pixels have depth, median error ` +
      `${(100 * median).toFixed(2)} %, ${(100 * wrong).toFixed(2)} % wrong by more than 5 %`,
  );
  // The fisheye lens sees more than the pair does.
  expect(share).toBeGreaterThan(camera === RGB ? 0.7 : 0.2);
  // A sixteenth of a pixel of some tens, and half a pixel of slanted surfaces.
  expect(median).toBeLessThan(0.01);
  expect(wrong).toBeLessThan(0.05);
});

test("the calibration file keeps other cameras, and their hash", () => {
  const calibration = withOthers([RGB, FISHEYE]);
  const read = parseStereoCalibration(stringifyCalibration(calibration), "cameras.json").calibration;
  expect(read.others).toEqual(calibration.others);
  expect(read.hash).toBe(calibration.hash);
  expect(read.hash).not.toBe(sceneCalibration(options).hash);
});

test("an unknown camera, and one that is turned away, are refused with codes", () => {
  const rectification = rectify(withOthers([RGB]));
  expect(() => registrationView(withOthers([RGB]), rectification, "thermal")).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID", message: expect.stringContaining("right, rgb") }),
  );
  const away = { ...RGB, R: rotationMatrix([0, Math.PI, 0]) };
  expect(() => registrationView(withOthers([away]), rectification, "rgb")).toThrow(
    expect.objectContaining({ code: "CALIBRATION_INVALID", message: expect.stringContaining("found none") }),
  );
});

/** A camera next to the pair of a golden case, larger than its images, with a lens. */
const BESIDE = (() => {
  const [gridX, gridY, gridWidth, gridHeight] = [-512, -512, 24, 20];
  const grid = Int32Array.from({ length: 2 * gridWidth * gridHeight }, (_, at) => {
    const node = at >> 1;
    const [x, y] = [gridX + 256 * (node % gridWidth), gridY + 256 * Math.floor(node / gridWidth)];
    return at % 2 === 0 ? x + Math.round((y * y) / 9000) : y - Math.round((x * x) / 9000);
  });
  // biome-ignore format: one row of the matrix per line
  const matrix = Float64Array.of(
    1.2, 0.02, 1, -0.4,
    -0.02, 1.2, 2, 0.2,
    0.0002, 0, 1, 0.001,
  );
  return { camera: "rgb", width: 120, height: 80, matrix, grid, gridX, gridY, gridWidth, gridHeight };
})();

describe.each(variants)("an engine, %s", (instructionSet) => {
  test.each(["from YUYV, rectified", "a region at half resolution", "sad"])(
    "%s: depth in another camera is the stage's of its disparity, and nothing else changes",
    async (name) => {
      const { options: whole, pair } = engineCases[name]!;
      const results: string[] = [];
      for (const fill of [undefined, false, true]) {
        const engine = createEngine({
          ...whole,
          backend: "cpu",
          instructionSet,
          ...(fill !== undefined && { registration: { ...BESIDE, fill } }),
        });
        try {
          await engine.compute(pair.left, pair.right);
          const result = await engine.compute(pair.left, pair.right);
          const { registered, registeredConfidence, disparityQ4, confidence } = engine.slots[0]!;
          results.push(hashResult(engine.slots[0]!, result));
          if (fill === undefined) {
            expect([registered.length, registeredConfidence.length]).toEqual([0, 0]);
            continue;
          }
          const out = {
            millimetres: new Uint16Array(BESIDE.width * BESIDE.height),
            registeredConfidence: new Uint8Array(BESIDE.width * BESIDE.height),
          };
          const { width, height, geometry } = whole;
          stage(
            { variant: "reference", width, height, ...geometry, disparityQ4, confidence, fill, ...out },
            BESIDE,
          );
          expect(new Set(out.millimetres).size).toBeGreaterThan(5);
          expectSameImage(registered, out.millimetres, BESIDE.width, "depth");
          expectSameImage(registeredConfidence, out.registeredConfidence, BESIDE.width, "confidence");
        } finally {
          engine.close();
        }
      }
      expect(new Set(results).size).toBe(1);
    },
  );
});

test("registration without a geometry is refused", () => {
  const { geometry: _, encodeDepth: __, ...whole } = engineCases["from YUYV, rectified"]!.options;
  expect(() => createEngine({ ...whole, backend: "cpu", registration: { ...BESIDE, fill: false } })).toThrow(
    expect.objectContaining({ code: "ENGINE_PARAMETER" }),
  );
});

test.each(["raw", "jpeg"])(
  "registered/right and its confidence arrive as frames of their topics, %s",
  async (encoding) => {
    const run = await startSmallRun(
      ["registered", "registeredConfidence"],
      "registration.camera=right",
      "outputs.mqtt.registered.enabled=true",
      "outputs.mqtt.registered.confidence=true",
      `outputs.mqtt.registered.encoding=${encoding}`,
    );
    try {
      const depth = await run.waitFor("registered");
      const confidence = await run.waitFor("registeredConfidence");
      const [element, quantity] = encoding === "raw" ? ["u16", "depthMetres"] : ["rgb8", "colourValue"];
      expect(depth.header).toMatchObject({ encoding, width: 160, height: 96, element, quantity });
      expect(confidence.header).toMatchObject({
        width: 160,
        height: 96,
        element: "u8",
        quantity: "confidence",
      });
      if (encoding === "jpeg") {
        const { data, info } = await sharp(depth.body).raw().toBuffer({ resolveWithObject: true });
        expect(info).toMatchObject({ width: 160, height: 96, channels: 3 });
        expect((await sharp(confidence.body).stats()).channels[0]!.max).toBeGreaterThan(200);
        // Colours of most pixels, black where nothing is known.
        const bright = data.filter((_, i) => i % 3 === 0 && Math.max(...data.subarray(i, i + 3)) > 60).length;
        expect(bright).toBeGreaterThan(0.5 * 160 * 96);
        return;
      }
      const metres = depth.values().filter((value) => !Number.isNaN(value));
      expect(metres.length).toBeGreaterThan(0.5 * 160 * 96);
      expect(Math.min(...metres)).toBeGreaterThan(0.5);
    } finally {
      await run.close();
    }
  },
  60_000,
);
