// SPDX-License-Identifier: Apache-2.0
// Exports the first contact with the GPU: causes of a missing one, and the search for it in a run's first minutes.
export { findGpuCause, GPU_CAUSES, type GpuCause, gatherGpuEvidence } from "./causes.js";
export { GpuRetry, type GpuRetryEvents } from "./gpu-retry.js";
