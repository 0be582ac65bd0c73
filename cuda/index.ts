// SPDX-License-Identifier: Apache-2.0
// The front door of cuda/: edge imports from here and from nowhere deeper.
export { engineAddon, type EngineExports, type CpuFeatures, type NativeRooms } from "./binding/addon.js";
export { createEngine, openEngine } from "./binding/engine.js";
export * from "./binding/native.js";
export * from "./match/matcher.js";
export * from "./match/matchers.js";
