// SPDX-License-Identifier: Apache-2.0
// Places labels next to the points that they name, so that no label covers another label or a point.

/** Left, top, right, bottom; pixels. */
export type Box = readonly [left: number, top: number, right: number, bottom: number];

export interface Label {
  /** The point that it names. */
  x: number;
  y: number;
  text: string;
}

export interface PlacedLabel extends Label {
  /** The end or the middle of its base line. */
  textX: number;
  textY: number;
  anchor: "start" | "middle" | "end";
  /** End of a line from the point to the word, where that stands apart. */
  leader: readonly [x: number, y: number] | undefined;
}

/** Width of a 12-pixel sans-serif letter. Text is not measured here, so this errs on the wide side. */
const LETTER_WIDTH = 7;
const [ASCENT, DESCENT] = [10, 3];
const MARK_RADIUS = 5;
/** From the point to the nearest edge of the word; a line leads to those that are further away than the first. */
const DISTANCES = [8, 20, 34, 50, 68];
/** Directions in the order in which they are tried: right, below, left, above, then between them. */
const DIRECTIONS = [
  [1, 0],
  [0, 1],
  [-1, 0],
  [0, -1],
  [1, 1],
  [1, -1],
  [-1, 1],
  [-1, -1],
] as const;

const overlap = (a: Box, b: Box) => {
  const wide = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
  const high = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
  return wide > 0 && high > 0 ? wide * high : 0;
};

/**
 * Places labels one after the other, each in the nearest free place, or, if none is free, where it covers least.
 * @param labels with the points that must stay visible
 * @param within bounds of the labels
 */
export function placeLabels(labels: readonly Label[], within: Box): PlacedLabel[] {
  const taken: Box[] = labels.map(({ x, y }) => [
    x - MARK_RADIUS,
    y - MARK_RADIUS,
    x + MARK_RADIUS,
    y + MARK_RADIUS,
  ]);
  return labels.map(({ x, y, text }) => {
    const width = LETTER_WIDTH * text.length;
    const height = ASCENT + DESCENT;
    let best: { box: Box; cost: number; distance: number; across: number } | undefined;
    for (const distance of DISTANCES) {
      for (const [across, down] of DIRECTIONS) {
        const left = x + (across * (width + 2 * distance) - width) / 2;
        const top = y + (down * (height + 2 * distance) - height) / 2;
        const box: Box = [left, top, left + width, top + height];
        const inside = left >= within[0] && top >= within[1] && box[2] <= within[2] && box[3] <= within[3];
        if (!inside) continue;
        const cost = taken.reduce((sum, other) => sum + overlap(box, other), 0);
        if (best === undefined || cost < best.cost) best = { box, cost, distance, across };
      }
      if (best?.cost === 0) break;
    }
    const nowhere = { box: [x, y, x + width, y + height] as const, distance: 0, across: 1 };
    const { box, distance, across } = best ?? nowhere;
    taken.push(box);
    const end = [Math.min(Math.max(x, box[0]), box[2]), Math.min(Math.max(y, box[1]), box[3])] as const;
    return {
      x,
      y,
      text,
      // The end that is next to the point: the word may be narrower than its box.
      textX: across > 0 ? box[0] : across < 0 ? box[2] : (box[0] + box[2]) / 2,
      textY: box[1] + ASCENT,
      anchor: across > 0 ? "start" : across < 0 ? "end" : "middle",
      leader: distance > DISTANCES[0]! ? end : undefined,
    };
  });
}
