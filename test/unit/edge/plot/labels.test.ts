// SPDX-License-Identifier: Apache-2.0
// Words next to points: near, in sight, and on nothing else.
import fc from "fast-check";
import { expect, test } from "vitest";
import { type Box, type Label, type PlacedLabel, placeLabels } from "../../../../edge/plot/labels.js";

const WITHIN: Box = [0, 0, 500, 300];
/** As wide and high as a word is taken for. */
function labelBox({ textX, textY, anchor, text }: PlacedLabel): Box {
  const width = 7 * text.length;
  const left = textX - { start: 0, middle: width / 2, end: width }[anchor];
  return [left, textY - 10, left + width, textY + 3];
}
const meet = (a: Box, b: Box) => a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];

test("a word alone stands right of its point, without a line to it", () => {
  const [placed] = placeLabels([{ x: 100, y: 100, text: "sgm" }], WITHIN);
  expect(placed).toMatchObject({ textX: 108, textY: 103.5, anchor: "start", leader: undefined });
});

test("at the right border it stands below, in the corner left", () => {
  const [border, corner] = placeLabels(
    [
      { x: 480, y: 100, text: "quality" },
      { x: 495, y: 295, text: "quality" },
    ],
    WITHIN,
  );
  expect(labelBox(border!)[2]).toBeLessThanOrEqual(500);
  expect(labelBox(corner!)[2]).toBeLessThan(495);
  expect(labelBox(corner!)[3]).toBeLessThanOrEqual(300);
});

test("words of points that lie together cover neither each other nor a point, and a line leads to those further away", () => {
  const labels: Label[] = Array.from({ length: 8 }, (_, i) => ({
    x: 250 + 4 * (i % 3),
    y: 150 + 3 * (i % 2),
    text: `preset-${i}`,
  }));
  const placed = placeLabels(labels, WITHIN);
  const boxes = placed.map(labelBox);
  for (const [i, box] of boxes.entries()) {
    for (const other of boxes.slice(i + 1)) expect(meet(box, other)).toBe(false);
    for (const { x, y } of labels) expect(meet(box, [x - 4, y - 4, x + 4, y + 4])).toBe(false);
  }
  expect(placed.filter(({ leader }) => leader !== undefined).length).toBeGreaterThan(0);
});

test("every word stays within, and each label comes back in its place", () => {
  const label = fc.record({
    x: fc.double({ min: 0, max: 500, noNaN: true }),
    y: fc.double({ min: 0, max: 300, noNaN: true }),
    text: fc.constantFrom("sgm", "esaw-9-improved", "x"),
  });
  fc.assert(
    fc.property(fc.array(label, { maxLength: 40 }), (labels) => {
      const placed = placeLabels(labels, WITHIN);
      expect(placed.map(({ x, y, text }) => ({ x, y, text }))).toEqual(labels);
      for (const box of placed.map(labelBox)) {
        expect(box[0]).toBeGreaterThanOrEqual(-1e-9);
        expect(box[1]).toBeGreaterThanOrEqual(0);
        expect(box[2]).toBeLessThanOrEqual(500 + 1e-9);
        expect(box[3]).toBeLessThanOrEqual(300);
      }
    }),
  );
});

test("eight directions at five distances, each place once", () => {
  const labels = Array.from({ length: 38 }, () => ({ x: 100, y: 100, text: "a" }));
  const places = placeLabels(labels, [0, 0, 200, 200]).map(
    ({ textX, textY, anchor, leader }) => `${textX} ${textY} ${anchor} ${leader ?? "without a line"}`,
  );
  // A word of one letter is 7 by 13 pixels. Its base line is 10 pixels below its top.
  const around = (d: number, right = 100 + d, left = 100 - d, below = 100 + d, above = 100 - d) => [
    `${right} 103.5 start ${right},100`,
    `100 ${below + 10} middle 100,${below}`,
    `${left} 103.5 end ${left},100`,
    `100 ${above - 3} middle 100,${above}`,
    `${right} ${below + 10} start ${right},${below}`,
    `${right} ${above - 3} start ${right},${above}`,
    `${left} ${below + 10} end ${left},${below}`,
    `${left} ${above - 3} end ${left},${above}`,
  ];
  const near = around(8).map((place) => place.replace(/\S+$/, "without a line"));
  // 20 pixels below and above, a word would cover another at a distance of 8 pixels.
  const second = around(20).filter((place) => !place.includes("middle"));
  expect(places).toEqual([...near, ...second, ...around(34), ...around(50), ...around(68)]);
});

test("borders belong to the inside; without any place the word is right of its point; covering least is best", () => {
  const one = (within: Box) => {
    const [{ textX, textY, anchor, leader }] = placeLabels([{ x: 100, y: 100, text: "ab" }], within) as [
      PlacedLabel,
    ];
    return [textX, textY, anchor, leader];
  };
  // The first place, right of the point, is from 108 to 122 and from 93.5 to 106.5.
  expect(one([108, 93.5, 122, 106.5])).toEqual([108, 103.5, "start", undefined]);
  // Without it, the place below is from 93 to 107 and from 108 to 121.
  for (const within of [
    [93, 108, 107, 121],
    [93, 93.6, 122, 121],
    [93, 93.5, 121.9, 121],
  ] as const)
    expect(one(within)).toEqual([100, 118, "middle", undefined]);
  expect(one([0, 0, 10, 10])).toEqual([100, 110, "start", undefined]);
});
