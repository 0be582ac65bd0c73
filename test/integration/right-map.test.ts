// SPDX-License-Identifier: Apache-2.0
// An engine whose right map is exchanged between frames computes what one computes that was opened with that map, and back again.
import { expect, test } from "vitest";
import { rotationMatrix, SceneRenderer, sceneCalibration, turnMap } from "../../camera/index.js";
import { createEngine, type EngineOptions } from "../../cuda/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { rectifiedGeometry } from "../../edge/pipeline/geometry.js";
import { expectSameImage } from "../doubles/stages.js";

const DEGREES = 180 / Math.PI;
const SIZE = { width: 240, height: 160 };

test.each(["auto", 0, 0.5] as const)("with a vertical offset of %s", async (verticalOffset) => {
  const renderer = new SceneRenderer(loadNative(), { ...SIZE, turnedDegrees: [0.2, 0, 0.4] });
  const { left, right } = await renderer.frame(0);
  renderer.close();
  const { maps, rig } = rectifiedGeometry(sceneCalibration(SIZE), 0);
  const { focalPixels, cx, cy } = rig!.rectification;
  const turned = await turnMap({
    ...SIZE,
    inputWidth: SIZE.width,
    inputHeight: SIZE.height,
    map: maps!.rightMap,
    focalPixels,
    cx,
    cy,
    rotation: Float64Array.from(rotationMatrix([0.2 / DEGREES, 0, 0.4 / DEGREES])),
  });
  const options: EngineOptions = {
    ...SIZE,
    inputWidth: SIZE.width,
    inputHeight: SIZE.height,
    leftFormat: "GREY",
    rightFormat: "GREY",
    leftStrideBytes: SIZE.width,
    rightStrideBytes: SIZE.width,
    ...maps!,
    verticalOffset,
    match: { algorithm: "sgm", halfResolution: false, minDisparity: 0, numDisparities: 48, parameters: {} },
    refine: {
      leftRight: true,
      speckleSize: 60,
      speckleRange: 0.75,
      fill: "off",
      fillThreshold: 6,
      boundary: false,
      median: true,
    },
    backend: "cpu",
    threads: 1,
    slots: 2,
  };
  const frame = async (engine: ReturnType<typeof createEngine>) => {
    await engine.compute(left.data as Uint8Array, right.data as Uint8Array);
    return engine.slots[0]!.disparityQ4.slice();
  };
  const fresh = async (rightMap: Int32Array) => {
    const engine = createEngine({ ...options, rightMap });
    const disparity = await frame(engine);
    engine.close();
    return disparity;
  };
  const [asOpened, asTurned] = [await fresh(maps!.rightMap), await fresh(turned)];
  const engine = createEngine(options);
  const expectFrame = (got: Int16Array, expected: Int16Array, what: string) =>
    expectSameImage(got, expected, SIZE.width, what);
  expectFrame(await frame(engine), asOpened, "before");
  engine.setRightMap(turned);
  const exchanged = await frame(engine);
  expectFrame(exchanged, asTurned, "exchanged");
  const valid = (disparity: Int16Array) => disparity.filter((one) => one !== -32768).length;
  if (verticalOffset === 0) expect(valid(exchanged)).toBeGreaterThan(valid(asOpened));
  engine.setRightMap(maps!.rightMap);
  expectFrame(await frame(engine), asOpened, "back again");
  expect(() => engine.setRightMap(new Int32Array(8))).toThrow(/Expected a right map of 76800 values/);
  engine.close();
});
