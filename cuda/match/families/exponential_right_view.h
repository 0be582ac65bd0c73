// SPDX-License-Identifier: Apache-2.0
// How esaw and esmp match from the right image, for the left-right check. Plain C++14: nvcc reads it too.
//   own       aggregates again with the images exchanged and mirrored, so that disparities have the same sign: right costs with right
//             weights, for twice the time
//   diagonal  the smallest of the left image's cells on the right pixel's diagonal: free, but with the left image's weights
#pragma once

#include "../matcher.h"

namespace depthwatt {

inline bool hasOwnRightView(const MatchTask& task) { return task.leftRight && task.matcher.at("rightView") == 0; }

}  // namespace depthwatt
