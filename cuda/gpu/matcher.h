// SPDX-License-Identifier: Apache-2.0
// A matching algorithm on the device, as the backend sees it: everything is made when it is opened, then it only queues work.
// A new algorithm is one file that implements Matcher and one line in matcher.cu.
#pragma once

#include <cuda_runtime.h>

#include <memory>

#include "../match_scope.h"

namespace depthwatt {
namespace gpu {

/// Rectified grey images on the device, scope.width x scope.height, packed rows.
struct MatcherImages {
  const uint8_t* left;
  const uint8_t* right;
};

/// Of the same size, on the device. Every pixel of both is written.
struct MatcherResult {
  int16_t* disparityQ4;  ///< kInvalidDisparity where there is none
  uint8_t* confidence;   ///< 0 where the disparity is invalid
};

/// What census() and match() queue is captured into a graph and replayed for every frame: kernels and asynchronous copies on
/// `stream`, or on streams of the matcher's own that an event has forked from it and another joins to it again. No allocation,
/// no waiting, no default stream, and the same pointers at every call. The graph's frames run one after the other, so that
/// one workspace serves all of them.
class Matcher {
 public:
  virtual ~Matcher() = default;
  /// The stage of that name; only called for sgm.
  virtual Status census(const MatcherImages& images, cudaStream_t stream) {
    (void)images, (void)stream;
    return {};
  }
  /// With the left-right check, where it is asked for.
  virtual Status match(const MatcherImages& images, const MatcherResult& result, cudaStream_t stream) = 0;
  /// Device memory held.
  virtual size_t bytes() const = 0;
};

/// kBackendUnavailable for an algorithm without kernels; kFailed where memory or the device says no.
Status openMatcher(const EngineParameters& parameters, const MatchScope& scope, std::unique_ptr<Matcher>* matcher);

Status openSgmMatcher(const EngineParameters& parameters, const MatchScope& scope, std::unique_ptr<Matcher>* matcher);
Status openCbcaMatcher(const EngineParameters& parameters, const MatchScope& scope, std::unique_ptr<Matcher>* matcher);

}  // namespace gpu
}  // namespace depthwatt
