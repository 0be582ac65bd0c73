// SPDX-License-Identifier: Apache-2.0
// A further camera next to the pair. Each pair takes the image nearest to its time that is there already; nothing waits for this
// camera, and it may be lost and return while the pairs continue.
import type { SupervisedCamera } from "v4l2-camera/parts";
import { isDepthwattError } from "../../core/index.js";
import type { OtherCounters } from "../frame.js";
import { type CameraImage, type CameraImageLayout, CameraImages, type LentImage } from "./camera-image.js";
import { asDepthwattError } from "./errors.js";
import { RateWatch } from "./rate-watch.js";
import { RowCheck } from "./row-check.js";

/** Images kept for the pairs to come: the newest, and one before it, which may be nearer. */
const KEPT = 2;

export interface OtherCameraEvents {
  /** The camera delivers no images, or does again (undefined). */
  onProblem(problem: OtherCounters["problem"]): void;
  onWarning(message: string): void;
}

/** An image that several pairs may have, for a camera slower than they are. */
class SharedImage {
  readonly image: CameraImage;
  /** A pair has taken it. */
  taken = false;
  #users = 1;

  constructor(image: CameraImage) {
    this.image = image;
  }

  share(): void {
    this.#users += 1;
  }

  release(): void {
    if (--this.#users === 0) this.image.release();
  }
}

export class OtherCamera {
  readonly #camera: SupervisedCamera;
  readonly #images: CameraImages;
  readonly #rate: RateWatch;
  readonly #path: string;
  #kept: SharedImage[] = [];
  #events: OtherCameraEvents | undefined;
  #problem: OtherCounters["problem"];
  #pairs = 0;
  #offsetNs: number | undefined;
  #unused = 0;
  readonly #missed: Record<string, number> = {};

  /** @param reportedHz rate that the driver reports, 0 if it reports none */
  constructor(camera: SupervisedCamera, layout: CameraImageLayout, reportedHz: number) {
    this.#camera = camera;
    this.#images = new CameraImages(layout);
    this.#path = camera.camera!.path;
    this.#rate = new RateWatch(this.#path, reportedHz);
  }

  get camera(): SupervisedCamera {
    return this.#camera;
  }

  start(events: OtherCameraEvents): void {
    this.#events = events;
    const rows = new RowCheck(this.#path);
    this.#camera.start({
      onFrame: (camera, frame) => {
        this.#warn(this.#rate.add(frame.dequeuedNumberNs - frame.ageNs, frame.lostBefore));
        const image = this.#images.of(camera, frame);
        this.#warn(rows.add(image));
        this.#kept.push(new SharedImage(image));
        if (this.#kept.length > KEPT) this.#forget(this.#kept.shift()!);
      },
      onLost: (reason) => this.#lose("DEVICE_UNAVAILABLE", reason),
      onBack: () => this.#setProblem(undefined),
      onError: (error) => {
        const known = asDepthwattError(error);
        this.#lose(isDepthwattError(known) ? known.code : "DEVICE_UNAVAILABLE", error.message);
      },
    });
  }

  /**
   * Returns the image nearest to a pair's time, lent until it is released; undefined if none is near enough.
   * @param periodNs of the pairs
   */
  take(timestampNs: bigint, periodNs: number): LentImage | undefined {
    const distanceNs = ({ image }: SharedImage) => Math.abs(Number(image.timestampNs - timestampNs));
    const [first, ...others] = this.#kept;
    if (first === undefined) {
      this.#miss(this.#problem === undefined ? "none" : "lost");
      return undefined;
    }
    const nearest = others.reduce((best, one) => (distanceNs(one) <= distanceNs(best) ? one : best), first);
    if (distanceNs(nearest) > Math.max(periodNs, this.#camera.period.periodNs ?? 0)) {
      this.#miss("late");
      return undefined;
    }
    nearest.share();
    nearest.taken = true;
    this.#pairs += 1;
    this.#offsetNs = Number(nearest.image.timestampNs - timestampNs);
    return { image: nearest.image, release: () => nearest.release() };
  }

  counters(): OtherCounters {
    return {
      pairs: this.#pairs,
      missed: { ...this.#missed },
      drops: { ...this.#camera.drops(), ...(this.#unused > 0 && { unused: this.#unused }) },
      offsetNs: this.#offsetNs,
      problem: this.#problem,
    };
  }

  async stop(): Promise<void> {
    this.#forgetAll();
    await this.#camera.stop();
  }

  #lose(code: string, reason: string): void {
    this.#rate.reset();
    this.#forgetAll();
    this.#setProblem({
      code,
      reason: `${reason} Pairs continue without the images of ${this.#path} (source.v4l2.other).`,
    });
  }

  #setProblem(problem: OtherCounters["problem"]): void {
    this.#problem = problem;
    this.#events?.onProblem(problem);
  }

  #forgetAll(): void {
    for (const one of this.#kept.splice(0)) this.#forget(one);
  }

  #forget(one: SharedImage): void {
    if (!one.taken) this.#unused += 1;
    one.release();
  }

  #miss(cause: string): void {
    this.#missed[cause] = (this.#missed[cause] ?? 0) + 1;
  }

  #warn(message: string | undefined): void {
    if (message !== undefined) this.#events?.onWarning(message);
  }
}
