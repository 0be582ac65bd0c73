// SPDX-License-Identifier: Apache-2.0
// How often the boundary and the median stage run in turn (refine.rounds).
#pragma once

#include "../stage.h"

namespace depthwatt {

constexpr int32_t kMaxRounds = 4;

inline int32_t refinementRounds(const EngineParameters& p) {
  return p.at("refine.boundary") != 0 && p.at("refine.median") != 0 ? p.at("refine.rounds") : 1;
}

}  // namespace depthwatt
