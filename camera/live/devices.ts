// SPDX-License-Identifier: Apache-2.0
// Lists every video device with its driver's description, or the reason why it could not be asked.
import {
  type ListedDevice,
  listDevices as listCameras,
  loadAddon,
  type NativeAddon,
} from "v4l2-camera/parts";
import { asDepthwattError } from "./errors.js";

/** The addon of v4l2-camera. @throws DepthwattError ADDON_MISSING */
export function loadVideo(): NativeAddon {
  try {
    return loadAddon();
  } catch (error) {
    throw asDepthwattError(error);
  }
}

/** @throws DepthwattError ADDON_MISSING */
export async function listDevices(): Promise<ListedDevice[]> {
  const devices = await listCameras(loadVideo());
  return devices.map(({ problem, ...device }) =>
    problem === undefined ? device : { ...device, problem: asDepthwattError(problem) },
  );
}
