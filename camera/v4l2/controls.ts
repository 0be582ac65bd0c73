// SPDX-License-Identifier: Apache-2.0
// Camera controls by name: the user's settings applied to one or both eyes and read back, and what differs made equal.
import { DepthwattError } from "../../core/index.js";
import type { Eye } from "../pair/pair.js";
import { cameraError } from "./errors.js";
import type { NativeCamera, NativeControl } from "./native.js";

/** One wish such as exposure_time_absolute=100; without an eye it is for both. */
export interface ControlWish {
  eye: Eye | undefined;
  name: string;
  /** A number, true or false, or the name of a menu's entry. */
  value: string;
}

/** "Exposure Time, Absolute" -> "exposure_time_absolute", as v4l2-ctl writes it. */
export const controlName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");

/** Reads "auto_exposure=1, left.gain=20". @throws DepthwattError CONFIG_INVALID */
export function parseControls(text: string): ControlWish[] {
  return text
    .split(",")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const match = /^(?:(left|right)\.)?([^=]+)=(.+)$/.exec(part);
      if (!match) {
        throw new DepthwattError(
          "CONFIG_INVALID",
          `Expected NAME=VALUE pairs separated by commas for source.v4l2.controls, got "${part}".`,
          { hint: "For example: auto_exposure=1,exposure_time_absolute=100,right.gain=20" },
        );
      }
      return { eye: match[1] as Eye | undefined, name: controlName(match[2]!), value: match[3]!.trim() };
    });
}

/** What a wish came to. */
export interface AppliedControl {
  name: string;
  asked: number;
  /** Read back; undefined for controls that can only be written. */
  got: number | undefined;
}

/** The controls of one open camera. */
export class CameraControls {
  readonly #camera: NativeCamera;
  readonly #byName: Map<string, NativeControl>;

  constructor(camera: NativeCamera) {
    this.#camera = camera;
    this.#byName = new Map(camera.controls().map((control) => [controlName(control.name), control]));
  }

  find(name: string): NativeControl | undefined {
    return this.#byName.get(name);
  }

  /** @throws DepthwattError DEVICE_UNSUITABLE for a control that is not there or a value it does not take */
  apply(name: string, value: string | number): AppliedControl {
    const path = this.#camera.identity.path;
    const control = this.#byName.get(name);
    if (!control) {
      throw new DepthwattError("DEVICE_UNSUITABLE", `${path}: the camera has no control "${name}".`, {
        hint: `It has: ${[...this.#byName.keys()].join(", ") || "none"}.`,
        context: { device: path, control: name },
      });
    }
    const asked = numberOf(control, value, path);
    try {
      this.#camera.writeControl(control.id, control.wide, asked);
    } catch (error) {
      const found = cameraError(error, path);
      if (!(found instanceof DepthwattError)) throw found;
      throw new DepthwattError(found.code, `${found.message} (${name}=${asked}, ${rangeText(control)})`, {
        cause: error,
        context: { device: path, control: name, value: asked },
      });
    }
    return { name, asked, got: this.read(name) };
  }

  read(name: string): number | undefined {
    const control = this.#byName.get(name);
    return control?.readable ? this.#camera.readControl(control.id, control.wide) : undefined;
  }
}

function numberOf(control: NativeControl, value: string | number, path: string): number {
  const text = String(value).trim();
  const choice = control.menu.find((entry) => entry.name.toLowerCase() === text.toLowerCase());
  const words: Record<string, number> = { true: 1, false: 0, on: 1, off: 0 };
  const number = choice?.value ?? words[text.toLowerCase()] ?? (text === "" ? Number.NaN : Number(text));
  const inRange = control.kind === "button" || (number >= control.minimum && number <= control.maximum);
  if (Number.isInteger(number) && (inRange || control.kind === "bitmask")) return number;
  throw new DepthwattError(
    "DEVICE_UNSUITABLE",
    `${path}: expected ${rangeText(control)} for ${controlName(control.name)}, got ${text}.`,
    { context: { device: path, control: controlName(control.name), value: text } },
  );
}

function rangeText(control: NativeControl): string {
  if (control.menu.length > 0)
    return control.menu.map((entry) => `${entry.value} (${entry.name})`).join(", ");
  const step = control.step > 1 ? ` in steps of ${control.step}` : "";
  return `a whole number from ${control.minimum} to ${control.maximum}${step}`;
}

/** What makes one eye brighter or of another colour than the other, under the names that drivers use. */
export const LOCKED_CONTROLS = [
  "exposure_time_absolute",
  "exposure_absolute",
  "exposure",
  "gain",
  "analogue_gain",
  "digital_gain",
  "white_balance_temperature",
  "red_balance",
  "blue_balance",
  "brightness",
  "contrast",
  "gamma",
];

/**
 * Gives the right camera the left one's value of every locked control that both have, that differs, that is in effect
 * and that no wish names for one eye.
 */
export function lockRightToLeft(
  left: CameraControls,
  right: CameraControls,
  wishes: readonly ControlWish[],
): AppliedControl[] {
  const single = new Set(wishes.filter((wish) => wish.eye !== undefined).map((wish) => wish.name));
  return LOCKED_CONTROLS.flatMap((name) => {
    const control = right.find(name);
    const wanted = left.read(name);
    if (single.has(name) || !control?.writable || control.inactive || wanted === undefined) return [];
    return right.read(name) === wanted ? [] : [right.apply(name, wanted)];
  });
}
