// SPDX-License-Identifier: Apache-2.0
// The native addon as a whole: what every folder registers on it. Only edge/ hands parts of it to others.
import type { AlignmentExports, CalibrateExports, SceneExports } from "../../camera/index.js";
import { loadAddon, type RingExports, type SystemExports } from "../../core/index.js";
import type { EngineExports } from "../../cuda/index.js";
import type { PowerExports } from "../../power/index.js";

export type NativeAddon = SystemExports &
  EngineExports &
  SceneExports &
  AlignmentExports &
  CalibrateExports &
  PowerExports &
  RingExports;

/** @throws DepthwattError ADDON_MISSING when it is not built or does not load on this machine */
export const loadNative = (): NativeAddon => loadAddon<NativeAddon>();
