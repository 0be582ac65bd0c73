// SPDX-License-Identifier: Apache-2.0
// What the engine asks of a backend. Everything is allocated when it is opened. Plain C++14: the plugin's sources include it too.
#pragma once

#include <memory>

#include "../frame.h"

namespace depthwatt {

/// What computes frames: the CPU here, or CUDA behind plugin_abi.h.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Frames that may be in work at once: so many threads may call run() at the same time, each with a place of its own, 0
  /// and up.
  virtual int framesInWork() const { return 1; }
  /// One frame from raw images to encoded bodies. Sets everything of the output but validPixels and matchedPixels.
  virtual Status run(int place, const FrameInput& input, FrameOutput& output) = 0;
  /// Memory that frames will be written to, or read from, until detach(): a device may register it. Between frames only.
  virtual void attach(const FrameOutput&) {}
  virtual void attach(const InputMemory&) {}
  virtual void detach() {}
  /// From the next frame on. leftMap, rightMap: replace the maps it was opened with; null: as opened. They live until the next call.
  /// Between frames only.
  virtual Status adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap) = 0;
  virtual size_t workspaceBytes() const = 0;
  virtual const char* instructionSet() const = 0;
  virtual int threads() const = 0;
};

}  // namespace depthwatt
