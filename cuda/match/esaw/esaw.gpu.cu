// SPDX-License-Identifier: Apache-2.0
// ESAW as a matcher on CUDA.
#include "../families/exponential_matcher.cuh"
#include "esaw_task.h"

namespace depthwatt {
namespace gpu {

Status openEsawOnGpu(const MatchTask& task, std::unique_ptr<Matcher>* matcher) {
  return openExponentialOnGpu(esawParametersFrom(task), task, matcher);
}

}  // namespace gpu
}  // namespace depthwatt
