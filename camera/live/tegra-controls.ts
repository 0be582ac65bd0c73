// SPDX-License-Identifier: Apache-2.0
// Sets the controls by which NVIDIA's sensor drivers take a rate and release the capture unit. Untested on hardware.
import type { CameraControls } from "v4l2-camera/parts";

/** Units of the frame_rate control per hertz. */
const FRAME_RATE_UNITS = 1e6;

export interface TegraSetup {
  /** Rate that the driver kept; undefined: the camera has no such control, or no rate was requested. */
  rateHz: number | undefined;
  /** Controls that the driver refused. */
  notes: string[];
}

/**
 * NVIDIA's drivers ignore VIDIOC_S_PARM; their control frame_rate takes millionths of a hertz, and limits the exposure
 * time, so it is set before all other controls. bypass_mode 1 leaves images to NVIDIA's ISP; V4L2 needs 0, and some
 * drivers refuse to set it (ERANGE) although it is 0 already. Cameras of other drivers are left alone.
 */
export function prepareTegra(
  driver: string,
  controls: CameraControls,
  requestedHz: number | undefined,
): TegraSetup {
  const notes: string[] = [];
  let rateHz: number | undefined;
  if (!/tegra/.test(driver)) return { rateHz, notes };
  const apply = (name: string, value: number): number | undefined => {
    if (controls.find(name)?.writable !== true) return undefined;
    try {
      return controls.apply(name, value).got ?? value;
    } catch (error) {
      notes.push(`${(error as Error).message}. The stream starts without it.`);
      return controls.read(name);
    }
  };
  if (controls.read("bypass_mode") !== 0) apply("bypass_mode", 0);
  if (requestedHz !== undefined) {
    const control = controls.find("frame_rate");
    const [low, high] =
      control === undefined || control.maximum <= control.minimum
        ? [0, Number.POSITIVE_INFINITY]
        : [control.minimum, control.maximum];
    const kept = apply(
      "frame_rate",
      Math.min(Math.max(Math.round(FRAME_RATE_UNITS * requestedHz), low), high),
    );
    if (kept !== undefined && kept > 0) rateHz = kept / FRAME_RATE_UNITS;
  }
  return { rateHz, notes };
}
