// SPDX-License-Identifier: Apache-2.0
// The definition of ESMP as a whole: the stage's reference, then that of the left-right check.
#include "../families/exponential_matcher.h"
#include "esmp_task.h"

namespace depthwatt {

void matchEsmpReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result) {
  matchExponentialReference(esmpParametersFrom(task), task, images, result);
}

}  // namespace depthwatt
