// SPDX-License-Identifier: Apache-2.0
// The front door of cuda/: edge imports from here and from nowhere deeper.
export { createEngine } from "./binding/engine.js";
export { loadNative, packageRoot } from "./binding/load.js";
export * from "./binding/native.js";
export type * from "./binding/native-addon.js";
export type * from "./binding/native-scene.js";
