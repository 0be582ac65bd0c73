// SPDX-License-Identifier: Apache-2.0
// The matching cost: the number of census bits that differ.   (Hernandez-Juarez et al. 2016, section 3.1, alg. 2)
// A candidate outside the right image costs kMaxMatchingCost and never wins.
#pragma once

#include <cstdint>

namespace depthwatt {

/// The largest matching cost. 31 census bits leave room for a small absolute difference.
constexpr int32_t kMaxMatchingCost = 63;

constexpr int32_t hammingDistance(uint32_t a, uint32_t b) {
  uint32_t differing = a ^ b;
  int32_t count = 0;
  for (; differing != 0; differing &= differing - 1) ++count;
  return count;
}

}  // namespace depthwatt
