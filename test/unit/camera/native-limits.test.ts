// SPDX-License-Identifier: Apache-2.0
// The limits of what camera/ accepts from JavaScript: the last value that is accepted at each end, and the first one that is
// refused.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { greyPairLayout, SceneRenderer, sceneSetup } from "../../../camera/index.js";
import type { NativeDetectCall, NativeSolveCall } from "../../../camera/rig/calibrate/native.js";
import type { NativeScene } from "../../../camera/scene/native.js";
import { loadNative } from "../../../edge/contracts/native.js";

const native = loadNative();
const identity = [1, 0, 0, 0, 1, 0, 0, 0, 1];

/** Returns "accepted" or the code of the error. Corners that fit no camera were accepted. */
async function verdict(attempt: () => unknown): Promise<string> {
  try {
    await attempt();
    return "accepted";
  } catch (error) {
    const { code } = error as { code?: string };
    return code === "ENGINE_FAILED" ? "accepted" : String(code ?? error);
  }
}

/** Tries both ends of a range of whole numbers and the numbers beyond them. */
async function expectRange(lowest: number, highest: number, attempt: (value: number) => unknown, step = 1) {
  const tried = [lowest - step, lowest, highest, highest + step];
  const verdicts: string[] = [];
  for (const value of tried) verdicts.push(await verdict(() => attempt(value)));
  expect(verdicts).toEqual(["ENGINE_PARAMETER", "accepted", "accepted", "ENGINE_PARAMETER"]);
}

describe("detectBoard", () => {
  const image = new Uint8Array(16 * 16385);
  const detect = (changes: Partial<NativeDetectCall>) =>
    native.detectBoard({
      image,
      width: 16,
      height: 16,
      pattern: 0,
      columns: 5,
      rows: 4,
      dictionary: 0,
      markerShare: 0.7,
      ...changes,
    });

  // No board has the dictionary 100: nothing is searched.
  test.each(["width", "height"])("%s is from 16 to 16384", (name) =>
    expectRange(16, 16384, (value) => detect({ [name]: value, pattern: 2, dictionary: 100 })),
  );

  test.each<[keyof NativeDetectCall, number, number]>([
    ["pattern", 0, 2],
    ["columns", 0, 64],
    ["rows", 0, 64],
    ["dictionary", 0, 100],
  ])("%s is from %i to %i", (name, lowest, highest) =>
    expectRange(lowest, highest, (value) => detect({ [name]: value })),
  );

  test("an image has a byte for each pixel", async () => {
    expect(await verdict(() => detect({ image: image.slice(0, 256) }))).toBe("accepted");
    expect(await verdict(() => detect({ image: image.slice(0, 255) }))).toBe("ENGINE_PARAMETER");
  });
});

describe("solveCalibration", () => {
  const count = 6;
  /** All corners are at one place: no camera sees a board like this. */
  const solve = (changes: Partial<NativeSolveCall>) =>
    native.solveCalibration({
      cameras: 2,
      cameraSpecs: Int32Array.of(0, 640, 480, 1, 320, 240),
      views: 3,
      robust: false,
      withoutK3: false,
      count,
      viewIndex: new Int32Array(count),
      cameraIndex: new Uint8Array(count),
      used: new Uint8Array(count).fill(1),
      objects: new Float64Array(3 * count),
      pixels: new Float64Array(2 * count),
      depthCount: 0,
      depthPoints: new Float64Array(0),
      disparityPixels: 0.25,
      ...changes,
    });

  test("there are 1 to 18 cameras, 1 to 100000 views, at most 10000 points and at least 4 corners", async () => {
    const cameraSpecs = Int32Array.from({ length: 3 * 19 }, (_, i) => [0, 64, 48][i % 3]!);
    await expectRange(1, 18, (cameras) => solve({ cameras, cameraSpecs }));
    await expectRange(1, 100_000, (views) => solve({ views }));
    await expectRange(0, 10_000, (depthCount) =>
      solve({ depthCount, depthPoints: new Float64Array(3 * 10_001) }),
    );
    expect(await verdict(() => solve({ count: 4 }))).toBe("accepted");
    expect(await verdict(() => solve({ count: 3 }))).toBe("ENGINE_PARAMETER");
    expect(await verdict(() => solve({ count: 4_000_001 }))).toBe("ENGINE_PARAMETER");
  });

  test("a camera has a model of 0 to 2 and 16 to 16384 pixels a side; the message names it and what was found", async () => {
    const spec = (place: number, value: number) =>
      Int32Array.of(0, 640, 480, 1, 320, 240).fill(value, place, place + 1);
    for (const first of [0, 3]) {
      await expectRange(0, 2, (model) => solve({ cameraSpecs: spec(first, model) }));
      await expectRange(16, 16384, (width) => solve({ cameraSpecs: spec(first + 1, width) }));
      await expectRange(16, 16384, (height) => solve({ cameraSpecs: spec(first + 2, height) }));
    }
    expect(() => solve({ cameraSpecs: spec(5, 15) })).toThrow(/camera 1: .* found model 1 and 320 x 15/);
  });

  test("a corner has a view, a camera and finite numbers; the message names it", async () => {
    for (const corner of [0, count - 1]) {
      const named = new RegExp(`corner ${corner}: .* a view below 3 and a camera below 2`);
      const at = <T extends Int32Array | Uint8Array | Float64Array>(array: T, place: number, value: number) =>
        array.fill(value, place, place + 1) as T;
      await expectRange(0, 2, (view) => solve({ viewIndex: at(new Int32Array(count), corner, view) }));
      expect(await verdict(() => solve({ cameraIndex: at(new Uint8Array(count), corner, 1) }))).toBe(
        "accepted",
      );
      expect(() => solve({ cameraIndex: at(new Uint8Array(count), corner, 2) })).toThrow(named);
      for (const value of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
        for (const axis of [0, 1, 2])
          expect(() => solve({ objects: at(new Float64Array(3 * count), 3 * corner + axis, value) })).toThrow(
            named,
          );
        for (const axis of [0, 1])
          expect(() => solve({ pixels: at(new Float64Array(2 * count), 2 * corner + axis, value) })).toThrow(
            named,
          );
      }
    }
  });

  test("every array is long enough", async () => {
    const short: Partial<NativeSolveCall>[] = [
      { cameraSpecs: new Int32Array(5) },
      { viewIndex: new Int32Array(count - 1) },
      { cameraIndex: new Uint8Array(count - 1) },
      { used: new Uint8Array(count - 1) },
      { objects: new Float64Array(3 * count - 1) },
      { pixels: new Float64Array(2 * count - 1) },
      { depthCount: 2, depthPoints: new Float64Array(5) },
    ];
    for (const changes of short)
      expect(await verdict(() => solve(changes)), Object.keys(changes)[0]).toBe("ENGINE_PARAMETER");
  });
});

describe("PairAligner", () => {
  const aligner = (changes: object) =>
    new native.PairAligner({
      ...greyPairLayout(32, 24),
      inputWidth: 32,
      inputHeight: 24,
      focalPixels: 100,
      cx: 16,
      cy: 12,
      maxWidth: 0,
      rows: 4,
      minDisparity: 0,
      maxDisparity: 32,
      ...changes,
    });

  test.each<[string, number, number]>([
    ["maxWidth", 0, 16384],
    ["rows", 1, 16384],
    ["minDisparity", -16384, 16384],
    ["maxDisparity", -16384, 16384],
  ])("%s is from %i to %i", (name, lowest, highest) =>
    expectRange(lowest, highest, (value) => aligner({ [name]: value }).close()),
  );

  test("images have 1 to 16384 pixels a side", async () => {
    const strides = { leftStrideBytes: 16385, rightStrideBytes: 16385 };
    await expectRange(1, 16384, (side) => aligner({ ...strides, width: side, inputWidth: side }).close());
    await expectRange(1, 16384, (side) => aligner({ ...strides, height: side, inputHeight: side }).close());
    // With maps, the captured images have another size than the rectified ones.
    const maps = (width: number, height: number) => {
      const map = new Int32Array(2 * width * height);
      return { width, height, leftMap: map, rightMap: map };
    };
    await expectRange(1, 16384, (side) => aligner({ ...strides, ...maps(side, 2) }).close());
    await expectRange(1, 16384, (side) => aligner({ ...strides, ...maps(2, side) }).close());
  });

  test("a look has 42 numbers, and images of every byte", async () => {
    const one = aligner({});
    const [image, numbers] = [new Uint8Array(32 * 24), new Float64Array(42)];
    expect(await verdict(() => one.look(image, image, numbers))).toBe("accepted");
    expect(await verdict(() => one.look(image, image, numbers.subarray(1)))).toBe("ENGINE_PARAMETER");
    expect(await verdict(() => one.take(numbers.subarray(1)))).toBe("ENGINE_PARAMETER");
    expect(one.take(numbers)).toBe(false);
    for (const [left, right] of [
      [image.subarray(1), image],
      [image, image.subarray(1)],
    ] as const) {
      expect(await verdict(() => one.look(left, right, numbers))).toBe("ENGINE_PARAMETER");
      expect(await verdict(() => one.begin(left, right))).toBe("ENGINE_PARAMETER");
    }
    one.close();
  });
});

describe("turnMap", () => {
  const turn = (changes: object) =>
    native.turnMap({
      map: new Int32Array(8),
      width: 2,
      height: 2,
      inputWidth: 9,
      inputHeight: 9,
      focalPixels: 20,
      cx: 1,
      cy: 1,
      rotation: Float64Array.of(1, 0, 0, 0, 1, 0, 0, 0, 1),
      ...changes,
    });
  const sized = (width: number, height: number) =>
    turn({ width, height, map: new Int32Array(Math.max(0, 2 * width * height)) });

  test("a map has 2 to 16384 entries a side, an image 1 to 16384 pixels", async () => {
    await expectRange(2, 16384, (width) => sized(width, 2));
    await expectRange(2, 16384, (height) => sized(2, height));
    await expectRange(1, 16384, (inputWidth) => turn({ inputWidth }));
    await expectRange(1, 16384, (inputHeight) => turn({ inputHeight }));
    const refused = [
      { map: new Int32Array(9) },
      { rotation: new Float64Array(8) },
      { focalPixels: 0 },
      { focalPixels: Number.NaN },
      ...identity.map((_, at) => ({ rotation: Float64Array.from(identity.with(at, Number.NaN)) })),
      { rotation: Float64Array.from(identity.with(4, Number.POSITIVE_INFINITY)) },
    ];
    for (const changes of refused)
      expect(await verdict(() => turn(changes)), JSON.stringify(changes)).toBe("ENGINE_PARAMETER");
  });
});

test("a rotation that puts places at infinity leaves every entry of the map within its limits", async () => {
  const map = Int32Array.from({ length: 2 * 5 * 5 }, (_, i) => 32 * (i % 7));
  const shape = { width: 5, height: 5, inputWidth: 6, inputHeight: 7, cx: 2, cy: 2 };
  const turns = [
    [20, [0, 0, 1, 0, 1, 0, -1, 0, 0]],
    [20, [1, 0, 0, 0, 0, -1, 0, 1, 0]],
    [20, new Array(9).fill(0)],
    [Number.MIN_VALUE, identity],
    [Number.MAX_VALUE, identity.with(2, Number.MAX_VALUE)],
  ] as const;
  for (const [focalPixels, rotation] of turns) {
    const turned = await native.turnMap({
      ...shape,
      map,
      focalPixels,
      rotation: Float64Array.from(rotation),
    });
    expect(turned.length).toBe(50);
    expect(turned.every((value, i) => value >= -32 && value <= 32 * (i % 2 === 0 ? 6 : 7))).toBe(true);
  }
});

describe("Scene", () => {
  // Keeps the textures of the seed, which take most of the time to open a scene.
  let keeper: SceneRenderer | undefined;
  beforeAll(async () => {
    keeper = new SceneRenderer(native, { width: 16, height: 16 });
    await keeper.frame(0);
  });
  afterAll(() => keeper?.close());

  const setup = sceneSetup({ width: 16, height: 16 });
  function open(changes: object): NativeScene["buffers"] {
    const scene = new native.Scene({ ...setup, buffers: 1, ...changes } as never, () => {});
    const { buffers } = scene;
    scene.close();
    return buffers;
  }
  test.each<[string, number, number, number?]>([
    ["noiseGrey", 0, 8, 0.01],
    ["cellPixels", 1, 256],
    ["room", 0, 5],
    ["buffers", 1, 16],
  ])("%s is from %f to %i", (name, lowest, highest, step) =>
    expectRange(lowest, highest, (value) => open({ [name]: value }), step),
  );

  test("an image has 16 pixels a side at least, and not more than 16384", async () => {
    for (const name of ["width", "height"]) {
      const verdicts = [15, 16, 16385].map((value) => verdict(() => open({ [name]: value })));
      expect(await Promise.all(verdicts)).toEqual(["ENGINE_PARAMETER", "accepted", "ENGINE_PARAMETER"]);
    }
  });

  test("the cameras are 0.05 to 2.5 m above the floor; the seed is at most 1000000", async () => {
    const pose = (heightMetres: number) => open({ pose: { heightMetres, rotation: identity } });
    await expectRange(0.05, 2.5, pose, 0.001);
    for (const seed of [-1, 1_000_001]) expect(await verdict(() => open({ seed }))).toBe("ENGINE_PARAMETER");
  });

  test("lengths are above 0, lists have their length, and every number is finite", async () => {
    const refused: [object, RegExp][] = [
      [{ focalPixels: 0 }, /focalPixels and baselineMetres above 0, got 4, 0 and 0.12/],
      [{ baselineMetres: 0 }, /above 0, got 4, .* and 0\.$/],
      [{ pose: { heightMetres: 1, rotation: identity.slice(1) } }, /expected 9 numbers in pose.rotation/],
      [{ pose: { heightMetres: 1, rotation: identity.with(8, Number.NaN) } }, /finite numbers/],
    ];
    for (const side of ["left", "right"] as const) {
      const camera = setup[side];
      const changed = (changes: object) => ({ [side]: { ...camera, ...changes } });
      refused.push(
        [{ [side]: undefined }, new RegExp(`expected an object ${side}`)],
        [
          changed({ fx: 0 }),
          new RegExp(
            `focal lengths above 0 pixels, got 0 and ${camera.fy.toPrecision(6).replace(/\.?0+$/, "")}`,
          ),
        ],
        [changed({ fy: 0 }), /focal lengths above 0 pixels, got .* and 0/],
        [changed({ distortion: [0, 0, 0, 0] }), new RegExp(`expected 5 numbers in ${side}.distortion`)],
        [changed({ rotation: [...identity, 0] }), new RegExp(`expected 9 numbers in ${side}.rotation`)],
        [changed({ distortion: [0, 0, 0, 0, Number.POSITIVE_INFINITY] }), /finite numbers/],
        [changed({ distortion: ["0", 0, 0, 0, 0] }), /finite numbers/],
        [changed({ rotation: identity.with(0, Number.NaN) }), /finite numbers/],
      );
      for (const name of ["fx", "fy", "cx", "cy", "offsetMetres", "gain", "offsetGrey", "vignetting"])
        refused.push([changed({ [name]: Number.NaN }), new RegExp(`finite number for ${name}`)]);
    }
    for (const [changes, message] of refused) {
      expect(() => open(changes), JSON.stringify(changes)).toThrow(
        expect.objectContaining({ code: "ENGINE_PARAMETER", message: expect.stringMatching(message) }),
      );
    }
  });

  test("each buffer has a left and a right image, of one byte a pixel in grey and three in colours", () => {
    const lengths = (buffers: NativeScene["buffers"]) =>
      buffers.map(({ left, right }) => [left.length, right.length]);
    expect(lengths(open({ buffers: 3, width: 17 }))).toEqual(new Array(3).fill([272, 272]));
    expect(lengths(open({ buffers: 2, width: 17, colours: true }))).toEqual(new Array(2).fill([816, 816]));
  });

  test("truth and depth have sizes, frames and sides in their ranges", async () => {
    const scene = new native.Scene({ ...setup, buffers: 1 } as never, () => {});
    const truth = (changes: object) =>
      scene.truth({
        frame: 0,
        side: 0,
        width: 2,
        height: 2,
        focalPixels: 9,
        cx: 4,
        cy: 4,
        disparity: new Float32Array(2 * 16385),
        visible: new Uint8Array(2 * 16385),
        ...changes,
      });
    await expectRange(1, 16384, (width) => truth({ width }));
    await expectRange(1, 16384, (height) => truth({ height }));
    await expectRange(0, 1, (side) => truth({ side }));
    await expectRange(0, 2 ** 31 - 1, (frame) => truth({ frame }));
    for (const changes of [
      { focalPixels: 0 },
      { disparity: new Float32Array(3) },
      { visible: new Uint8Array(3) },
    ])
      expect(await verdict(() => truth(changes))).toBe("ENGINE_PARAMETER");
    const depth = (changes: object) =>
      scene.depthAlong({
        frame: 0,
        count: 1,
        rotation: identity,
        centre: [0, 0, 0],
        rays: new Float64Array(4),
        depth: new Float32Array(2),
        ...changes,
      });
    await expectRange(1, 2, (count) => depth({ count }));
    await expectRange(0, 2 ** 31 - 1, (frame) => depth({ frame }));
    for (const changes of [
      { rotation: identity.slice(1) },
      { centre: [0, 0] },
      { rays: new Float64Array(1) },
    ])
      expect(await verdict(() => depth(changes))).toBe("ENGINE_PARAMETER");
    scene.close();
    for (const call of [() => truth({}), () => depth({}), () => scene.render(0, 0)])
      expect(call).toThrow(/closed/);
  });

  test("a buffer is drawn once at a time, and only while its images are its own", async () => {
    const drawn: number[] = [];
    const scene = new native.Scene({ ...setup, buffers: 2 } as never, (error, buffer) =>
      drawn.push(error ? -1 : buffer),
    );
    for (const [buffer, frame] of [
      [-1, 0],
      [2, 0],
      [0, "1"],
      [0.5, 0],
    ] as const)
      expect(() => scene.render(buffer, frame as number)).toThrow(
        expect.objectContaining({ code: "ENGINE_PARAMETER" }),
      );
    scene.render(1, 5);
    expect(() => scene.render(1, 6)).toThrow(/buffer 1 is being drawn/);
    scene.render(0, 6);
    await expect.poll(() => drawn).toEqual([1, 0]);
    scene.render(1, 7);
    await expect.poll(() => drawn).toEqual([1, 0, 1]);
    const pair = scene.buffers[0] as { right: Uint8Array };
    pair.right = pair.right.slice();
    expect(() => scene.render(0, 8)).toThrow(/right of buffer 0 was transferred or replaced/);
    scene.close();
  });
});
