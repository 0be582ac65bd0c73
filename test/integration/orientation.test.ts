// SPDX-License-Identifier: Apache-2.0
// Pairs that are turned or mirrored give the bits of the straight pair with rig.orientation: calibrated and not, grey and in colours,
// with a vertical offset, in calibrate's grey images.
import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import { ORIENTATIONS, orientPair, SceneRenderer, sceneCalibration } from "../../camera/index.js";
import { createEngine } from "../../cuda/index.js";
import { loadConfig } from "../../edge/config/index.js";
import { loadNative } from "../../edge/contracts/native.js";
import { engineOptionsFrom } from "../../edge/pipeline/engine-options.js";
import { configuredGeometry } from "../../edge/pipeline/geometry.js";

type Orientation = (typeof ORIENTATIONS)[number];

const UPRIGHT = { width: 240, height: 160 };
/** Place in the upright image of a captured pixel, by hand: w and h are the upright size. */
const PLACE: Record<Orientation, (u: number, v: number, w: number, h: number) => [x: number, y: number]> = {
  none: (u, v) => [u, v],
  rotate90: (u, v, w) => [w - 1 - v, u],
  rotate180: (u, v, w, h) => [w - 1 - u, h - 1 - v],
  rotate270: (u, v, _, h) => [v, h - 1 - u],
  mirror: (u, v, w) => [w - 1 - u, v],
  flip: (u, v, _, h) => [u, h - 1 - v],
};
const capturedSize = (orientation: Orientation) =>
  /90|270/.test(orientation) ? { width: UPRIGHT.height, height: UPRIGHT.width } : UPRIGHT;

/** The image that a turned camera captures of what an upright one sees. */
function captured(upright: Uint8Array, orientation: Orientation, bytes: number): Uint8Array {
  const { width, height } = capturedSize(orientation);
  const result = new Uint8Array(upright.length);
  for (let v = 0; v < height; v++)
    for (let u = 0; u < width; u++) {
      const [x, y] = PLACE[orientation](u, v, UPRIGHT.width, UPRIGHT.height);
      for (let i = 0; i < bytes; i++)
        result[(v * width + u) * bytes + i] = upright[(y * UPRIGHT.width + x) * bytes + i]!;
    }
  return result;
}

const renderer = new SceneRenderer(loadNative(), { ...UPRIGHT, turnedDegrees: [0.2, 0, 0.4] });
const scene = await renderer.frame(0);
renderer.close();
const grey = { left: scene.left.data as Uint8Array, right: scene.right.data as Uint8Array };
/** Three different bytes a pixel. */
const coloured = (data: Uint8Array) =>
  Uint8Array.from({ length: 3 * data.length }, (_, i) => data[Math.trunc(i / 3)]! >> (i % 3));

const digest = (data: Uint8Array | Int16Array) => createHash("sha1").update(data).digest("hex");

interface Case {
  left: Orientation;
  right: Orientation;
  calibrated: boolean;
  colours?: boolean;
  verticalOffset?: number | "auto";
}

async function disparity({ left, right, calibrated, colours = false, verticalOffset = 0 }: Case) {
  const size = capturedSize(left);
  const bytes = colours ? 3 : 1;
  const set = [
    `rig.orientation=${left},${right}`,
    `rectify.verticalOffset=${verticalOffset}`,
    "engine.backend=cpu",
    "match.numDisparities=48",
  ];
  const { config } = loadConfig({ set, environment: {} });
  const geometry = configuredGeometry(config, size, calibrated ? sceneCalibration(UPRIGHT) : undefined);
  expect(geometry).toMatchObject(UPRIGHT);
  const format = colours ? "RGB8" : "GREY";
  const strideBytes = bytes * size.width;
  const description = {
    ...size,
    leftFormat: format,
    rightFormat: format,
    leftStrideBytes: strideBytes,
    rightStrideBytes: strideBytes,
  } as const;
  const engine = createEngine(engineOptionsFrom(config, { description }, geometry, { leftRgb: colours }));
  const of = (data: Uint8Array) => (colours ? coloured(data) : data);
  const pair = [captured(of(grey.left), left, bytes), captured(of(grey.right), right, bytes)] as const;
  // The offset is estimated from the first pair.
  await engine.compute(...pair);
  await engine.compute(...pair);
  const slot = engine.slots[0]!;
  const result = {
    disparity: digest(slot.disparityQ4),
    rgb: digest(slot.leftRgb),
    matched: slot.confidence.filter((one) => one > 0).length,
  };
  engine.close();
  return result;
}

const CASES = [
  { calibrated: true, verticalOffset: "auto" },
  { calibrated: false, verticalOffset: -0.75, colours: true },
] as const;
const straight = CASES.map((rest) => disparity({ left: "none", right: "none", ...rest }));
const ALL = ORIENTATIONS.slice(1).map((one) => [one, one] as const);
const ONE_SIDE = (["rotate180", "mirror", "flip"] as const).map((one) => ["none", one] as const);

test.each([...ALL, ...ONE_SIDE, ["rotate90", "rotate270"] as const])(
  "a left image that needs %s and a right one that needs %s have the straight pair's bits",
  async (left, right) => {
    for (const [i, rest] of CASES.entries()) {
      const turned = await disparity({ left, right, ...rest });
      expect(turned.matched).toBeGreaterThan(5000);
      expect(turned).toEqual(await straight[i]);
    }
  },
);

test("grey images for calibrate are turned alike", () => {
  for (const one of ORIENTATIONS) {
    const image = { ...capturedSize(one), data: captured(grey.left, one, 1) };
    const { left, right } = orientPair({ left: image, right: image }, { left: one, right: one });
    expect(left).toMatchObject(UPRIGHT);
    expect(digest(left.data as Uint8Array)).toBe(digest(grey.left));
    expect(digest(right.data as Uint8Array)).toBe(digest(grey.left));
  }
});

test("a calibration of the other way up is refused", () => {
  const { config } = loadConfig({ set: ["rig.orientation=rotate90"], environment: {} });
  expect(() => configuredGeometry(config, UPRIGHT, sceneCalibration(UPRIGHT))).toThrow(
    expect.objectContaining({
      code: "CALIBRATION_SIZE_MISMATCH",
      message:
        "Expected a calibration of 160x240 (one image of 240x160 with rig.orientation rotate90), got 240x160.",
    }),
  );
});

test.each(["rotate", "none,rotate90", "none,none,none", ""])("rig.orientation %j is refused", (text) => {
  expect(() => loadConfig({ set: [`rig.orientation=${text}`], environment: {} })).toThrow(
    expect.objectContaining({ code: "CONFIG_INVALID" }),
  );
});
