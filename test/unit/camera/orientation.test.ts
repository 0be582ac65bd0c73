// SPDX-License-Identifier: Apache-2.0
// Turned and mirrored images, worked out on paper: which pixel lands where, and which words a setting may have.
import { expect, test } from "vitest";
import {
  checkCalibratedSize,
  identityMap,
  ORIENTATIONS,
  type Orientation,
  orientedMap,
  orientedSize,
  orientGrey,
  orientPair,
  PAIR_ORIENTATION,
  parseOrientation,
  reverseOrientation,
} from "../../../camera/orientation.js";

const CAPTURED = { width: 3, height: 2 };
const IMAGE = { ...CAPTURED, data: Uint8Array.of(1, 2, 3, 4, 5, 6) };

/** Returns the pixels of an image, with a slash between rows. */
const rows = ({ data, width }: { data: ArrayLike<number>; width: number }) =>
  Array.from(data)
    .map((value, i) => (i > 0 && i % width === 0 ? `/${value}` : `${value}`))
    .join("");

/** 123 above 456. A clockwise quarter turn brings the lower left corner to the upper left. */
const UPRIGHT: Record<Orientation, string> = {
  none: "123/456",
  rotate90: "41/52/63",
  rotate180: "654/321",
  rotate270: "36/25/14",
  mirror: "321/654",
  flip: "456/123",
};

test.each(ORIENTATIONS)("123 above 456 becomes upright by %s, in a copy and through a map", (orientation) => {
  const expected = UPRIGHT[orientation];
  const turned = orientGrey(IMAGE, orientation);
  expect(rows(turned)).toBe(expected);
  expect(turned).toMatchObject(orientedSize(CAPTURED, orientation));
  expect(rows(IMAGE)).toBe("123/456");
  const map = orientedMap(orientation, CAPTURED);
  const read = Array.from(
    { length: 6 },
    (_, i) => IMAGE.data[(map[2 * i + 1]! / 32) * 3 + map[2 * i]! / 32]!,
  );
  expect(rows({ data: read, width: turned.width })).toBe(expected);
});

test("a copy is made only where something changes", () => {
  expect(orientGrey(IMAGE, "none")).toBe(IMAGE);
  const { left, right } = orientPair({ left: IMAGE, right: IMAGE }, { left: "flip", right: "mirror" });
  expect([rows(left), rows(right)]).toEqual(["456/123", "321/654"]);
});

test("places between pixels are moved exactly", () => {
  // (1.25, 0.5) of the upright image of each orientation, in 1/32 px; the captured one is 3 x 2.
  const places = ORIENTATIONS.map((one) => [...orientedMap(one, CAPTURED, Int32Array.of(40, 16))]);
  expect(places).toEqual([
    [40, 16],
    [16, 32 - 40],
    [64 - 40, 32 - 16],
    [64 - 16, 40],
    [64 - 40, 16],
    [40, 32 - 16],
  ]);
  expect([...identityMap(3, 2)]).toEqual([0, 0, 32, 0, 64, 0, 0, 32, 32, 32, 64, 32]);
});

test("one word for both images or two of the same size", () => {
  expect(parseOrientation("rotate180")).toEqual({ left: "rotate180", right: "rotate180" });
  expect(parseOrientation("none,mirror")).toEqual({ left: "none", right: "mirror" });
  const turning = ["rotate90", "rotate270"];
  for (const left of ORIENTATIONS)
    for (const right of ORIENTATIONS)
      expect(PAIR_ORIENTATION.test(`${left},${right}`), `${left},${right}`).toBe(
        turning.includes(left) === turning.includes(right),
      );
  for (const word of ORIENTATIONS) expect(PAIR_ORIENTATION.test(word)).toBe(true);
  for (const word of ["", "rotate", "none,", ",none", "none,none,none", "xnone", "nonex", "rotate9"])
    expect(PAIR_ORIENTATION.test(word), word).toBe(false);
});

test("quarter turns undo each other, the others themselves", () => {
  for (const left of ORIENTATIONS) {
    const back = reverseOrientation({ left, right: "none" });
    expect(rows(orientGrey(orientGrey(IMAGE, left), back.left)), left).toBe("123/456");
    expect(back.right).toBe("none");
  }
  expect(reverseOrientation({ left: "none", right: "rotate90" }).right).toBe("rotate270");
});

test("a calibration is for upright images", () => {
  const size = (width: number, height: number) => ({ width, height });
  const check = (found: typeof CAPTURED, left: Orientation) => () =>
    checkCalibratedSize(found, CAPTURED, { left, right: left });
  check(size(3, 2), "mirror")();
  check(size(2, 3), "rotate90")();
  for (const found of [size(3, 3), size(4, 2), size(2, 3)])
    expect(check(found, "flip")).toThrow(
      expect.objectContaining({
        code: "CALIBRATION_SIZE_MISMATCH",
        message: `Expected a calibration of 3x2 (one image of 3x2 with rig.orientation flip), got ${found.width}x${found.height}.`,
        context: { expected: CAPTURED, found },
      }),
    );
  expect(check(CAPTURED, "rotate270")).toThrow(/^Expected a calibration of 2x3 .* got 3x2\.$/);
});
