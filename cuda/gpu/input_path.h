// SPDX-License-Identifier: Apache-2.0
// Chooses how a camera's image reaches the kernels: one table by board. Independent of CUDA, so that tests need no GPU.
#pragma once

#include "../frame.h"

namespace depthwatt {
namespace gpu {

/// Properties of the device.
struct DeviceFacts {
  bool integrated = false;   ///< cudaDevAttrIntegrated: CPU and GPU share their memory
  int major = 0, minor = 0;  ///< compute capability
  int multiprocessors = 0;
  bool registersHostMemory = false;  ///< cudaDevAttrHostRegisterSupported
  bool mapsHostMemory = false;       ///< cudaDevAttrCanMapHostMemory
};

/// The paths that are tried for captured images: the process's memory, then the driver's. Other memory is copied.
struct InputRule {
  const char* boards;
  bool integrated;
  int firstCapability;     ///< ten times major plus minor
  InputPath userMemory;    ///< memory of this process
  bool importsDmaBuffers;  ///< kernels read the driver's buffers in place
};

/// The first row that fits is the rule. Boards are I/O coherent from compute capability 7.2 (Xavier) on. Before it (TX1,
/// Nano: 5.3; TX2: 6.2) the CPU does not cache mapped memory, from which it encodes and to which a camera's driver may
/// write, so copying 0.6 MB is faster; cudaHostRegister is missing there too. A DMA buffer is the driver's own.
constexpr InputRule kInputRules[] = {
    {"Xavier, Orin, Thor", true, 72, InputPath::kUserPointer, true},
    {"Nano, TX1, TX2", true, 0, InputPath::kPlainCopy, true},
    {"GPU card", false, 0, InputPath::kPinnedCopy, false},
};

/// Returns the rule of a device, less what its driver cannot do.
inline InputRule chooseInputRule(const DeviceFacts& facts) {
  InputRule rule = {};
  for (const InputRule& row : kInputRules) {
    rule = row;
    if (row.integrated == facts.integrated && 10 * facts.major + facts.minor >= row.firstCapability) break;
  }
  if (!facts.registersHostMemory) rule.userMemory = InputPath::kPlainCopy;
  if (rule.userMemory == InputPath::kUserPointer && !facts.mapsHostMemory) rule.userMemory = InputPath::kPinnedCopy;
  return rule;
}

/// Returns whether kernels write results where the caller reads them. Where they read images in place, they do.
inline bool mapsResults(const InputRule& rule) { return rule.userMemory == InputPath::kUserPointer; }

}  // namespace gpu
}  // namespace depthwatt
