// SPDX-License-Identifier: Apache-2.0
// Guides a person who holds the board before live cameras: which pair to take, which are missing, and when they
// suffice.
import { median } from "../../../core/index.js";
import type { ImageSize } from "../../calibration/index.js";
import { type Board, boardCorners } from "./board.js";
import {
  boardTilt,
  COVERAGE_COLUMNS,
  COVERAGE_ROWS,
  type Coverage,
  measureCoverage,
  type Tilt,
} from "./coverage.js";
import { estimateBlur, meanShift, type SeenPair, sameOrder, whyAbsent, whySamePicture } from "./pairs.js";
import type { CalibrationResult } from "./result.js";

/** Goals that end the guide. */
export const GUIDE_GOALS = {
  pairs: 15,
  /** Share of the cells of each image that a near board reaches. */
  cellShare: 0.8,
  /** Pairs with each side of the board nearer. */
  tilted: 2,
} as const;

/** Pixels a second, in diagonals of the image, below which a board is still: a third of a pixel in an exposure of 30 ms at VGA. */
const STILL_PER_SECOND = 0.015;
/** Time over which a board may move at that speed, however far apart two looks are: a slow machine takes seconds for one. */
const MAX_MOTION_MS = 1500;
/** Mean shift of the corners, in diagonals, from which a pose says something new. */
const NEW_SHARE = 0.04;
/** The same for the tilt, in units of TILTED. */
const NEW_TILT = 0.75;
/** Sine of the angle from which a board counts as tilted; 13 degrees. */
const TILTED = 0.22;
/** Blur that is allowed before the usual one is known: standard deviation, pixels, of an image 640 wide. */
const FIRST_BLUR = 2.5;

export const TILTS = ["left", "right", "upper", "lower"] as const;
/** The side of the board that is nearer. */
export type TiltSide = (typeof TILTS)[number];

export type LookVerdict = "noBoard" | "moving" | "blurred" | "known" | "taken";

export interface GuideProgress {
  readonly pairs: number;
  readonly wantedPairs: number;
  readonly left: Coverage;
  readonly right: Coverage;
  /** Share of the cells within reach that corners were seen in, 0 to 1. */
  readonly covered: Readonly<Record<"left" | "right", number>>;
  /** Taken pairs by the side of the board that is nearer. */
  readonly tilts: Readonly<Record<TiltSide, number>>;
  /** True if the calibration adds less to the depth error at 3 m than matching does; undefined: not known yet. */
  readonly precise: boolean | undefined;
  /** 0 to 1; 1 where everything is good enough. */
  readonly share: number;
}

export interface Guidance {
  readonly verdict: LookVerdict;
  /** One sentence: what was seen, and what to do. */
  readonly text: string;
  /** The missing poses, as one clause; empty if there are none. */
  readonly wanted: string;
  readonly progress: GuideProgress;
  readonly enough: boolean;
}

const SIDES = ["left", "right"] as const;
type Side = (typeof SIDES)[number];

/** "the upper left", "the middle": where cells lie that no corner was seen in. */
function describeCell(cell: number): string {
  const column = cell % COVERAGE_COLUMNS;
  const row = Math.floor(cell / COVERAGE_COLUMNS);
  const across = column < 2 ? "left" : column > 2 ? "right" : "";
  const down = row < 1 ? "upper" : row > COVERAGE_ROWS - 2 ? "lower" : "";
  if (down !== "" && across !== "") return `the ${down} ${across}`;
  if (down !== "") return `the ${down} middle`;
  return across === "" ? "the middle" : `the ${across} side`;
}

/** The left image's first column lies outside the right image for all that is near, and the other way round. */
const outOfReach = (cell: number, side: Side) =>
  cell % COVERAGE_COLUMNS === (side === "left" ? 0 : COVERAGE_COLUMNS - 1);

function coveredShare({ counts }: Coverage, side: Side): number {
  const cells = counts.filter((_, cell) => !outOfReach(cell, side));
  return cells.filter((count) => count > 0).length / cells.length;
}

/** Where most cells within reach are empty. */
function emptiestPlace({ counts }: Coverage, side: Side): string | undefined {
  const places = new Map<string, number>();
  counts.forEach((count, cell) => {
    if (count === 0 && !outOfReach(cell, side))
      places.set(describeCell(cell), (places.get(describeCell(cell)) ?? 0) + 1);
  });
  return [...places].sort((a, b) => b[1] - a[1])[0]?.[0];
}

/** The sine of the angle that the board is turned by, roughly: a lens of 64 degrees is assumed. */
function tiltSines(tilt: Tilt, pair: SeenPair, { width }: ImageSize): Tilt {
  const xs = pair.left.points.filter((_, at) => at % 2 === 0);
  const share = (Math.max(...xs) - Math.min(...xs)) / width;
  const scale = 1.6 / Math.max(share, 0.05);
  return { sideways: tilt.sideways * scale, upDown: tilt.upDown * scale };
}

function tiltSides({ sideways, upDown }: Tilt): TiltSide[] {
  const sides: TiltSide[] = [];
  if (sideways < -TILTED) sides.push("left");
  if (sideways > TILTED) sides.push("right");
  if (upDown < -TILTED) sides.push("upper");
  if (upDown > TILTED) sides.push("lower");
  return sides;
}

interface Taken {
  readonly pair: SeenPair;
  readonly tilt: Tilt | undefined;
}

export class CaptureGuide {
  readonly #board: Board;
  readonly #size: ImageSize;
  readonly #diagonal: number;
  #taken: Taken[] = [];
  #last: { pair: SeenPair; ms: number } | undefined;
  #precise: boolean | undefined;

  constructor(board: Board, imageSize: ImageSize) {
    this.#board = board;
    this.#size = imageSize;
    this.#diagonal = Math.hypot(imageSize.width, imageSize.height);
  }

  get pairs(): readonly SeenPair[] {
    return this.#taken.map(({ pair }) => pair);
  }

  /** Judges a pair that came at `ms`; one with the verdict "taken" is kept. */
  look(seen: SeenPair, ms: number): Guidance {
    const absent = whyAbsent(seen, this.#board) ?? whySamePicture(seen);
    const pair = absent ?? sameOrder(seen, this.#board);
    if ("cause" in pair) {
      this.#last = undefined;
      const text = `${pair.reason}: show the whole board to both cameras`;
      return this.#guidance("noBoard", text);
    }
    const before = this.#last;
    this.#last = { pair, ms };
    const blurred = this.#whyBlurred(pair);
    if (blurred !== undefined) return this.#guidance("blurred", blurred);
    const speed = this.#speed(pair, before, ms);
    if (speed === undefined || speed > STILL_PER_SECOND * this.#diagonal)
      return this.#guidance("moving", "the board is seen: hold it still");
    const candidate = { pair, tilt: this.#boardTilt(pair) };
    if (!this.#isNew(candidate)) return this.#guidance("known", `this pose is known: ${this.#next()}`);
    if (!this.#serves(candidate)) return this.#guidance("known", `this adds nothing: ${this.#next()}`);
    this.#taken.push(candidate);
    return this.#guidance("taken", `taken: pair ${this.#taken.length}; ${this.#next()}`);
  }

  /** Takes over a calibration of the taken pairs, and drops those that it left out. @returns their names */
  solved({ pairs, depthErrors, deviations }: CalibrationResult): string[] {
    const out = new Set(pairs.filter(({ used }) => !used).map(({ name }) => name));
    this.#taken = this.#taken.filter(({ pair }) => !out.has(pair.name));
    const at3 = depthErrors.find(({ depthMetres }) => depthMetres === 3);
    this.#precise = deviations !== undefined && !!at3 && at3.calibrationMetres <= at3.matchingMetres;
    return [...out];
  }

  progress(): GuideProgress {
    const { width, height } = this.#size;
    const coverage = (side: Side) =>
      measureCoverage(
        this.#taken.map(({ pair }) => pair[side]),
        width,
        height,
      );
    const [left, right] = [coverage("left"), coverage("right")];
    const covered = { left: coveredShare(left, "left"), right: coveredShare(right, "right") };
    const tilts = { left: 0, right: 0, upper: 0, lower: 0 };
    for (const { tilt } of this.#taken)
      if (tilt !== undefined) for (const side of tiltSides(tilt)) tilts[side]++;
    const { pairs, cellShare, tilted } = GUIDE_GOALS;
    const parts = [
      Math.min(1, this.#taken.length / pairs),
      Math.min(1, Math.min(covered.left, covered.right) / cellShare),
      TILTS.reduce((sum, side) => sum + Math.min(1, tilts[side] / tilted) / TILTS.length, 0),
      this.#precise === true ? 1 : 0,
    ];
    const share = parts.reduce((sum, part) => sum + part / parts.length, 0);
    return {
      pairs: this.#taken.length,
      wantedPairs: pairs,
      left,
      right,
      covered,
      tilts,
      precise: this.#precise,
      share,
    };
  }

  #guidance(verdict: LookVerdict, text: string): Guidance {
    const progress = this.progress();
    return {
      verdict,
      text,
      wanted: this.#wanted(progress).join(", "),
      progress,
      enough: progress.share >= 1,
    };
  }

  #wanted(progress: GuideProgress): string[] {
    const wanted: string[] = [];
    for (const side of SIDES) {
      if (progress.covered[side] >= GUIDE_GOALS.cellShare) continue;
      const place = emptiestPlace(progress[side], side);
      if (place !== undefined) wanted.push(`${place} of the ${side} image`);
    }
    for (const side of TILTS)
      if (progress.tilts[side] < GUIDE_GOALS.tilted) wanted.push(`its ${side} side nearer`);
    if (wanted.length === 0 && progress.pairs < progress.wantedPairs)
      wanted.push("other places and distances");
    if (wanted.length === 0 && progress.precise === false) wanted.push("more tilt, near the cameras");
    return wanted;
  }

  /** One thing at a time, and a place together with a tilt. */
  #next(): string {
    const wanted = this.#wanted(this.progress());
    const place = wanted.find((one) => one.startsWith("the "));
    const tilt = wanted.find((one) => one.startsWith("its "));
    if (place !== undefined && tilt !== undefined) return `hold it into ${place}, ${tilt}`;
    if (place !== undefined) return `hold it into ${place}`;
    if (tilt !== undefined) return `tilt it, ${tilt}`;
    if (wanted.length === 0) return "this is enough";
    return `show it ${wanted[0]!.startsWith("more") ? "with" : "in"} ${wanted[0]}`;
  }

  #boardTilt(pair: SeenPair): Tilt | undefined {
    const tilt = boardTilt(pair.left, this.#board) ?? boardTilt(pair.right, this.#board);
    return tilt && tiltSines(tilt, pair, this.#size);
  }

  #whyBlurred(pair: SeenPair): string | undefined {
    for (const side of SIDES) {
      const blur = estimateBlur(pair[side]);
      const usual = median(this.#taken.map(({ pair: one }) => estimateBlur(one[side])));
      const max = Number.isNaN(usual)
        ? FIRST_BLUR * Math.max(1, this.#size.width / 640)
        : Math.max(1.5 * usual, usual + 0.5);
      if (blur > max)
        return `the ${side} image is not sharp (${blur.toFixed(1)} px): hold the board still, give it more light, or focus`;
    }
    return undefined;
  }

  /** Returns the speed of the faster image, pixels a second; undefined for the first pair. */
  #speed(pair: SeenPair, before: { pair: SeenPair; ms: number } | undefined, ms: number): number | undefined {
    if (before === undefined || ms <= before.ms) return undefined;
    const count = boardCorners(this.#board);
    const shift = Math.max(...SIDES.map((side) => meanShift(pair[side], before.pair[side], count)));
    return Number.isFinite(shift) ? (1000 * shift) / Math.min(ms - before.ms, MAX_MOTION_MS) : undefined;
  }

  #isNew({ pair, tilt }: Taken): boolean {
    const count = boardCorners(this.#board);
    return this.#taken.every(({ pair: other, tilt: known }) => {
      // A board that looks the same from both ends may be read from either.
      const shift = Math.min(
        meanShift(pair.left, other.left, count),
        meanShift(pair.left, { ...other.left, ids: other.left.ids.map((id) => count - 1 - id) }, count),
      );
      if (shift >= NEW_SHARE * this.#diagonal) return true;
      if (tilt === undefined || known === undefined) return false;
      return Math.hypot(tilt.sideways - known.sideways, tilt.upDown - known.upDown) >= NEW_TILT * TILTED;
    });
  }

  /** Returns whether the pair helps to reach a goal. */
  #serves({ pair, tilt }: Taken): boolean {
    const progress = this.progress();
    if (progress.pairs < progress.wantedPairs) return true;
    const { width, height } = this.#size;
    const newCell = SIDES.some((side) => {
      const { counts } = measureCoverage([pair[side]], width, height);
      return counts.some((count, cell) => count > 0 && progress[side].counts[cell] === 0);
    });
    const newTilt =
      tilt !== undefined && tiltSides(tilt).some((side) => progress.tilts[side] < GUIDE_GOALS.tilted);
    return newCell || newTilt || progress.precise === false;
  }
}
