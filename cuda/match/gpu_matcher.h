// SPDX-License-Identifier: Apache-2.0
// The interface of a CUDA matcher for the backend (matcher.h is the whole contract). It allocates everything when it is
// opened and then only queues work.
#pragma once

#include <cuda_runtime.h>

#include "matcher.h"

namespace depthwatt {
namespace gpu {

/// Rectified images on the device, of the task's size, with packed rows. rgb: null if the matcher does not need it.
struct MatcherImages {
  const uint8_t* left;
  const uint8_t* right;
  const Rgb8* leftRgb;
  const Rgb8* rightRgb;
};

/// Results of the same size on the device. The matcher writes every pixel of both.
struct MatcherResult {
  int16_t* disparityQ4;  ///< kInvalidDisparity if there is none
  uint8_t* confidence;   ///< 0 if nothing was matched
};

/// compute() queues kernels and asynchronous copies on `stream`, or on the matcher's own streams, which events fork
/// from it and join to it. The backend captures them into a graph and replays it for every frame, so compute() must not
/// allocate, wait or use the default stream, and must use the same pointers at every call. Frames run one after the
/// other, so one workspace is enough.
class Matcher {
 public:
  virtual ~Matcher() = default;
  virtual Status compute(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) = 0;
  /// Returns the bytes of device memory held.
  virtual size_t bytes() const = 0;
};

/// Opens a matcher. kBackendUnavailable: it has no kernels. kFailed: memory or the device failed.
Status openMatcher(const MatchTask& task, std::unique_ptr<Matcher>* matcher);

}  // namespace gpu
}  // namespace depthwatt
