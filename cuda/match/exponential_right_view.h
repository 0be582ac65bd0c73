// SPDX-License-Identifier: Apache-2.0
// How the two matchers over the stage exponential match from the right image, for the left-right check. Plain C++14: nvcc reads it too.
//   own       the same aggregation with the images exchanged and all of them mirrored, so that disparities have the same sign: the
//             costs of the right image's pixels by the right image's weights, at the cost of another matching
//   diagonal  the smallest of the left image's cells that lie on the right pixel: free, but its weights are the left image's
#pragma once

#include "matcher.h"

namespace depthwatt {

inline bool hasOwnRightView(const MatchTask& task) { return task.leftRight && task.matcher.at("rightView") == 0; }

}  // namespace depthwatt
