// SPDX-License-Identifier: Apache-2.0
// Decides when a run sleeps and wakes: it computes some frames, closes the cameras, and opens them again after an interval or on
// request. The run does the work; this class keeps the state, the time and the energy of the cycles.
import type { FramePair } from "../../camera/index.js";
import type { Unavailable } from "../../power/index.js";
import type { DutyCycleFigures, DutyState } from "../contracts/duty-cycle.js";
import { Motion } from "./motion.js";
import type { DutyCycleSettings } from "./settings.js";
import { Settling } from "./settling.js";

export interface DutyCycleOptions {
  settings: DutyCycleSettings;
  /**
   * Closes the cameras.
   * @param isWanted asked when it is this request's turn: false leaves everything as it is
   */
  sleep(isWanted: () => boolean): Promise<void>;
  /** Opens the cameras if they are closed. */
  wake(isWanted: () => boolean): Promise<void>;
  /** Frames that the engine has or that wait for it. */
  framesInWork(): number;
  /** Energy since the start of the run. */
  joules(): number | Unavailable;
  /** @param reason one clause about the new state */
  onState(reason: string): void;
  /** @param problem why the cameras do not open; undefined: they do again */
  onProblem(problem: string | undefined): void;
  onNotice(notice: string): void;
}

/** How long after a failed attempt the cameras are opened again. */
const RETRY_MS = 2000;

const missing = (reason: string): Unavailable => ({ available: false, reason });

export class DutyCycle {
  readonly #options: DutyCycleOptions;
  #settings: DutyCycleSettings;
  #state: DutyState = "awake";
  #running = false;
  #timer: NodeJS.Timeout | undefined;
  #settling = new Settling(0);
  readonly #motion = new Motion();
  /** The next settled pair is compared with the one of the cycle before, and computed only if it differs. */
  #looks = false;
  /** The last attempt to open the cameras failed. */
  #failed = false;
  #cycleStartMs = 0;
  #cycleFrames = 0;
  #wakes = 0;
  #usefulFrames = 0;
  #asleepMs = 0;
  #asleepSinceMs: number | undefined;
  /** Energy at the start of this cycle; undefined: unknown. */
  #joules: number | undefined;
  #complete = { joules: 0, frames: 0 };

  constructor(options: DutyCycleOptions) {
    this.#options = options;
    this.#settings = options.settings;
  }

  get #isOn(): boolean {
    return this.#settings.frames !== undefined;
  }

  /** Returns whether frames are computed now, and how often the run has woken. */
  get activity(): { computing: boolean; wakes: number } {
    return { computing: !this.#isOn || this.#state === "awake", wakes: this.#wakes };
  }

  /** Returns whether no frame can come now: asleep, or the cameras cannot be opened. */
  get excusesFrames(): boolean {
    return this.#state === "asleep" || (this.#state === "waking" && this.#failed);
  }

  get asleepSeconds(): number {
    const now = performance.now();
    return (this.#asleepMs + now - (this.#asleepSinceMs ?? now)) / 1000;
  }

  get figures(): DutyCycleFigures {
    if (!this.#isOn) return missing("power.dutyCycle.frames is not set");
    return {
      available: true,
      state: this.#state,
      wakes: this.#wakes,
      usefulFrames: this.#usefulFrames,
      asleepSeconds: this.asleepSeconds,
      joulesPerUsefulFrame: this.#joulesPerUsefulFrame(),
    };
  }

  #joulesPerUsefulFrame(): number | Unavailable {
    const { joules, frames } = this.#complete;
    if (frames > 0) return joules / frames;
    const now = this.#options.joules();
    return typeof now === "number" ? missing("no cycle with a frame is complete yet") : now;
  }

  /** The run begins: its cameras are about to start. */
  begin(): void {
    this.#running = true;
    // The meter counts from here.
    this.#joules = 0;
    if (this.#isOn) this.#startCycle(true);
  }

  end(): void {
    this.#running = false;
    clearTimeout(this.#timer);
  }

  configure(settings: DutyCycleSettings): void {
    const wasOn = this.#isOn;
    this.#settings = settings;
    if (!this.#running) return;
    if (this.#isOn && !wasOn) {
      this.#joules = undefined;
      this.#startCycle(false);
    } else if (!this.#isOn && wasOn) {
      if (this.#state === "asleep") this.#wake();
      else if (this.#state === "settling") this.#enter("awake");
    } else if (this.#state === "asleep") this.#setAlarm();
  }

  /** Another source is in use, and it is open. */
  sourceChanged(): void {
    if (this.#running && (this.#isOn || this.#state !== "awake")) this.#startCycle(true);
  }

  /** Computes the frames of a cycle now, also without motion. @returns false if the run never sleeps */
  request(): boolean {
    if (!this.#isOn || !this.#running) return false;
    if (this.#state === "asleep") this.#wake();
    else if (this.#state === "awake") this.#cycleFrames = 0;
    this.#looks = false;
    return true;
  }

  /** Decides about a captured pair. @returns undefined: it is computed; otherwise the cause of its loss */
  admit({ left }: Pick<FramePair, "left">): string | undefined {
    const { frames } = this.#settings;
    if (frames === undefined) return undefined;
    if (this.#state === "waking") this.#opened();
    if (this.#state === "asleep") return "dutyCycle";
    if (this.#state === "settling") {
      if (!this.#settling.add(left, performance.now())) return "settling";
      this.#enter("awake");
    }
    if (this.#looks) {
      this.#looks = false;
      if (!this.#motion.changed(left)) {
        this.#sleep();
        return "noMotion";
      }
    }
    return this.#cycleFrames + this.#options.framesInWork() >= frames ? "dutyCycle" : undefined;
  }

  /** A frame was computed. */
  frameDone(): void {
    const { frames } = this.#settings;
    if (frames === undefined) return;
    this.#usefulFrames++;
    this.#cycleFrames++;
    if (this.#state === "awake" && this.#cycleFrames >= frames) this.#sleep();
  }

  #enter(state: DutyState): void {
    const now = performance.now();
    this.#asleepMs += now - (this.#asleepSinceMs ?? now);
    this.#asleepSinceMs = state === "asleep" ? now : undefined;
    this.#state = state;
    if (state === "asleep") this.#options.onState("asleep: the cameras are closed until the next wake");
    if (state === "awake") this.#options.onState("awake");
  }

  /** @param settles the exposure of the cameras may still change */
  #startCycle(settles: boolean): void {
    clearTimeout(this.#timer);
    this.#countCycle();
    if (settles) this.#opened();
    else this.#enter("awake");
  }

  /** A cycle ends, and the next one begins. */
  #countCycle(): void {
    const joules = this.#options.joules();
    const now = typeof joules === "number" ? joules : undefined;
    // A meter that has another sensor now began at 0.
    if (now !== undefined && this.#joules !== undefined && now >= this.#joules && this.#wakes > 0) {
      this.#complete.joules += now - this.#joules;
      this.#complete.frames += this.#cycleFrames;
    }
    if (this.#wakes > 0 || now !== undefined) this.#joules = now;
    this.#wakes++;
    this.#cycleFrames = 0;
    this.#cycleStartMs = performance.now();
    this.#looks = this.#settings.wake === "motion";
  }

  #opened(): void {
    this.#settling = new Settling(1000 * this.#settings.settleSeconds);
    if (this.#failed) this.#options.onProblem(undefined);
    this.#failed = false;
    this.#enter(this.#isOn ? "settling" : "awake");
  }

  #sleep(): void {
    const { wake, everySeconds } = this.#settings;
    const isOver = performance.now() - this.#cycleStartMs >= 1000 * everySeconds;
    if (wake !== "request" && isOver) {
      this.#startCycle(false);
      return;
    }
    this.#enter("asleep");
    this.#setAlarm();
    this.#options
      .sleep(() => this.#running && this.#state === "asleep")
      .catch((error: Error) => {
        if (this.#running) this.#options.onNotice(`the cameras stay open: ${error.message}`);
      });
  }

  #setAlarm(): void {
    const { wake, everySeconds } = this.#settings;
    clearTimeout(this.#timer);
    if (wake === "request") return;
    const restMs = this.#cycleStartMs + 1000 * everySeconds - performance.now();
    this.#timer = setTimeout(() => this.#wake(), Math.max(0, restMs));
  }

  #wake(): void {
    clearTimeout(this.#timer);
    this.#countCycle();
    this.#enter("waking");
    this.#open();
  }

  #open(): void {
    const isWanted = () => this.#running && this.#state === "waking";
    this.#options.wake(isWanted).then(
      () => {
        if (isWanted()) this.#opened();
      },
      (error: Error) => {
        if (!isWanted()) return;
        this.#failed = true;
        this.#options.onProblem(error.message);
        this.#timer = setTimeout(() => this.#open(), RETRY_MS);
      },
    );
  }
}
