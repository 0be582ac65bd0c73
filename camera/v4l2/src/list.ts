// SPDX-License-Identifier: Apache-2.0
// Lists every video device with its formats, sizes, rates and controls, or the reason why they cannot be read.
import { loadAddon } from "./addon.js";
import { controlName } from "./controls.js";
import { listDevices as listNodes } from "./devices.js";
import { cameraError } from "./errors.js";
import type { NativeDescription, NativeFormat } from "./native.js";
import type { Surroundings } from "./open.js";
import type { Control } from "./open-camera.js";
import { type CaptureFormat, captureFormatFrom } from "./pixel-formats.js";

export interface OfferedFormat extends NativeFormat {
  /** The name that open() takes; undefined for a format without one, which open() takes by its four letters. */
  format: CaptureFormat | undefined;
}

export interface CameraDescription extends Omit<NativeDescription, "formats" | "controls"> {
  formats: OfferedFormat[];
  controls: Control[];
}

export type ListedCamera =
  | ({ available: true } & CameraDescription)
  | { available: false; path: string; error: unknown };

const described = ({ formats, controls, ...identity }: NativeDescription): CameraDescription => ({
  ...identity,
  formats: formats.map((one) => ({ ...one, format: captureFormatFrom(one.fourcc) })),
  controls: controls.map(({ id: _, wide: __, name, ...control }) => ({
    ...control,
    name: controlName(name),
    label: name,
  })),
});

/**
 * Every /dev/video* in order of its number. `captures` reports cameras from other nodes, such as the metadata node that a webcam
 * has next to its video.
 * @throws CameraError ADDON_MISSING
 */
export async function listDevices(around: Surroundings = {}): Promise<ListedCamera[]> {
  const nodes = await listNodes(around.addon ?? loadAddon(), around.folders, around.system);
  return nodes.map(({ path, description, problem }) =>
    description ? { available: true, ...described(description) } : { available: false, path, error: problem },
  );
}

/** One device. @throws CameraError DEVICE_UNAVAILABLE, DEVICE_PERMISSION, DEVICE_UNSUITABLE */
export async function describe(path: string, around: Surroundings = {}): Promise<CameraDescription> {
  try {
    return described(await (around.addon ?? loadAddon()).describe(path, around.system));
  } catch (error) {
    throw cameraError(error, path);
  }
}
