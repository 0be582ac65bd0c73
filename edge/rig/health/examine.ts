// SPDX-License-Identifier: Apache-2.0
// Examines given pairs: figures and a verdict, and where there is none, whether the images are swapped or mirrored.
import {
  type AlignmentLook,
  identityMap,
  PairAligner,
  type PairAlignerOptions,
} from "../../../camera/index.js";
import type { InputLayout } from "../../contracts/rig.js";
import { type AlignmentFigures, inWords, joined, typicalDisparity } from "./figures.js";
import { type LookGeometry, lookOptions } from "./look-options.js";
import { findProblem, type PairProblem, problem } from "./problem.js";

export interface CapturedPair {
  left: Uint8Array;
  right: Uint8Array;
}

export interface Limits {
  maxRows: number;
  maxDegrees: number;
}

export interface Examination {
  pairs: number;
  /** Undefined if the pairs do not determine them. */
  figures: AlignmentFigures | undefined;
  /** Undefined: the cameras lie as the calibration says. */
  problem: PairProblem | undefined;
}

/** Looks at pairs: a PairAligner, or a test double of it. */
export type PairLooker = Pick<PairAligner, "look" | "close">;

/** An image twice as wide adds nothing, and takes four times as long. */
const MAX_WIDTH = 1600;
/** Pairs on which the ways to mount cameras wrongly are tried. */
const TRIED = 3;
/** From fewer features, a rotation must exceed its limit by so many standard deviations: their errors are alike. */
const FEW_FEATURES = 200;
const SURE_DEVIATIONS = 3;
const SUIT_NO_RIG: readonly string[] = ["PAIR_UNRELATED", "PAIR_UNRECTIFIED"];

/** A rig that has only moved is rarely so far off. */
const SUSPICIOUS_ROWS = 4;

/** A map that reads the captured image as it was before it was flipped. */
function flipped(map: Int32Array, across: number | undefined, down: number | undefined): Int32Array {
  const result = map.slice();
  for (let i = 0; i < map.length; i += 2) {
    if (across !== undefined) result[i] = 32 * (across - 1) - map[i]!;
    if (down !== undefined) result[i + 1] = 32 * (down - 1) - map[i + 1]!;
  }
  return result;
}

export class Examiner {
  readonly #layout: InputLayout;
  readonly #geometry: LookGeometry;
  readonly #openAligner: (options: PairAlignerOptions) => PairLooker;
  readonly #aligner: PairLooker;
  readonly #looks: AlignmentLook[] = [];
  /** Pairs for the attempts that follow if they suit no rig. */
  readonly #kept: CapturedPair[] = [];
  #identical = 0;

  /** @throws DepthwattError ENGINE_PARAMETER, MEMORY_EXHAUSTED, ADDON_MISSING */
  constructor(
    layout: InputLayout,
    geometry: LookGeometry,
    openAligner: (options: PairAlignerOptions) => PairLooker = (options) => new PairAligner(options),
  ) {
    this.#layout = layout;
    this.#geometry = geometry;
    this.#openAligner = openAligner;
    this.#aligner = this.#alignerFor(layout, geometry);
  }

  #alignerFor(layout: InputLayout, geometry: LookGeometry): PairLooker {
    const { width, height } = geometry.view;
    const rows = Math.max(32, Math.round(height / 12));
    const reach = { maxWidth: MAX_WIDTH, rows, minDisparity: -(width >> 1), maxDisparity: width >> 1 };
    return this.#openAligner(lookOptions(layout, geometry, reach));
  }

  /** The memory may be used again afterwards. */
  add({ left, right }: CapturedPair): void {
    if (Buffer.compare(left, right) === 0) this.#identical++;
    this.#looks.push(this.#aligner.look(left, right));
    if (this.#kept.length < TRIED) this.#kept.push({ left: left.slice(), right: right.slice() });
  }

  get pairs(): number {
    return this.#looks.length;
  }

  /** Ends it. At least one pair was added. */
  finish(limits: Limits): Examination {
    this.#aligner.close();
    const { view, calibrated } = this.#geometry;
    const pairs = this.#looks.length;
    const found = findProblem(this.#looks, this.#geometry);
    if (found !== undefined) {
      return {
        pairs,
        figures: undefined,
        problem: SUIT_NO_RIG.includes(found.code) ? this.#tryOthers(found) : found,
      };
    }
    if (this.#identical > 0) {
      const which = pairs === 1 ? "" : `, in ${this.#identical} of ${pairs} pairs`;
      const text = `the left and the right image are the same picture${which}`;
      return { pairs, figures: undefined, problem: problem("PAIR_IDENTICAL", text) };
    }
    const figures = joined(this.#looks, view, calibrated)?.figures;
    if (figures === undefined) {
      return {
        pairs,
        figures,
        problem: problem("PAIR_UNRELATED", "too few features suit one position of the cameras"),
      };
    }
    const moved = misaligned(figures, limits, calibrated);
    // Exchanged images of calibrated cameras are some degrees off, and suit the calibration better the other way round.
    const { p95 } = figures.rows;
    const swapped =
      moved !== undefined && calibrated && p95 > SUSPICIOUS_ROWS ? this.#swapped(p95) : undefined;
    return swapped === undefined
      ? { pairs, figures, problem: moved }
      : { pairs, figures: undefined, problem: swapped };
  }

  /** How the images would have to be for the pairs to suit the rig. */
  #tryOthers(found: PairProblem): PairProblem {
    const { width, height } = this.#layout;
    const whole = this.#geometry.maps ?? {
      leftMap: identityMap(width, height),
      rightMap: identityMap(width, height),
    };
    const right = (across?: number, down?: number) => ({
      ...this.#geometry,
      maps: { ...whole, rightMap: flipped(whole.rightMap, across, down) },
    });
    const swapped = this.#swapped(Number.POSITIVE_INFINITY);
    if (swapped !== undefined) return swapped;
    const mirrored = this.#tried(right(width), false)?.disparity;
    if (mirrored !== undefined)
      return problem("PAIR_MIRRORED", `the ${mirrored > 0 ? "right" : "left"} image is mirrored`);
    const turned = this.#tried(right(width, height), false)?.disparity;
    if (turned !== undefined)
      return problem("PAIR_MIRRORED", `the ${turned > 0 ? "right" : "left"} image is upside down`);
    if (this.#tried(right(undefined, height), false) !== undefined)
      return problem("PAIR_MIRRORED", "one of the images is mirrored top to bottom");
    return found;
  }

  /** @param rows a pair that is not exchanged is so far off */
  #swapped(rows: number): PairProblem | undefined {
    const exchanged = this.#tried(this.#geometry, true);
    if (exchanged === undefined || exchanged.disparity < 0 || 2 * exchanged.rows > rows) return undefined;
    return problem("PAIR_SWAPPED", "left and right are swapped: exchanged, the images suit the calibration");
  }

  /** The typical disparity, and how far rows are apart, where the pairs suit this geometry. */
  #tried(geometry: LookGeometry, exchanged: boolean): { disparity: number; rows: number } | undefined {
    const { leftFormat, rightFormat, leftStrideBytes, rightStrideBytes } = this.#layout;
    const layout = exchanged
      ? {
          ...this.#layout,
          leftFormat: rightFormat,
          rightFormat: leftFormat,
          leftStrideBytes: rightStrideBytes,
          rightStrideBytes: leftStrideBytes,
        }
      : this.#layout;
    const aligner = this.#alignerFor(layout, geometry);
    const looks = this.#kept.map(({ left, right }) =>
      exchanged ? aligner.look(right, left) : aligner.look(left, right),
    );
    aligner.close();
    const trouble = findProblem(looks, geometry);
    if (trouble !== undefined && trouble.code !== "PAIR_SWAPPED") return undefined;
    const rows = looks.reduce((sum, { p95Rows }) => sum + p95Rows / looks.length, 0);
    return { disparity: typicalDisparity(looks), rows };
  }
}

/** Returns one standard deviation of the total rotation, degrees: that of its angles, each by its share of the total. */
function largestDeviation({ rotationDegrees, deviationDegrees }: AlignmentFigures): number {
  const parts = (["pitch", "yaw", "roll"] as const).flatMap((angle) => {
    const [value, deviation] = [rotationDegrees[angle], deviationDegrees[angle]];
    return typeof value === "number" && typeof deviation === "number" ? [value * deviation] : [];
  });
  return rotationDegrees.total > 0 ? Math.hypot(...parts) / rotationDegrees.total : 0;
}

/** Returns a problem where the rows or angles exceed the limits. */
function misaligned(
  figures: AlignmentFigures,
  { maxRows, maxDegrees }: Limits,
  calibrated: boolean,
): PairProblem | undefined {
  const margin = figures.features < FEW_FEATURES ? SURE_DEVIATIONS * largestDeviation(figures) : 0;
  const turned = figures.rotationDegrees.total - margin;
  if (figures.rows.p95 <= maxRows && turned <= maxDegrees) return undefined;
  const found = inWords(figures);
  return calibrated
    ? problem("RIG_MOVED", `the cameras have moved: ${found}`)
    : problem("PAIR_UNRECTIFIED", `the images are not rectified well enough: ${found}`);
}
