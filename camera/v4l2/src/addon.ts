// SPDX-License-Identifier: Apache-2.0
// Finds and loads the native addon, once, on first use.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CameraError } from "./errors.js";
import type { NativeAddon } from "./native.js";

/** The package's folder is one above this file, in src/ as in dist/. */
const FOLDER = join(dirname(fileURLToPath(import.meta.url)), "..");

/** The compiled addon, else the prebuilt one of a published package. */
export function addonPath(folder = FOLDER): string {
  const compiled = join(folder, "build/Release/v4l2_camera.node");
  const prebuilt = join(folder, `prebuilds/linux-${process.arch}/v4l2_camera.node`);
  return !existsSync(compiled) && existsSync(prebuilt) ? prebuilt : compiled;
}

let loaded: NativeAddon | undefined;

/** @throws CameraError ADDON_MISSING when it is not built or does not load on this machine */
export function loadAddon(given?: string): NativeAddon {
  if (loaded !== undefined && given === undefined) return loaded;
  const path = given ?? addonPath();
  if (!existsSync(path)) {
    // npm 12 runs no script of a dependency that was not approved, and reports it in a line that is easily missed.
    throw new CameraError("ADDON_MISSING", `Expected the native addon at ${path}, found no such file.`, {
      hint: "Build it: 'npm rebuild v4l2-camera' (g++, make and python3 are needed); with npm 12 first 'npm install-scripts approve v4l2-camera'.",
    });
  }
  try {
    const addon = createRequire(import.meta.url)(path) as NativeAddon;
    if (given === undefined) loaded = addon;
    return addon;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new CameraError("ADDON_MISSING", `The native addon ${path} does not load: ${reason}`, { cause });
  }
}
