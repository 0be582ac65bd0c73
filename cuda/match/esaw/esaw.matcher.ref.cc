// SPDX-License-Identifier: Apache-2.0
// The definition of ESAW as a whole: the stage's reference, then that of the left-right check.
#include "../families/exponential_matcher.h"
#include "esaw_task.h"

namespace depthwatt {

void matchEsawReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result) {
  matchExponentialReference(esawParametersFrom(task), task, images, result);
}

}  // namespace depthwatt
