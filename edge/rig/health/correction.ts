// SPDX-License-Identifier: Apache-2.0
// Takes the measured rotation of the right camera off, where health.correct asks for it: when it is steady, within a bound, by a map
// that is turned between frames. The calibration on disk stays as it is.
import { type MapTurn, rotationMatrix, turnMap } from "../../../camera/index.js";
import { median } from "../../../core/index.js";
import type { Unavailable } from "../../contracts/availability.js";
import type { Alignment, AlignmentView } from "./estimate.js";

export interface CorrectionFigures {
  /** Degrees about x, y and z that are corrected now; all 0: none. */
  pitch: number;
  yaw: number;
  roll: number;
  /** How often it was changed. */
  changes: number;
  /** The reason why the measured rotation is not corrected. */
  refused: string | null;
}

/** The map of the calibration, and where the engine gets another one. */
export interface CorrectedRig {
  view: AlignmentView;
  inputWidth: number;
  inputHeight: number;
  rightMap: Int32Array;
  setRightMap(map: Int32Array): void;
}

export interface CorrectionEvents {
  /** The map is another one from the next frame on. */
  onChange(sentence: string): void;
  onRefused(sentence: string): void;
}

/** Number of estimates that must agree before a correction, how well, and how far they must be from the current one. */
const ESTIMATES = 5;
const AGREE_DEGREES = 0.04;
const MOVES_DEGREES = 0.03;
/** Yaw is less sure than the others, and moves every depth: less of it than this is left alone. */
const LEAST_YAW_DEGREES = 0.05;
const SHORTEST_MS = 5000;
const DEGREES = 180 / Math.PI;

type Angles = readonly [pitch: number, yaw: number, roll: number];
const NONE: Angles = [0, 0, 0];

const length = (angles: readonly number[]) => Math.hypot(...angles);

export class RigCorrection {
  readonly #rig: CorrectedRig;
  #maxDegrees: number;
  readonly #events: CorrectionEvents;
  readonly #turn: (turn: MapTurn) => Promise<Int32Array>;
  readonly #now: () => number;
  readonly #recent: Angles[] = [];
  #applied: Angles = NONE;
  #map: Int32Array;
  #changes = 0;
  #changedMs = Number.NEGATIVE_INFINITY;
  #refused: string | undefined;
  #turning = false;
  #closed = false;

  constructor(
    rig: CorrectedRig,
    maxDegrees: number,
    events: CorrectionEvents,
    turn: (turn: MapTurn) => Promise<Int32Array> = turnMap,
    now: () => number = () => performance.now(),
  ) {
    this.#rig = rig;
    this.#maxDegrees = maxDegrees;
    this.#events = events;
    this.#turn = turn;
    this.#now = now;
    this.#map = rig.rightMap;
  }

  /** True if the engine reads another map than that of the calibration. */
  get active(): boolean {
    return length(this.#applied) > 0;
  }

  /** The rectification map by which the engine reads the right image. */
  get rightMap(): Int32Array {
    return this.#map;
  }

  /** Adds an estimate against the calibration, independent of the current correction. */
  take({ terms: { pitch, yaw, roll } }: Pick<Alignment, "terms">): void {
    this.#recent.push([pitch.value * DEGREES, yaw.value * DEGREES, roll.value * DEGREES]);
    if (this.#recent.length > ESTIMATES) this.#recent.shift();
    if (this.#recent.length < ESTIMATES || this.#turning || this.#now() - this.#changedMs < SHORTEST_MS)
      return;
    const axis = (at: 0 | 1 | 2) => this.#recent.map((angles) => angles[at]);
    const spread = (values: readonly number[]) => Math.max(...values) - Math.min(...values);
    if (spread(axis(0)) > AGREE_DEGREES || spread(axis(2)) > AGREE_DEGREES) return;
    const yawDegrees = median(axis(1));
    const yawCounts = Math.abs(yawDegrees) >= LEAST_YAW_DEGREES && spread(axis(1)) <= 2 * AGREE_DEGREES;
    this.#want([median(axis(0)), yawCounts ? yawDegrees : 0, median(axis(2))]);
  }

  #want(measured: Angles): void {
    if (length(measured) > this.#maxDegrees) {
      if (this.#refused === undefined) {
        this.#refused = `a rotation of ${length(measured).toFixed(2)} degrees exceeds health.maxCorrectionDegrees`;
        this.#events.onRefused(this.#refused);
      }
      return;
    }
    this.#refused = undefined;
    // A rig that has moved back gets the map of its calibration back, not one that is turned by what noise says.
    const wanted = length(measured) < MOVES_DEGREES ? NONE : measured;
    const step = wanted.map((angle, at) => angle - this.#applied[at]!);
    if (length(step) < MOVES_DEGREES && (wanted !== NONE || !this.active)) return;
    this.#turning = true;
    this.#turned(wanted)
      .then((map) => {
        if (!this.#closed) this.#apply(wanted, map);
      })
      .catch((error: Error) => {
        this.#refused = error.message;
        this.#events.onRefused(error.message);
      })
      .finally(() => {
        this.#turning = false;
      });
  }

  async #turned(angles: Angles): Promise<Int32Array> {
    const { view, inputWidth, inputHeight, rightMap: map } = this.#rig;
    if (length(angles) === 0) return map;
    const [pitch, yaw, roll] = angles.map((angle) => angle / DEGREES) as unknown as Angles;
    const rotation = Float64Array.from(rotationMatrix([pitch, yaw, roll]));
    return this.#turn({ ...view, inputWidth, inputHeight, map, rotation });
  }

  #apply(angles: Angles, map: Int32Array): void {
    this.#rig.setRightMap(map);
    this.#map = map;
    this.#applied = angles;
    this.#changes++;
    this.#changedMs = this.#now();
    const [pitch, yaw, roll] = angles.map((angle) => angle.toFixed(3));
    this.#events.onChange(
      this.active
        ? `health.correct corrects a rotation of the right camera: pitch ${pitch}, yaw ${yaw}, roll ${roll} degrees`
        : "health.correct corrects nothing any more: the map of the calibration is used again",
    );
  }

  /** Sets the bound: a correction beyond it is undone at once. */
  setMaxDegrees(maxDegrees: number): void {
    this.#maxDegrees = maxDegrees;
    this.#refused = undefined;
    if (length(this.#applied) > maxDegrees) this.#apply(NONE, this.#rig.rightMap);
  }

  /** Ends it: the map is that of the calibration again. */
  undo(): void {
    this.close();
    if (this.active) this.#apply(NONE, this.#rig.rightMap);
  }

  figures(): CorrectionFigures {
    const [pitch, yaw, roll] = this.#applied.map(
      (angle) => Number(angle.toFixed(4)) + 0,
    ) as unknown as Angles;
    return { pitch, yaw, roll, changes: this.#changes, refused: this.#refused ?? null };
  }

  close(): void {
    this.#closed = true;
  }
}

export type CorrectionReport = CorrectionFigures | Unavailable;
