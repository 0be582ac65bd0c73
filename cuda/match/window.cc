// SPDX-License-Identifier: Apache-2.0
// Checks the parameters that the window matchers sad and pyramid share; see window.h.
#include "window.h"

#include "ranges.h"

namespace depthwatt {

Status checkWindowParameters(const WindowParameters& p) {
  const Status status = checkRanges({{"minDisparity", p.minDisparity, 0, 2046},
                                     {"numDisparities", p.numDisparities, 1, 512},
                                     {"windowWidth", p.windowWidth, kSmallestWindow, kLargestWindow},
                                     {"windowHeight", p.windowHeight, kSmallestWindow, kLargestWindow}});
  if (!status.ok()) return status;
  for (const int32_t side : {p.windowWidth, p.windowHeight}) {
    if (side % 2 == 0) return Status::error(Code::kParameter, "Expected a window of odd sides, got %d.", side);
  }
  return {};
}

}  // namespace depthwatt
