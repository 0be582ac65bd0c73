// SPDX-License-Identifier: Apache-2.0
// The engine's options from settings, images and a calibration: everything that is passed on, and everything that is refused.
import { describe, expect, test } from "vitest";
import { withHash } from "../../../camera/calibration/index.js";
import { identityMap, sceneCalibration } from "../../../camera/index.js";
import { loadConfig } from "../../../edge/config/index.js";
import {
  type EngineWishes,
  engineOptionsFrom,
  type ImageLayout,
} from "../../../edge/pipeline/engine-options.js";
import {
  configuredGeometry,
  type PipelineGeometry,
  rectifiedGeometry,
  uncalibrated,
} from "../../../edge/pipeline/geometry.js";
import { forcedInstructionSet, regionParameters } from "../../../edge/pipeline/parameters.js";

const SIZE = { width: 64, height: 48 };
const LAYOUT: ImageLayout = {
  ...SIZE,
  leftFormat: "GREY",
  rightFormat: "Y16",
  leftStrideBytes: 80,
  rightStrideBytes: 160,
};
const PLAIN = uncalibrated(SIZE.width, SIZE.height);
const CALIBRATION = sceneCalibration({ ...SIZE, view: "rectified" });
const THERMAL = {
  ...CALIBRATION.left,
  name: "thermal",
  imageSize: { width: 32, height: 24 },
  R: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  T: [0.1, 0, 0],
};
const RIGGED = rectifiedGeometry(withHash({ ...CALIBRATION, others: [THERMAL] } as never), 0);

const configWith = (...set: string[]) => loadConfig({ environment: {}, set: ["board=none", ...set] }).config;
function options(
  set: readonly string[],
  {
    layout = {},
    geometry = PLAIN,
    wishes,
    more = {},
  }: {
    layout?: Partial<ImageLayout>;
    geometry?: PipelineGeometry;
    wishes?: EngineWishes;
    more?: object;
  } = {},
) {
  const config = configWith(...set);
  const source = { description: { ...LAYOUT, ...layout }, ...more };
  const made =
    wishes === undefined
      ? engineOptionsFrom(config, source, geometry)
      : engineOptionsFrom(config, source, geometry, wishes);
  return { config, made };
}
const refusal = (code: string, message: RegExp) =>
  expect.objectContaining({ code, message: expect.stringMatching(message) });

describe("without a calibration", () => {
  test("the options are those of the settings and of the images, with two slots", () => {
    const { config, made } = options(["match.numDisparities=32", "engine.threads=3", "rectify.blackLevel=5"]);
    const { p1, ...parameters } = config.match.sgm;
    expect(made).toEqual({
      inputWidth: 64,
      inputHeight: 48,
      width: 64,
      height: 48,
      leftFormat: "GREY",
      rightFormat: "Y16",
      leftStrideBytes: 80,
      rightStrideBytes: 160,
      match: {
        algorithm: "sgm",
        minDisparity: 0,
        numDisparities: 32,
        halfResolution: false,
        parameters: { ...parameters, p1 },
      },
      refine: config.refine,
      depth: config.depth,
      verticalOffset: "auto",
      blackLevel: 5,
      denoise: config.match.denoise,
      average: config.match.average,
      slots: 2,
      ...config.engine,
      ...forcedInstructionSet(),
    });
    expect(made.threads).toBe(3);
  });

  test("what outputs need is passed on; colours only if the images have them", () => {
    const wishes: EngineWishes = { slots: 5, encodeDepth: "rvl" as never, rightGrey: true, leftRgb: true };
    expect(options([], { wishes }).made).toMatchObject({ slots: 5, encodeDepth: "rvl", rightGrey: true });
    expect(options([], { wishes }).made).not.toHaveProperty("leftRgb");
    expect(options([], { wishes, layout: { leftFormat: "RGB8" } }).made).toMatchObject({ leftRgb: true });
    expect(options([], { wishes: {}, layout: { leftFormat: "RGB8" } }).made).not.toHaveProperty("leftRgb");
    const inputMemory = { kind: "test" };
    expect(options([], { more: { inputMemory } }).made).toMatchObject({ inputMemory });
  });

  test.each([
    ["depth.minMetres=0.5", "depth.minMetres = 0.5"],
    ["depth.maxMetres=4", "depth.maxMetres = 4"],
  ])("%s is refused", (set, text) => {
    expect(() => options([set])).toThrow(
      refusal("CALIBRATION_MISSING", new RegExp(`^${text} needs the focal length and the baseline`)),
    );
    expect(options([set], { geometry: RIGGED }).made.depth).toEqual(configWith(set).depth);
  });

  test("points, voxels and another camera are refused", () => {
    for (const wishes of [{ points: true }, { voxels: true }] as const)
      expect(() => options([], { wishes })).toThrow(
        refusal("CALIBRATION_MISSING", /^points need the focal length/),
      );
    // Without an output that asks for it, no camera is looked for.
    const camera = "registration.camera=thermal";
    expect(options([camera]).made).not.toHaveProperty("registration");
    expect(() => options([camera], { wishes: { registration: true } })).toThrow(
      refusal("CALIBRATION_MISSING", /^registration\.camera = thermal needs a calibration with that camera/),
    );
    expect(options([], { wishes: { registration: true } }).made).not.toHaveProperty("registration");
  });
});

describe("with a calibration", () => {
  const { cx, cy, focalPixels, baselineMetres, disparityOffsetPixels } = RIGGED.rig!.rectification;

  test("the maps and the geometry of depth are passed on", () => {
    const { made } = options([], { geometry: RIGGED });
    expect(made).toMatchObject({
      width: RIGGED.width,
      height: RIGGED.height,
      leftMap: RIGGED.maps!.leftMap,
      rightMap: RIGGED.maps!.rightMap,
      geometry: { focalPixels, baselineMetres, disparityOffsetPixels },
    });
    for (const key of ["points", "voxels", "registration", "region"]) expect(made).not.toHaveProperty(key);
  });

  test.each([
    [["points.element=int16"], "GREY", { frame: "camera", element: "int16", colours: false }],
    [
      ["points.colour=rgb", "points.frame=camera"],
      "RGB8",
      { frame: "camera", element: "float32", colours: true },
    ],
    [["points.colour=rgb"], "YUYV", { frame: "camera", element: "float32", colours: true }],
  ] as const)("points of %j in %s images", (set, leftFormat, points) => {
    const { made } = options(set, { geometry: RIGGED, wishes: { points: true }, layout: { leftFormat } });
    expect(made.points).toEqual({ ...points, cx, cy });
  });

  test("points in colours of grey images are refused", () => {
    expect(() => options(["points.colour=rgb"], { geometry: RIGGED, wishes: { points: true } })).toThrow(
      refusal(
        "CONFIG_INVALID",
        /^points\.colour: expected grey, because the left image \(GREY\) has no colours, got rgb$/,
      ),
    );
    // Without points the colour has no effect.
    expect(options(["points.colour=rgb"], { geometry: RIGGED }).made).not.toHaveProperty("points");
  });

  test("voxels have the settings, the axes of points and the principal point", () => {
    const set = ["points.frame=robot"];
    const { made, config } = options(set, { geometry: RIGGED, wishes: { voxels: true } });
    expect(made.voxels).toEqual({ ...config.voxels, frame: "robot", cx, cy });
  });

  test("another camera: its place, its images if the source delivers them, and its name in any case", () => {
    const camera = "registration.camera=thermal";
    const other = { format: "RGB8", width: 32, height: 24, strideBytes: 100 } as never;
    const registration = { geometry: RIGGED, wishes: { registration: true } } as const;
    const without = options([camera], registration).made.registration!;
    expect(without).toMatchObject({ width: 32, height: 24, fill: configWith().registration.fill });
    expect(without).not.toHaveProperty("image");
    const withImages = options([camera], { ...registration, layout: { other } }).made.registration;
    expect(withImages).toEqual({ ...without, image: { format: "RGB8", strideBytes: 100 } });
    for (const [width, height] of [
      [33, 24],
      [32, 25],
    ])
      expect(() =>
        options([camera], {
          ...registration,
          layout: { other: { format: "GREY", width, height, strideBytes: 40 } as never },
        }),
      ).toThrow(
        refusal(
          "CALIBRATION_SIZE_MISMATCH",
          new RegExp(`^expected images of 32x24 of the camera thermal, .* delivers ${width}x${height}$`),
        ),
      );
    // The right camera needs no further images: the pair has them.
    const right = options(["registration.camera=right"], { ...registration, layout: { other } }).made;
    expect(right.registration).not.toHaveProperty("image");
    expect(() => options(["registration.camera=none"], { geometry: RIGGED })).toThrow(/none/);
    expect(options([camera], { geometry: RIGGED }).made).not.toHaveProperty("registration");
  });

  test("points in the colours of another camera need its images", () => {
    const set = ["registration.camera=thermal", "points.colour=registered"];
    const wishes = { points: true } as const;
    expect(() => options(set, { geometry: RIGGED, wishes })).toThrow(
      refusal(
        "CONFIG_INVALID",
        /^points\.colour: expected grey or rgb, because the source delivers no images of another camera, got registered$/,
      ),
    );
    const other = { format: "RGB8", width: 32, height: 24, strideBytes: 96 } as never;
    const { made } = options(set, { geometry: RIGGED, wishes, layout: { other } });
    expect([made.points!.colours, made.registration?.image]).toEqual([
      "registered",
      { format: "RGB8", strideBytes: 96 },
    ]);
  });
});

describe("images that bring their disparity", () => {
  const layout = { rightFormat: "GREY_DISPARITY" } as const;
  const identity = () => ({ leftMap: identityMap(64, 48), rightMap: identityMap(64, 48) });

  test("are not rectified, prepared or halved", () => {
    const { made } = options(["match.halfResolution=true"], {
      layout,
      geometry: { ...PLAIN, maps: identity() },
    });
    expect(made.match.halfResolution).toBe(false);
    for (const key of ["leftMap", "rightMap", "verticalOffset", "denoise"])
      expect(made).not.toHaveProperty(key);
    expect(options([], { layout }).made).not.toHaveProperty("leftMap");
  });

  test.each([
    ["left", 0],
    ["left", 2 * 64 * 48 - 1],
    ["right", 2 * 64 * 48 - 2],
    ["right", 129],
  ] as const)("are refused if the %s map moves a pixel, at %i", (side, at) => {
    const maps = identity();
    maps[`${side}Map`][at]! += 1;
    expect(() => options([], { layout, geometry: { ...PLAIN, maps } })).toThrow(
      refusal("CALIBRATION_INVALID", /^expected a calibration whose images are rectified/),
    );
    // Other images may be moved.
    expect(options([], { geometry: { ...PLAIN, maps } }).made.leftMap).toBe(maps.leftMap);
  });
});

test.each([
  [[0, 0, 0, 0], undefined],
  [
    [1, 0, 0, 0],
    [1, 0, 63, 48],
  ],
  [
    [0, 1, 0, 0],
    [0, 1, 64, 47],
  ],
  [
    [0, 0, 1, 0],
    [0, 0, 1, 48],
  ],
  [
    [0, 0, 0, 1],
    [0, 0, 64, 1],
  ],
  [
    [63, 47, 0, 0],
    [63, 47, 1, 1],
  ],
])("the region %j of 64 x 48 pixels is %j", ([x, y, width, height], expected) => {
  const region = expected && { x: expected[0], y: expected[1], width: expected[2], height: expected[3] };
  expect(regionParameters({ x, y, width, height } as never, SIZE)).toEqual(region ? { region } : {});
});

test("an instruction set that is forced is one of this CPU", () => {
  const before = process.env.DEPTHWATT_ISA;
  try {
    process.env.DEPTHWATT_ISA = "scalar";
    expect(forcedInstructionSet()).toEqual({ instructionSet: "scalar" });
    process.env.DEPTHWATT_ISA = "mmx";
    expect(forcedInstructionSet).toThrow(
      refusal(
        "CONFIG_INVALID",
        /^DEPTHWATT_ISA: expected an instruction set of this CPU \(.*scalar.*\), got "mmx"$/,
      ),
    );
    process.env.DEPTHWATT_ISA = "";
    expect(forcedInstructionSet()).toEqual({});
  } finally {
    if (before === undefined) delete process.env.DEPTHWATT_ISA;
    else process.env.DEPTHWATT_ISA = before;
  }
});

describe("the orientation of cameras", () => {
  const turned = (orientation: string) =>
    configuredGeometry(configWith(`rig.orientation=${orientation}`), { width: 4, height: 2 }, undefined);

  test("upright images without a calibration have no maps", () => {
    expect(turned("none")).toEqual(uncalibrated(4, 2));
  });

  test.each([
    // In 1/32 px: what each pixel of the upright image reads, x and y.
    ["rotate180", 4, 2, [96, 32]],
    ["mirror", 4, 2, [96, 0]],
    ["flip", 4, 2, [0, 32]],
  ] as const)("%s has maps of %i x %i, whose first pixel reads %j", (orientation, width, height, first) => {
    const { maps, ...geometry } = turned(orientation);
    expect(geometry).toMatchObject({ width, height });
    for (const map of [maps!.leftMap, maps!.rightMap]) {
      expect(map).toHaveLength(2 * width * height);
      expect([...map.subarray(0, 2)]).toEqual(first);
    }
  });

  test("one camera alone may be turned, and a quarter turn exchanges width and height", () => {
    const { maps } = turned("none,rotate180");
    expect([...maps!.leftMap]).toEqual([...identityMap(4, 2)]);
    expect([...maps!.rightMap.subarray(0, 2)]).toEqual([96, 32]);
    expect(turned("rotate180,none").maps!.leftMap[0]).toBe(96);
    expect(turned("rotate90")).toMatchObject({ width: 2, height: 4 });
  });
});
