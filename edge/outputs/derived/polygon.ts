// SPDX-License-Identifier: Apache-2.0
// Zones: simple polygons in shares of the picture (0,0 top left, 1,1 bottom right), so that they hold at every size. Written as
// "NAME x,y x,y x,y; NAME ...".

export interface Point {
  x: number;
  y: number;
}

export interface Zone {
  name: string;
  corners: readonly Point[];
}

/** A row of a zone: pixels [from, to). */
export interface Span {
  y: number;
  from: number;
  to: number;
}

const NAME = /^[A-Za-z0-9_-]{1,32}$/;
const MAX_ZONES = 16;
const MAX_CORNERS = 32;

const cross = (o: Point, a: Point, b: Point) => (a.x - o.x) * (b.y - o.y) - (a.y - o.y) * (b.x - o.x);

function between(a: Point, b: Point, p: Point): boolean {
  const within = (u: number, v: number, w: number) => Math.min(u, v) <= w && w <= Math.max(u, v);
  return within(a.x, b.x, p.x) && within(a.y, b.y, p.y);
}

/** Returns whether two segments have a point in common, ends included. */
function touch(a: Point, b: Point, c: Point, d: Point): boolean {
  const [ac, ad, ca, cb] = [cross(a, b, c), cross(a, b, d), cross(c, d, a), cross(c, d, b)];
  if (ac * ad < 0 && ca * cb < 0) return true;
  return (
    (ac === 0 && between(a, b, c)) ||
    (ad === 0 && between(a, b, d)) ||
    (ca === 0 && between(c, d, a)) ||
    (cb === 0 && between(c, d, b))
  );
}

/** The first two edges that meet where they should not; numbered from 1, edge n begins at corner n. */
function crossing(corners: readonly Point[]): [number, number] | undefined {
  const count = corners.length;
  const edge = (index: number): [Point, Point] => [corners[index]!, corners[(index + 1) % count]!];
  for (let first = 0; first < count; first++) {
    for (let second = first + 1; second < count; second++) {
      const neighbours = second === first + 1 || (first === 0 && second === count - 1);
      const [a, b] = edge(first);
      const [c, d] = edge(second);
      if (!neighbours && touch(a, b, c, d)) return [first + 1, second + 1];
      // Neighbours share a corner; one that runs back over the other has another point in common.
      const [shared, away, back] = second === first + 1 ? [b, a, d] : [a, b, c];
      if (
        neighbours &&
        cross(away, shared, back) === 0 &&
        (away.x - shared.x) * (back.x - shared.x) + (away.y - shared.y) * (back.y - shared.y) > 0
      )
        return [first + 1, second + 1];
    }
  }
  return undefined;
}

/** @returns the zones, or the error: expected ..., got ... */
export function parseZones(text: string): Zone[] | string {
  const zones: Zone[] = [];
  for (const part of text.split(";")) {
    const [name = "", ...points] = part.trim().split(/\s+/);
    if (!NAME.test(name))
      return `expected a name of letters, digits, "-" and "_" before each zone, got ${JSON.stringify(name)}`;
    if (zones.some((zone) => zone.name === name))
      return `expected zones with different names, got ${name} twice`;
    const corners: Point[] = [];
    for (const point of points) {
      const [x = Number.NaN, y = Number.NaN, more] = point
        .split(",")
        .map((number) => (number === "" ? Number.NaN : Number(number)));
      if (!(x >= 0 && x <= 1 && y >= 0 && y <= 1) || more !== undefined)
        return `expected corners x,y from 0 to 1 in zone ${name}, got ${point}`;
      corners.push({ x, y });
    }
    if (corners.length < 3 || corners.length > MAX_CORNERS)
      return `expected 3 to ${MAX_CORNERS} corners in zone ${name}, got ${corners.length}`;
    const crossed = crossing(corners);
    if (crossed !== undefined)
      return `expected a polygon that does not cross itself, but edges ${crossed[0]} and ${crossed[1]} of zone ${name} meet`;
    // Other polygons without an area cross themselves.
    if (corners.every(({ x, y }) => x === corners[0]!.x && y === corners[0]!.y))
      return `expected a polygon with an area in zone ${name}, got none`;
    zones.push({ name, corners });
  }
  return zones.length <= MAX_ZONES ? zones : `expected at most ${MAX_ZONES} zones, got ${zones.length}`;
}

/** The pixels whose centres are in a polygon, row by row; `step`: only every so many rows. */
export function polygonSpans(corners: readonly Point[], width: number, height: number, step = 1): Span[] {
  const spans: Span[] = [];
  for (let y = 0; y < height; y += step) {
    const centre = (y + 0.5) / height;
    const cuts: number[] = [];
    for (const [index, a] of corners.entries()) {
      const b = corners[(index + 1) % corners.length]!;
      // Half open, so that a corner counts once.
      if (a.y <= centre !== b.y <= centre) cuts.push(a.x + ((centre - a.y) / (b.y - a.y)) * (b.x - a.x));
    }
    cuts.sort((a, b) => a - b);
    for (let pair = 0; pair + 1 < cuts.length; pair += 2) {
      const from = Math.max(0, Math.ceil(cuts[pair]! * width - 0.5));
      const to = Math.min(width, Math.ceil(cuts[pair + 1]! * width - 0.5));
      if (to > from) spans.push({ y, from, to });
    }
  }
  return spans;
}
