// SPDX-License-Identifier: Apache-2.0
// A matcher on the device, as the backend sees it (matcher.h is the contract as a whole): everything is made when it is opened,
// then it only queues work.
#pragma once

#include <cuda_runtime.h>

#include "matcher.h"

namespace depthwatt {
namespace gpu {

/// Rectified images on the device, of the task's size, packed rows. rgb: null where the matcher does not need it.
struct MatcherImages {
  const uint8_t* left;
  const uint8_t* right;
  const Rgb8* leftRgb;
  const Rgb8* rightRgb;
};

/// Of the same size, on the device. Every pixel of both is written.
struct MatcherResult {
  int16_t* disparityQ4;  ///< kInvalidDisparity where there is none
  uint8_t* confidence;   ///< 0 where nothing was matched
};

/// What compute() queues is captured into a graph and replayed for every frame: kernels and asynchronous copies on `stream`, or
/// on streams of the matcher's own that an event has forked from it and another joins to it again. No allocation, no waiting,
/// no default stream, and the same pointers at every call. The graph's frames run one after the other, so that one workspace
/// serves all of them.
class Matcher {
 public:
  virtual ~Matcher() = default;
  virtual Status compute(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) = 0;
  /// Device memory held.
  virtual size_t bytes() const = 0;
};

/// kBackendUnavailable for a matcher without kernels; kFailed where memory or the device says no.
Status openMatcher(const MatchTask& task, std::unique_ptr<Matcher>* matcher);

}  // namespace gpu
}  // namespace depthwatt
