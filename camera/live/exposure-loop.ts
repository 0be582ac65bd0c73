// SPDX-License-Identifier: Apache-2.0
// Ties the exposure control to two cameras: looks at the left image now and then, writes the same values to both cameras.
import type { CameraControls } from "v4l2-camera/parts";
import type { RawImage } from "../frame.js";
import { ExposureController, type ExposureLimits } from "./exposure.js";
import { sampleHistogram } from "./histogram.js";

const EXPOSURE_NAMES = ["exposure_time_absolute", "exposure_absolute", "exposure", "coarse_integration_time"];
const GAIN_NAMES = ["analogue_gain", "gain", "digital_gain"];
/** A camera that has one of these can do it automatically. */
const AUTOMATIC_NAMES = [
  "auto_exposure",
  "exposure_auto",
  "exposure_auto_priority",
  "gain_automatic",
  "autogain",
];

interface Knobs {
  exposure: string;
  gain: string | undefined;
}

/** The controls to turn; undefined where the camera has no exposure time to set. */
function findKnobs(controls: CameraControls): Knobs | undefined {
  const writable = (name: string) => controls.find(name)?.writable === true;
  const exposure = EXPOSURE_NAMES.find(writable);
  return exposure === undefined ? undefined : { exposure, gain: GAIN_NAMES.find(writable) };
}

/** Why the loop does not run, or that it does. */
export type ExposureState = { on: true } | { on: false; reason: string };

export class ExposureLoop {
  readonly state: ExposureState;
  readonly #cameras: readonly CameraControls[];
  readonly #counts = new Uint32Array(256);
  #knobs: Knobs | undefined;
  #controller: ExposureController | undefined;

  /** @param cameras left first; one for a side-by-side camera */
  constructor(cameras: readonly CameraControls[], mode: "auto" | "on" | "off") {
    this.#cameras = cameras;
    const knobs = cameras.map(findKnobs)[0];
    const automatic = AUTOMATIC_NAMES.find((name) => cameras[0]!.find(name));
    if (mode === "off") this.state = { on: false, reason: "switched off" };
    else if (!knobs) this.state = { on: false, reason: "the camera has no exposure time to set" };
    else if (mode === "auto" && automatic)
      this.state = { on: false, reason: `the camera has its own (${automatic})` };
    else if (!cameras.every((camera) => camera.find(knobs.exposure)))
      this.state = { on: false, reason: `only one camera has the control ${knobs.exposure}` };
    else {
      this.state = { on: true };
      this.#knobs = knobs;
      this.#controller = this.#begin(knobs);
    }
  }

  /** Call with each left image; costs about 20 us at VGA when it looks, nothing while it waits. */
  look(left: RawImage): void {
    if (!this.#controller || !this.#knobs) return;
    if (this.#controller.waits()) return;
    sampleHistogram(left, this.#counts);
    const setting = this.#controller.update(this.#counts);
    if (!setting) return;
    for (const camera of this.#cameras) {
      camera.apply(this.#knobs.exposure, setting.exposure);
      if (this.#knobs.gain && camera.find(this.#knobs.gain)) camera.apply(this.#knobs.gain, setting.gain);
    }
  }

  #begin(knobs: Knobs): ExposureController {
    const left = this.#cameras[0]!;
    const exposure = left.find(knobs.exposure)!;
    const gain = knobs.gain === undefined ? undefined : left.find(knobs.gain)!;
    const limits: ExposureLimits = {
      minExposure: Math.max(1, exposure.minimum),
      maxExposure: exposure.maximum,
      minGain: gain?.minimum ?? 0,
      maxGain: gain?.maximum ?? 0,
      // Drivers do not say what a step of gain does. Proportional above the minimum is close for most sensors, and an
      // error here only makes a step longer or shorter: the next image corrects it.
      gainFactor: (value) => {
        const unit =
          gain && gain.minimum > 0
            ? gain.minimum
            : Math.max(1, ((gain?.maximum ?? 0) - (gain?.minimum ?? 0)) / 15);
        return 1 + (value - (gain?.minimum ?? 0)) / unit;
      },
    };
    return new ExposureController(limits, {
      exposure: left.read(knobs.exposure) ?? exposure.initial,
      gain: knobs.gain === undefined ? 0 : (left.read(knobs.gain) ?? 0),
    });
  }
}
