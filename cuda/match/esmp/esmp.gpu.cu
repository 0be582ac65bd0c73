// SPDX-License-Identifier: Apache-2.0
// ESMP as a matcher on CUDA.
#include "../families/exponential_matcher.cuh"
#include "esmp_task.h"

namespace depthwatt {
namespace gpu {

Status openEsmpOnGpu(const MatchTask& task, std::unique_ptr<Matcher>* matcher) {
  return openExponentialOnGpu(esmpParametersFrom(task), task, matcher);
}

}  // namespace gpu
}  // namespace depthwatt
