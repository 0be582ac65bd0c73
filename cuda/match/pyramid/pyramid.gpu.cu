// SPDX-License-Identifier: Apache-2.0
// Pyramid SAD as a matcher on CUDA.
#include "../families/hsv_matcher.cuh"
#include "pyramid_task.h"
#include "pyramid_workspace.h"

namespace depthwatt {
namespace gpu {

Status openPyramidOnGpu(const MatchTask& task, std::unique_ptr<Matcher>* matcher) {
  typedef HsvMatcherOnGpu<PyramidWorkspace, PyramidDeviceResult> PyramidOnGpu;
  std::unique_ptr<PyramidOnGpu> opened(new (std::nothrow) PyramidOnGpu());
  if (opened == nullptr) return Status::error(Code::kFailed, "Not enough memory for a matcher.");
  DEPTHWATT_TRY(opened->open(task, hsvWeightsFrom(task.matcher)));
  DEPTHWATT_TRY(opened->stage().open(pyramidParametersFrom(task), task.width, task.height));
  *matcher = std::move(opened);
  return {};
}

}  // namespace gpu
}  // namespace depthwatt
