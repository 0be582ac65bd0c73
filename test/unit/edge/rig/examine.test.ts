// SPDX-License-Identifier: Apache-2.0
// Tests the verdict over pairs whose looks are given: its limits, and which ways to mount the cameras are tried.
import { describe, expect, test } from "vitest";
import type { AlignmentLook, PairAlignerOptions } from "../../../../camera/index.js";
import { Examiner } from "../../../../edge/rig/health/examine.js";
import type { LookGeometry } from "../../../../edge/rig/health/look-options.js";
import { alignmentLook } from "../../../doubles/alignment-look.js";

const LAYOUT = {
  width: 3,
  height: 2,
  leftFormat: "GREY",
  rightFormat: "Y16",
  leftStrideBytes: 4,
  rightStrideBytes: 8,
} as const;
const VIEW = { width: 101, height: 396, focalPixels: 500, cx: 50, cy: 198 };
const CALIBRATED: LookGeometry = { view: VIEW, calibrated: true, disparityOffset: 0, maps: undefined };
const PLAIN = { ...CALIBRATED, calibrated: false };
const LIMITS = { maxRows: 0.75, maxDegrees: 0.08 };

type LookAt = (attempt: number, options: PairAlignerOptions, pair: readonly number[]) => AlignmentLook;

/** Examines pairs whose images are one byte each. Aligners count from 0; the ones after it try another way to mount. */
function examine(lookAt: LookAt, { geometry = CALIBRATED, pairs = [[1, 2]], limits = LIMITS } = {}) {
  const opened: { options: PairAlignerOptions; pairs: number[][]; closed: number }[] = [];
  const examiner = new Examiner(LAYOUT, geometry, (options) => {
    const attempt = opened.length;
    const one = { options, pairs: [] as number[][], closed: 0 };
    opened.push(one);
    return {
      look: (left, right) => {
        one.pairs.push([left[0]!, right[0]!]);
        return lookAt(attempt, options, one.pairs.at(-1)!);
      },
      close: () => void one.closed++,
    };
  });
  for (const [left, right] of pairs) {
    const pair = { left: Uint8Array.of(left!), right: Uint8Array.of(right!) };
    examiner.add(pair);
    // The caller may use its memory again.
    pair.left.fill(99);
    pair.right.fill(98);
  }
  expect(examiner.pairs).toBe(pairs.length);
  const found = examiner.finish(limits);
  expect(opened.map(({ closed }) => closed)).toEqual(opened.map(() => 1));
  return { ...found, code: found.problem?.code, text: found.problem?.text, opened };
}

/** A look whose features suit no position of the cameras. */
const unrelated = (more: Partial<AlignmentLook> = {}) => alignmentLook({}, 1e4, { kept: 10, ...more });

describe("how a pair is looked at", () => {
  const reach = (width: number, height: number) => {
    const geometry = { ...CALIBRATED, view: { ...VIEW, width, height } };
    return examine(() => alignmentLook(), { geometry }).opened[0]!.options;
  };

  test("half the width in both directions, and a twelfth of the height, which is at least 32 rows", () => {
    const { leftFormat, rightFormat, leftStrideBytes, rightStrideBytes } = LAYOUT;
    expect(reach(101, 396)).toEqual({
      ...VIEW,
      inputWidth: 3,
      inputHeight: 2,
      leftFormat,
      rightFormat,
      leftStrideBytes,
      rightStrideBytes,
      maxWidth: 1600,
      rows: 33,
      minDisparity: -50,
      maxDisparity: 50,
    });
    expect([100, 384, 390, 1200].map((height) => reach(64, height).rows)).toEqual([32, 32, 33, 100]);
  });
});

describe("limits", () => {
  const verdict = (
    degrees: Parameters<typeof alignmentLook>[0],
    more: Partial<AlignmentLook>,
    options: Parameters<typeof examine>[1] = {},
  ) => examine(() => alignmentLook(degrees, 1e4, more), options);
  const features = (count: number) => ({ leftCorners: 500, features: count, kept: count });

  test("pairs at both limits are aligned; their figures are those of the looks", () => {
    const { pairs, figures, problem, opened } = verdict(
      { roll: 0.08 },
      { ...features(100), meanRows: 0.5, p95Rows: 0.75 },
      { pairs: Array(2).fill([1, 2]) },
    );
    expect([pairs, problem, opened.length]).toEqual([2, undefined, 1]);
    expect(figures).toMatchObject({
      rows: { mean: 0.5, p95: 0.75 },
      rotationDegrees: { total: 0.08, pitch: 0, yaw: 0, roll: 0.08 },
      features: 200,
    });
    expect(opened[0]!.pairs).toEqual(Array(2).fill([1, 2]));
  });

  test.each<[string, number, Partial<AlignmentLook>, LookGeometry, string | undefined, string | undefined]>([
    [
      "rows",
      0,
      { p95Rows: 0.751 },
      CALIBRATED,
      "RIG_MOVED",
      "the cameras have moved: 0.8 rows, rotation 0.00",
    ],
    [
      "a rotation",
      0.0801,
      { p95Rows: 0.2 },
      CALIBRATED,
      "RIG_MOVED",
      "moved: 0.2 rows, rotation 0.08 degrees",
    ],
    [
      "a rotation",
      0.0801,
      {},
      PLAIN,
      "PAIR_UNRECTIFIED",
      "the images are not rectified well enough: 0.0 rows",
    ],
  ])("%s beyond them: %d degrees", (_, roll, more, geometry, code, text) => {
    const found = verdict({ roll }, { ...features(200), ...more }, { geometry });
    expect([found.code, found.text, found.opened.length]).toEqual([code, expect.stringContaining(text!), 1]);
    expect(found.figures?.rotationDegrees.roll).toBe(roll);
  });

  // One standard deviation of an angle is 0.005 degrees, and so is that of their total.
  test.each<[number, Record<string, number>, LookGeometry, number, boolean]>([
    [199, { roll: 0.0949 }, CALIBRATED, 0.08, false],
    [199, { roll: 0.0951 }, CALIBRATED, 0.08, true],
    [199, { roll: 0.0949 }, PLAIN, 0.08, false],
    [199, { roll: 0.0951 }, PLAIN, 0.08, true],
    [199, {}, CALIBRATED, 0, false],
    [199, { pitch: 0.3, roll: 0.4 }, CALIBRATED, 0.4851, false],
    [199, { pitch: 0.3, roll: 0.4 }, CALIBRATED, 0.4849, true],
  ])(
    "of %i features, three deviations are no rotation: %j",
    (count, degrees, geometry, maxDegrees, isMoved) => {
      const found = verdict(degrees, features(count), { geometry, limits: { maxRows: 0.75, maxDegrees } });
      expect(found.problem !== undefined).toBe(isMoved);
    },
  );

  test("features that are too few for one position of the cameras have no figures", () => {
    const found = verdict({}, { weight: 6 });
    expect([found.pairs, found.figures, found.code, found.text]).toEqual([
      1,
      undefined,
      "PAIR_UNRELATED",
      "too few features suit one position of the cameras",
    ]);
  });

  test("one image twice is no pair", () => {
    const same = (pairs: number[][]) => {
      const found = examine(() => alignmentLook(), { pairs });
      return [found.figures, found.code, found.text];
    };
    const text = "the left and the right image are the same picture";
    expect(same([[7, 7]])).toEqual([undefined, "PAIR_IDENTICAL", text]);
    expect(
      same([
        [7, 7],
        [1, 2],
        [6, 6],
      ]),
    ).toEqual([undefined, "PAIR_IDENTICAL", `${text}, in 2 of 3 pairs`]);
  });

  test("flat images are not tried in other ways", () => {
    const found = examine(() => alignmentLook({}, 1e4, { leftCorners: 0 }));
    expect([found.code, found.figures, found.opened.length]).toEqual(["PAIR_FEATURELESS", undefined, 1]);
  });
});

describe("images that are many rows apart are exchanged", () => {
  const swapped = (p95Rows: number, exchanged: Partial<AlignmentLook>, options = {}) =>
    examine((attempt) => alignmentLook({}, 1e4, attempt === 0 ? { p95Rows } : exchanged), options);

  test.each<[number, Partial<AlignmentLook>, string, number]>([
    [4, { p95Rows: 0 }, "RIG_MOVED", 1],
    [4.5, { p95Rows: 2.25 }, "PAIR_SWAPPED", 2],
    [4.5, { p95Rows: 2.26 }, "RIG_MOVED", 2],
    [4.5, { p95Rows: 0, medianDisparity: 0 }, "PAIR_SWAPPED", 2],
    [4.5, { p95Rows: 0, medianDisparity: -0.5 }, "RIG_MOVED", 2],
    [4.5, { p95Rows: 0, kept: 10 }, "RIG_MOVED", 2],
  ])("%d rows; exchanged %j: %s", (rows, exchanged, code, aligners) => {
    const found = swapped(rows, exchanged);
    expect([found.code, found.opened.length]).toEqual([code, aligners]);
    expect(found.figures?.rows.p95).toBe(code === "RIG_MOVED" ? rows : undefined);
  });

  test("not without a calibration, and not within the limits", () => {
    expect(swapped(9, {}, { geometry: PLAIN })).toMatchObject({ code: "PAIR_UNRECTIFIED", opened: [{}] });
    expect(swapped(9, {}, { limits: { maxRows: 9, maxDegrees: 1 } })).toMatchObject({
      problem: undefined,
      opened: [{}],
    });
  });

  test("the first three pairs, as they were, with their formats; the mean of their rows counts", () => {
    const pairs = [1, 3, 5, 7].map((left) => [left, left + 1]);
    const rows: Record<number, number> = { 2: 1, 4: 2, 6: 6 };
    const { text, opened } = examine(
      (attempt, _, [left]) => alignmentLook({}, 1e4, { p95Rows: attempt === 0 ? 6 : rows[left!]! }),
      { pairs },
    );
    expect(text).toBe("left and right are swapped: exchanged, the images suit the calibration");
    expect(opened.map((one) => one.pairs)).toEqual([
      pairs,
      [
        [2, 1],
        [4, 3],
        [6, 5],
      ],
    ]);
    expect(opened[1]!.options).toEqual({
      ...opened[0]!.options,
      leftFormat: "Y16",
      rightFormat: "GREY",
      leftStrideBytes: 8,
      rightStrideBytes: 4,
    });
  });
});

describe("images that suit no position of the cameras are tried", () => {
  // In 1/32 pixels, x before y: the captured image of 3 columns and 2 rows, and that read in other ways.
  const MAPS = {
    usual: [0, 0, 32, 0, 64, 0, 0, 32, 32, 32, 64, 32],
    mirrored: [64, 0, 32, 0, 0, 0, 64, 32, 32, 32, 0, 32],
    turned: [64, 32, 32, 32, 0, 32, 64, 0, 32, 0, 0, 0],
    topToBottom: [0, 32, 32, 32, 64, 32, 0, 0, 32, 0, 64, 0],
  };

  /** The first attempt that suits the rig is the one with this number. */
  const suits = (wanted: number, medianDisparity: number, geometry = CALIBRATED) =>
    examine((attempt) => (attempt === wanted ? alignmentLook({}, 1e4, { medianDisparity }) : unrelated()), {
      geometry,
    });

  const none = "the images do not suit the calibration: of 90 corners of the left image, 80 found";
  test.each([
    [1, 0, "PAIR_SWAPPED", "left and right are swapped: exchanged, the images suit the calibration", 2],
    [1, -1, "PAIR_UNRELATED", none, 5],
    [2, 1, "PAIR_MIRRORED", "the right image is mirrored", 3],
    [2, 0, "PAIR_MIRRORED", "the left image is mirrored", 3],
    [2, -40, "PAIR_MIRRORED", "the left image is mirrored", 3],
    [3, 1, "PAIR_MIRRORED", "the right image is upside down", 4],
    [3, 0, "PAIR_MIRRORED", "the left image is upside down", 4],
    [3, -40, "PAIR_MIRRORED", "the left image is upside down", 4],
    [4, -40, "PAIR_MIRRORED", "one of the images is mirrored top to bottom", 5],
    [5, 1, "PAIR_UNRELATED", none, 5],
  ])(
    "in the order of attempts: %i suits, with a disparity of %d",
    (attempt, disparity, code, text, aligners) => {
      const found = suits(attempt, disparity);
      expect([found.code, found.text, found.figures]).toEqual([
        code,
        expect.stringContaining(text),
        undefined,
      ]);
      expect(found.opened).toHaveLength(aligners);
    },
  );

  test("exchanged, then with the right image mirrored, turned, and top to bottom", () => {
    const { opened } = suits(5, 1);
    const [, exchanged, ...flipped] = opened;
    expect([exchanged!.pairs, exchanged!.options.rightMap]).toEqual([[[2, 1]], undefined]);
    for (const [at, name] of (["mirrored", "turned", "topToBottom"] as const).entries()) {
      const { options, pairs } = flipped[at]!;
      expect(pairs).toEqual([[1, 2]]);
      expect(options, name).toEqual({
        ...opened[0]!.options,
        leftMap: Int32Array.from(MAPS.usual),
        rightMap: Int32Array.from(MAPS[name]),
      });
    }
  });

  test("by the right map of the calibration, which stays as it is", () => {
    const maps = { leftMap: Int32Array.of(1, 2, 3, 4), rightMap: Int32Array.of(5, 6, 37, 1) };
    const { opened } = suits(5, 1, { ...CALIBRATED, maps });
    expect(opened.map(({ options }) => [options.leftMap, options.rightMap])).toEqual(
      [
        [5, 6, 37, 1],
        [5, 6, 37, 1],
        [59, 6, 27, 1],
        [59, 26, 27, 31],
        [5, 26, 37, 31],
      ].map((right) => [Int32Array.of(1, 2, 3, 4), Int32Array.from(right)]),
    );
  });

  test("also where they show one scene that is not rectified", () => {
    const one = (attempt: number) => (attempt === 2 ? alignmentLook() : unrelated({ features: 60 }));
    expect(examine(one, { geometry: PLAIN }).text).toBe("the right image is mirrored");
    const scene = examine(() => unrelated({ features: 60 }), { geometry: PLAIN });
    expect([scene.code, scene.opened.length]).toEqual(["PAIR_UNRECTIFIED", 5]);
  });
});
