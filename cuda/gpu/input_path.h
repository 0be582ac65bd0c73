// SPDX-License-Identifier: Apache-2.0
// How a camera's image gets to the kernels. Free of CUDA, so that every answer has a test without a GPU.
#pragma once

namespace depthwatt {
namespace gpu {

/// kMapped: the kernel reads the camera's memory itself, page-locked and mapped: no copy at all.
/// kPinnedCopy: a copy from page-locked memory, by the copy engine while kernels run.
/// kPlainCopy: a copy from memory as it is, through the driver's own page-locked buffer.
enum class InputPath { kMapped, kPinnedCopy, kPlainCopy };

/// What the device says of itself.
struct DeviceFacts {
  bool integrated = false;           ///< cudaDevAttrIntegrated: CPU and GPU share their memory
  int major = 0, minor = 0;          ///< compute capability
  bool registersHostMemory = false;  ///< cudaDevAttrHostRegisterSupported
  bool mapsHostMemory = false;       ///< cudaDevAttrCanMapHostMemory
};

/// Boards are I/O coherent from compute capability 7.2 (Xavier) on. Before it (TX1, Nano: 5.3; TX2: 6.2) mapped memory is
/// not cached by the CPU, which encodes from it and a camera's driver may write to it: a copy of 0.6 MB is the lesser
/// evil, and cudaHostRegister is not there.
inline InputPath chooseInputPath(const DeviceFacts& facts) {
  if (!facts.registersHostMemory) return InputPath::kPlainCopy;
  if (!facts.integrated) return InputPath::kPinnedCopy;
  if (10 * facts.major + facts.minor < 72) return InputPath::kPlainCopy;
  return facts.mapsHostMemory ? InputPath::kMapped : InputPath::kPinnedCopy;
}

}  // namespace gpu
}  // namespace depthwatt
