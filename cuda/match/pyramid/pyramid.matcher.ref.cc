// SPDX-License-Identifier: Apache-2.0
// The definition of the whole matcher pyramid: the references of hsv, pyramid and the left-right check.
#include "../families/hsv_matcher.h"
#include "pyramid_task.h"

namespace depthwatt {

void matchPyramidReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result) {
  const PyramidParameters p = pyramidParametersFrom(task);
  matchHsvReference<PyramidImages, PyramidResult>(
      task, images, result, [&](const PyramidImages& in, const PyramidResult& out) { pyramidReference(p, in, out); });
}

}  // namespace depthwatt
