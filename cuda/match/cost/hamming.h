// SPDX-License-Identifier: Apache-2.0
// The one definition of the matching cost: how many census bits differ.   (Hernandez-Juarez et al. 2016, section 3.1, alg. 2)
// A candidate whose right pixel lies outside the image costs kMaxMatchingCost and is never a winner.
#pragma once

#include <cstdint>

namespace depthwatt {

/// cMax: no matching cost exceeds it. 31 census bits leave room for a small absolute difference beside them.
constexpr int32_t kMaxMatchingCost = 63;

constexpr int32_t hammingDistance(uint32_t a, uint32_t b) {
  uint32_t differing = a ^ b;
  int32_t count = 0;
  for (; differing != 0; differing &= differing - 1) ++count;
  return count;
}

}  // namespace depthwatt
