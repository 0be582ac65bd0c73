// SPDX-License-Identifier: Apache-2.0
// The front door of cuda/: edge imports from here and from nowhere deeper.
export {
  type CpuFeatures,
  type EngineExports,
  engineAddon,
  type NativeStages,
} from "./engine/binding/addon.js";
export { createEngine, openEngine } from "./engine/binding/engine.js";
export * from "./engine/binding/native.js";
export {
  isPluginInstalled,
  type PluginProbe,
  probePlugin,
  probePluginBeside,
} from "./engine/binding/plugin-probe.js";
export * from "./matchers.js";
