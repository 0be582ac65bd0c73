// SPDX-License-Identifier: Apache-2.0
// Which algorithms have kernels.
#include "matcher.h"

namespace depthwatt {
namespace gpu {

Status openMatcher(const EngineParameters& parameters, const MatchScope& scope, std::unique_ptr<Matcher>* matcher) {
  switch (parameters.algorithm) {
    case Algorithm::kSgm: return openSgmMatcher(parameters, scope, matcher);
    case Algorithm::kCbca: return openCbcaMatcher(parameters, scope, matcher);
  }
  return Status::error(Code::kBackendUnavailable, "CUDA unavailable: it computes sgm and cbca, and another algorithm was asked for.");
}

}  // namespace gpu
}  // namespace depthwatt
