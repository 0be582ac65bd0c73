// SPDX-License-Identifier: Apache-2.0
// Camera controls by name: found, written and read back.
import { CameraError, cameraError } from "./errors.js";
import type { NativeCamera, NativeControl } from "./native.js";

/** "Exposure Time, Absolute" -> "exposure_time_absolute", as v4l2-ctl writes it. */
export const controlName = (name: string): string =>
  name
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "_")
    .replace(/^_+|_+$/g, "");

/**
 * Controls of NVIDIA's capture driver that change the format or its rows: they are set before the format, because the driver
 * refuses them or resets the format once buffers exist.
 */
const FORMAT_CONTROLS: ReadonlySet<string> = new Set([
  "sensor_mode",
  "preferred_stride",
  "height_align",
  "size_align",
]);

export const isFormatControl = (name: string): boolean => FORMAT_CONTROLS.has(name);

/** Returns the requested controls that are set before the format. @throws CameraError for a value that is no whole number */
export function formatControls(
  path: string,
  requested: Iterable<readonly [name: string, value: number | boolean | string]>,
): Record<string, number> {
  const values: Record<string, number> = {};
  for (const [name, value] of requested) {
    if (!isFormatControl(name)) continue;
    const number = typeof value === "string" && value.trim() === "" ? Number.NaN : Number(value);
    if (!Number.isSafeInteger(number))
      throw new CameraError(
        "DEVICE_UNSUITABLE",
        `${path}: expected a whole number for ${name}, got ${value}.`,
      );
    values[name] = number;
  }
  return values;
}

/** A requested control value and the value that the driver keeps. */
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

  /** @throws CameraError DEVICE_UNSUITABLE for a control that is not there */
  require(name: string): NativeControl {
    const control = this.#byName.get(name);
    if (control) return control;
    const path = this.#camera.identity.path;
    throw new CameraError("DEVICE_UNSUITABLE", `${path}: the camera has no control "${name}".`, {
      hint: `It has: ${[...this.#byName.keys()].join(", ") || "none"}.`,
      context: { device: path, control: name },
    });
  }

  /** Changes of it are events from now on. @throws CameraError */
  watch(name: string): void {
    const { id } = this.require(name);
    try {
      this.#camera.watchControl(id);
    } catch (error) {
      throw cameraError(error, this.#camera.identity.path);
    }
  }

  /** @throws CameraError DEVICE_UNSUITABLE for a control that is not there or a value it does not take */
  apply(name: string, value: string | number): AppliedControl {
    const path = this.#camera.identity.path;
    const control = this.require(name);
    const asked = parseNumber(control, value, path);
    try {
      this.#camera.writeControl(control.id, control.wide, asked);
    } catch (error) {
      const found = cameraError(error, path);
      if (!(found instanceof CameraError)) throw found;
      throw new CameraError(found.code, `${found.message} (${name}=${asked}, ${rangeText(control)})`, {
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

function parseNumber(control: NativeControl, value: string | number, path: string): number {
  const text = String(value).trim();
  const choice = control.menu.find((entry) => entry.name.toLowerCase() === text.toLowerCase());
  const words: Record<string, number> = { true: 1, false: 0, on: 1, off: 0 };
  const number = choice?.value ?? words[text.toLowerCase()] ?? (text === "" ? Number.NaN : Number(text));
  const inRange =
    control.kind === "button" ||
    !hasRange(control) ||
    (number >= control.minimum && number <= control.maximum);
  if (Number.isInteger(number) && (inRange || control.kind === "bitmask")) return number;
  throw new CameraError(
    "DEVICE_UNSUITABLE",
    `${path}: expected ${rangeText(control)} for ${controlName(control.name)}, got ${text}.`,
    { context: { device: path, control: controlName(control.name), value: text } },
  );
}

/** Tegra's 64-bit controls often report 0 to 0 in steps of 0 and take other values all the same. */
const hasRange = ({ wide, minimum, maximum, step }: NativeControl) =>
  !wide || minimum !== 0 || maximum !== 0 || step !== 0;

function rangeText(control: NativeControl): string {
  if (!hasRange(control)) return "a whole number (the driver reports no range)";
  if (control.menu.length > 0)
    return control.menu.map((entry) => `${entry.value} (${entry.name})`).join(", ");
  const step = control.step > 1 ? ` in steps of ${control.step}` : "";
  return `a whole number from ${control.minimum} to ${control.maximum}${step}`;
}
