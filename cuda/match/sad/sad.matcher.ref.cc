// SPDX-License-Identifier: Apache-2.0
// The definition of the whole matcher sad: the references of hsv, sad and the left-right check.
#include "../families/hsv_matcher.h"
#include "sad_task.h"

namespace depthwatt {

void matchSadReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result) {
  const SadParameters p = sadParametersFrom(task);
  matchHsvReference<SadImages, SadResult>(task, images, result,
                                          [&](const SadImages& in, const SadResult& out) { sadReference(p, in, out); });
}

}  // namespace depthwatt
