// SPDX-License-Identifier: Apache-2.0
// Two cameras, or one that has both images side by side, as a source of pairs. open-source.ts makes one.
import {
  type CameraFrame,
  type ClockReport,
  driftPpm,
  Pairer,
  pairWindowNs,
  Rephaser,
  type Side,
  SkewStatistics,
  type SupervisedCamera,
  type V4l2Camera,
} from "v4l2-camera/parts";
import { DepthwattError } from "../../core/index.js";
import type { CaptureMemory, PairSource, SourceCounters, SourceDescription, SourceEvents } from "../frame.js";
import { type CameraImage, type CameraImageLayout, CameraImages, PairPool } from "./camera-image.js";
import type { DefectivePixels } from "./defects.js";
import { asDepthwattError } from "./errors.js";
import type { ExposureLoop } from "./exposure-loop.js";
import type { OtherCamera } from "./other-camera.js";
import { RateWatch } from "./rate-watch.js";
import { RowCheck } from "./row-check.js";
import { SkewWatch } from "./skew-watch.js";

export interface V4l2Parts {
  description: SourceDescription;
  /** Two cameras, or one that has both images. */
  cameras: { left: SupervisedCamera; right: SupervisedCamera | undefined };
  other?: OtherCamera | undefined;
  /** Rates that the drivers report, Hz; 0 if they report none. */
  reportedHz: Record<Side, number>;
  layouts: { left: CameraImageLayout; right: CameraImageLayout };
  defects: DefectivePixels | undefined;
  maxSkewMs: number | undefined;
  rephase: boolean;
  /** Created again when a camera came back, since its controls begin at their defaults. */
  makeExposure(): ExposureLoop;
  monotonicNs(): bigint;
}

export class V4l2Source implements PairSource {
  readonly description: SourceDescription;
  readonly #parts: V4l2Parts;
  readonly #sides: { left: CameraImages; right: CameraImages };
  readonly #pool = new PairPool();
  readonly #pairer: Pairer<CameraImage>;
  readonly #skew = new SkewStatistics();
  readonly #watch: SkewWatch;
  readonly #rephaser: Rephaser | undefined;
  readonly #unpaired: Record<Side, Record<string, number>> = { left: {}, right: {} };
  readonly #lost = new Map<Side, string>();
  #exposure: ExposureLoop | undefined;
  #degraded = false;
  #pairs = 0;
  #events: SourceEvents | undefined;
  #stopping: Promise<void> | undefined;

  constructor(parts: V4l2Parts) {
    this.#parts = parts;
    this.description = parts.description;
    this.#sides = {
      left: new CameraImages(parts.layouts.left, parts.defects?.left),
      right: new CameraImages(parts.layouts.right, parts.defects?.right),
    };
    this.#watch = new SkewWatch({ maxSkewMs: parts.maxSkewMs, rephase: parts.rephase });
    this.#rephaser = parts.rephase && parts.cameras.right ? new Rephaser() : undefined;
    this.#pairer = new Pairer<CameraImage>(this.#windowNs(), {
      onPair: (left, right) => this.#deliver(left, right),
      onUnpaired: (side, image, cause) => {
        this.#unpaired[side][cause] = (this.#unpaired[side][cause] ?? 0) + 1;
        image.release();
        if (cause === "unmatched") this.#warn(this.#watch.addUnmatched(this.#periodNs()));
      },
    });
  }

  get inputMemory(): PairSource["inputMemory"] {
    const { left, right } = this.#parts.cameras;
    const memory = [left.inputMemory ?? [], right?.inputMemory ?? []].flat();
    return memory.length === 0 ? undefined : memory;
  }

  isAway(): boolean {
    const { left, right } = this.#parts.cameras;
    return left.away || (right?.away ?? false);
  }

  /** Largest time between the two images of a pair, ns. */
  get windowNs(): number {
    return this.#pairer.windowNs;
  }

  /** CPU time of the cameras' threads so far, ns. */
  threadNs(): number {
    const { left, right } = this.#parts.cameras;
    const of = (camera: SupervisedCamera | undefined) => camera?.camera?.native.statistics().threadNs ?? 0;
    return of(left) + of(right);
  }

  start(events: SourceEvents): void {
    if (this.#events) throw new DepthwattError("INTERNAL", "a camera source was started twice");
    this.#events = events;
    this.#exposure = this.#parts.makeExposure();
    const { left, right } = this.#parts.cameras;
    this.#parts.other?.start({
      onProblem: () => this.#reportState(),
      onWarning: (message) => this.#warn(message),
    });
    const leftRows = new RowCheck(left.camera!.path);
    this.#startCamera("left", left, (camera, frame) => {
      const image = this.#sides.left.of(camera, frame);
      this.#warn(leftRows.add(image));
      this.#exposure?.look(image);
      if (right) this.#push("left", image);
      else this.#deliver(image, this.#sides.right.of(camera, frame));
    });
    if (!right) return;
    const rightRows = new RowCheck(right.camera!.path);
    this.#startCamera("right", right, (camera, frame) => {
      const image = this.#sides.right.of(camera, frame);
      this.#warn(rightRows.add(image));
      this.#push("right", image);
    });
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  captureMemory(): Record<string, CaptureMemory> {
    const { left, right } = this.#parts.cameras;
    const name = ({ inputMemory }: SupervisedCamera): CaptureMemory => {
      const first = inputMemory?.[0];
      return first === undefined ? "mmap" : "dmaBuffer" in first ? "dmabuf" : "userptr";
    };
    const other = this.#parts.other?.camera;
    return { left: name(left), ...(right && { right: name(right) }), ...(other && { other: name(other) }) };
  }

  captureClocks(): Record<string, ClockReport> {
    const { left, right } = this.#parts.cameras;
    const reports: Record<string, ClockReport> = {};
    for (const [side, camera] of Object.entries({ left, right, other: this.#parts.other?.camera })) {
      const report = camera?.clock.report;
      if (report !== undefined) reports[side] = report;
    }
    return reports;
  }

  counters(): SourceCounters {
    const { left, right } = this.#parts.cameras;
    return {
      pairs: this.#pairs,
      dropsLeft: { ...left.drops(), ...this.#unpaired.left },
      dropsRight: { ...(right ?? left).drops(), ...this.#unpaired.right },
      skewMsMean: this.#skew.meanMs,
      skewMsP99: this.#skew.p99Ms,
      driftPpm: right ? driftPpm(left.period, right.period) : undefined,
      ...(this.#parts.other && { other: this.#parts.other.counters() }),
    };
  }

  async #stop(): Promise<void> {
    this.#pairer.clear();
    const { left, right } = this.#parts.cameras;
    await Promise.all([left.stop(), right?.stop(), this.#parts.other?.stop()]);
    await this.#pool.whenEmpty();
  }

  #startCamera(
    side: Side,
    camera: SupervisedCamera,
    onFrame: (camera: V4l2Camera, frame: CameraFrame) => void,
  ): void {
    const rate = new RateWatch(camera.camera!.path, this.#parts.reportedHz[side]);
    camera.start({
      onFrame: (opened, frame) => {
        this.#warn(rate.add(frame.dequeuedNumberNs - frame.ageNs, frame.lostBefore));
        onFrame(opened, frame);
      },
      onLost: (reason) => {
        rate.reset();
        this.#lost.set(side, reason);
        this.#pairer.clear();
        this.#degraded = true;
        this.#reportState();
      },
      onBack: () => {
        this.#lost.delete(side);
        this.#exposure = this.#parts.makeExposure();
      },
      onError: (error) => this.#events!.onError(asDepthwattError(error)),
    });
  }

  #push(side: Side, image: CameraImage): void {
    this.#pairer.windowNs = this.#windowNs();
    this.#pairer.push(side, image);
  }

  #windowNs(): number {
    const { left, right } = this.#parts.cameras;
    const { maxSkewMs } = this.#parts;
    return pairWindowNs(
      left.period.periodNs,
      right?.period.periodNs,
      maxSkewMs === undefined ? undefined : maxSkewMs * 1e6,
    );
  }

  #periodNs(): number {
    return this.#parts.cameras.left.period.periodNs ?? 1e9 / 30;
  }

  #deliver(left: CameraImage, right: CameraImage): void {
    const skewNs = Number(right.timestampNs - left.timestampNs);
    this.#pairs++;
    this.#skew.add(left.timestampNs, right.timestampNs);
    this.#warn(this.#watch.addPair(skewNs, this.#periodNs()));
    if (this.#degraded && this.#lost.size === 0) {
      this.#degraded = false;
      this.#reportState();
    }
    this.#shiftPhase(skewNs, left.timestampNs);
    const other = this.#parts.other?.take(left.timestampNs, this.#periodNs());
    this.#events!.onPair(this.#pool.make(left, right, other));
  }

  /** Reports why the source is degraded: the pair's cameras before the further one. */
  #reportState(): void {
    const problem = this.#parts.other?.counters().problem;
    if (this.#degraded) {
      // Until pairs come again the last reason holds.
      if (this.#lost.size > 0) this.#events!.onDegraded([...this.#lost.values()].join(" "));
    } else this.#events!.onDegraded(problem?.reason, problem?.code);
  }

  #shiftPhase(skewNs: number, leftNs: bigint): void {
    const right = this.#parts.cameras.right;
    if (!this.#rephaser || right?.startLatencyNs === undefined) return;
    const decision = this.#rephaser.add(
      skewNs,
      Number(leftNs),
      Number(this.#parts.monotonicNs()),
      this.#periodNs(),
      right.startLatencyNs,
    );
    if (decision.kind === "restart") right.restartAt(decision.atNs);
    if (decision.kind === "givenUp") {
      const ms = (Math.abs(decision.skewNs) / 1e6).toFixed(1);
      this.#warn(
        `The cameras stay ${ms} ms out of step after several restarts: they need a common trigger line.`,
      );
    }
  }

  #warn(message: string | undefined): void {
    if (message !== undefined) this.#events?.onWarning?.(message);
  }
}
