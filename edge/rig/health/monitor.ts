// SPDX-License-Identifier: Apache-2.0
// Watches the rig while frames are computed: a look now and then, on its own thread, and what becomes of many looks.
import type { AlignmentLook, PairAligner } from "../../../camera/index.js";
import type { Unavailable } from "../../contracts/availability.js";
import type { Alignment } from "./estimate.js";
import { type AlignmentFigures, inWords, joined } from "./figures.js";
import type { LookGeometry } from "./look-options.js";
import { findProblem, type PairProblem, problem } from "./problem.js";

export interface MonitorLimits {
  maxRows: number;
  maxDegrees: number;
}

export interface HealthReport {
  /** The current problem; it needs some looks to begin and to end. Null: none. */
  problem: { code: string; text: string } | null;
  /** Figures of the newest looks. The rotation is that against the calibration, with or without a correction. */
  alignment: AlignmentFigures | Unavailable;
  looks: number;
  /** CPU time of the looks since the start, of one core. */
  cpuPercent: number;
}

export interface MonitorEvents {
  /** The problem began, changed its kind or ended (undefined). */
  onProblem(problem: PairProblem | undefined): void;
  /** A look whose features suit the rig. */
  onAlignment?(alignment: Alignment, features: number): void;
}

/** Looks at pairs: PairAligner, or a test double of it. */
export type Looker = Pick<PairAligner, "begin" | "take" | "close">;

/** Looks come no closer than this, and no closer than so many times what they cost: 0.8 % of one core. */
const SHORTEST_MS = 500;
const COST_TIMES = 120;
/** Looks that are joined. */
const JOINED = 2;
/** A finding is reported after this many consecutive checks have agreed, over this time. */
const VOTES = 2;
const BEGINS_MS = 1500;
const ENDS_MS = 3000;
/** A problem of the rig ends well below the limit at which it began. */
const ENDS_BELOW = 0.7;
/** Problems that a run reports as its state; a dark scene or a cap on a lens is only in the figures. */
const REPORTED: readonly string[] = ["RIG_MOVED", "PAIR_SWAPPED", "PAIR_UNRECTIFIED", "PAIR_BLURRED"];

export class RigMonitor {
  readonly #looker: Looker;
  readonly #geometry: LookGeometry;
  readonly #events: MonitorEvents;
  readonly #now: () => number;
  readonly #startedMs: number;
  #limits: MonitorLimits;
  #nextMs: number;
  #cpuMs = 0;
  #looks = 0;
  #recent: AlignmentLook[] = [];
  #figures: AlignmentFigures | undefined;
  #unknown: string | undefined;
  #problem: PairProblem | undefined;
  #vote: { code: string | undefined; count: number; sinceMs: number } | undefined;

  constructor(
    looker: Looker,
    geometry: LookGeometry,
    limits: MonitorLimits,
    events: MonitorEvents,
    now: () => number = () => performance.now(),
  ) {
    this.#looker = looker;
    this.#geometry = geometry;
    this.#limits = limits;
    this.#events = events;
    this.#now = now;
    this.#startedMs = now();
    this.#nextMs = now();
  }

  get problem(): PairProblem | undefined {
    return this.#problem;
  }

  /** Other limits, from the next look on. */
  setLimits(limits: MonitorLimits): void {
    this.#limits = limits;
  }

  /** Each frame; copies its images where a look is due. */
  frame(images: { left: { data: Uint8Array }; right: { data: Uint8Array } }): void {
    const now = this.#now();
    const look = this.#looker.take();
    if (look !== undefined) this.#take(look, now);
    if (now < this.#nextMs) return;
    try {
      if (!this.#looker.begin(images.left.data, images.right.data)) return;
    } catch (error) {
      // No thread, or no memory: frames are computed all the same.
      this.#unknown = (error as Error).message;
      this.#nextMs = Number.POSITIVE_INFINITY;
      return;
    }
    const cost = this.#looks > 0 ? this.#cpuMs / this.#looks : 0;
    this.#nextMs = now + Math.max(SHORTEST_MS, COST_TIMES * cost);
  }

  #take(look: AlignmentLook, now: number): void {
    this.#looks++;
    this.#cpuMs += look.cpuMs;
    // The first look says what looks cost.
    this.#nextMs = Math.max(this.#nextMs, now + COST_TIMES * look.cpuMs);
    const { view, calibrated } = this.#geometry;
    const alone = findProblem([look], this.#geometry);
    if (alone !== undefined) {
      this.#recent = [];
      this.#figures = undefined;
      this.#unknown = alone.text;
      if (REPORTED.includes(alone.code)) this.#count(alone, now);
      else this.#vote = undefined;
      return;
    }
    this.#recent = [...this.#recent.slice(1 - JOINED), look];
    const found = joined(this.#recent, view, calibrated);
    this.#figures = found?.figures;
    if (found === undefined) {
      this.#unknown = "too few features suit one position of the cameras";
      return;
    }
    this.#events.onAlignment?.(found.alignment, found.figures.features);
    this.#count(this.#moved(found.figures), now);
  }

  #moved({ rows, rotationDegrees }: AlignmentFigures): PairProblem | undefined {
    const code = this.#geometry.calibrated ? "RIG_MOVED" : "PAIR_UNRECTIFIED";
    const share = this.#problem?.code === code ? ENDS_BELOW : 1;
    const { maxRows, maxDegrees } = this.#limits;
    if (rows.p95 <= share * maxRows && rotationDegrees.total <= share * maxDegrees) return undefined;
    const found = inWords({ rows, rotationDegrees });
    const text = code === "RIG_MOVED" ? "the cameras have moved" : "the images are not rectified well enough";
    return problem(code, `${text}: ${found}`);
  }

  /** A verdict of one look: it holds when it has been said long enough. */
  #count(verdict: PairProblem | undefined, now: number): void {
    if (verdict?.code === this.#problem?.code) {
      this.#vote = undefined;
      // The same, with newer figures.
      this.#problem = verdict;
      return;
    }
    if (this.#vote?.code !== verdict?.code || this.#vote === undefined)
      this.#vote = { code: verdict?.code, count: 0, sinceMs: now };
    this.#vote.count++;
    const wait = verdict === undefined ? ENDS_MS : BEGINS_MS;
    if (this.#vote.count < VOTES || now - this.#vote.sinceMs < wait) return;
    this.#vote = undefined;
    this.#problem = verdict;
    this.#events.onProblem(verdict);
  }

  report(): HealthReport {
    const elapsed = this.#now() - this.#startedMs;
    const unknown = this.#unknown ?? "no pair has been looked at yet";
    const { problem: found } = this;
    return {
      problem: found === undefined ? null : { code: found.code, text: found.text },
      alignment: this.#figures ?? { available: false, reason: unknown },
      looks: this.#looks,
      cpuPercent: elapsed > 0 ? Math.round((1e5 * this.#cpuMs) / elapsed) / 1e3 : 0,
    };
  }

  close(): void {
    this.#looker.close();
  }
}
