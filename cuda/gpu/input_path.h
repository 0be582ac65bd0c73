// SPDX-License-Identifier: Apache-2.0
// Chooses how a camera's image reaches the kernels. Independent of CUDA, so that tests need no GPU.
#pragma once

namespace depthwatt {
namespace gpu {

/// kMapped: the kernel reads the camera's memory, page-locked and mapped, without a copy.
/// kPinnedCopy: the copy engine copies from page-locked memory while kernels run.
/// kPlainCopy: a copy from pageable memory, through the driver's page-locked buffer.
enum class InputPath { kMapped, kPinnedCopy, kPlainCopy };

/// Properties of the device.
struct DeviceFacts {
  bool integrated = false;           ///< cudaDevAttrIntegrated: CPU and GPU share their memory
  int major = 0, minor = 0;          ///< compute capability
  bool registersHostMemory = false;  ///< cudaDevAttrHostRegisterSupported
  bool mapsHostMemory = false;       ///< cudaDevAttrCanMapHostMemory
};

/// Returns the path for a device. Boards are I/O coherent from compute capability 7.2 (Xavier) on. Before it (TX1,
/// Nano: 5.3; TX2: 6.2) the CPU does not cache mapped memory, from which it encodes and to which a camera's driver may
/// write, so copying 0.6 MB is faster; cudaHostRegister is missing there too.
inline InputPath chooseInputPath(const DeviceFacts& facts) {
  if (!facts.registersHostMemory) return InputPath::kPlainCopy;
  if (!facts.integrated) return InputPath::kPinnedCopy;
  if (10 * facts.major + facts.minor < 72) return InputPath::kPlainCopy;
  return facts.mapsHostMemory ? InputPath::kMapped : InputPath::kPinnedCopy;
}

/// Returns whether kernels write results where the caller reads them. Where they read images in place, they do.
inline bool mapsResults(InputPath path) { return path == InputPath::kMapped; }

}  // namespace gpu
}  // namespace depthwatt
