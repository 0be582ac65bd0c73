// SPDX-License-Identifier: Apache-2.0
// The interface of a backend. It allocates everything when it is opened. Plain C++14: the plugin's sources include it
// too.
#pragma once

#include <memory>

#include "frame.h"

namespace depthwatt {

/// Computes frames: the CPU backend, or CUDA behind plugin_abi.h.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Returns how many frames may be computed at once. As many threads may call run() at the same time, each with its
  /// own place, from 0.
  virtual int framesInWork() const { return 1; }
  /// Computes one frame, from raw images to encoded bodies. Sets every field of the output except validPixels and
  /// matchedPixels.
  virtual Status run(int place, const FrameInput& input, FrameOutput& output) = 0;
  /// Announces memory that frames will write to or read from until detach(), so that a device can register it. Call
  /// between frames only.
  virtual void attach(const FrameOutput&) {}
  virtual void attach(const InputMemory&) {}
  virtual void detach() {}
  /// Applies an adaptation from the next frame on. leftMap and rightMap replace the maps given at open; null restores
  /// those. They must stay valid until the next call. Call between frames only.
  virtual Status adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap) = 0;
  virtual size_t workspaceBytes() const = 0;
  virtual const char* instructionSet() const = 0;
  virtual int threads() const = 0;
  /// Returns the multiprocessors of a GPU; 0 for a CPU.
  virtual int multiprocessors() const { return 0; }
};

}  // namespace depthwatt
