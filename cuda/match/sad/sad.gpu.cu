// SPDX-License-Identifier: Apache-2.0
// The matcher sad on CUDA.
#include "../families/hsv_matcher.cuh"
#include "sad_task.h"
#include "sad_workspace.h"

namespace depthwatt {
namespace gpu {

Status openSadOnGpu(const MatchTask& task, std::unique_ptr<Matcher>* matcher) {
  typedef HsvMatcherOnGpu<SadWorkspace, SadDeviceResult> SadOnGpu;
  std::unique_ptr<SadOnGpu> opened(new (std::nothrow) SadOnGpu());
  if (opened == nullptr) return Status::error(Code::kFailed, "Not enough memory for a matcher.");
  const SadParameters p = sadParametersFrom(task);
  DEPTHWATT_TRY(opened->open(task, p.weights));
  DEPTHWATT_TRY(opened->stage().open(p, task.width, task.height, task.leftRight));
  *matcher = std::move(opened);
  return {};
}

}  // namespace gpu
}  // namespace depthwatt
