// SPDX-License-Identifier: Apache-2.0
// Checks the parameters of a matcher's stages against their ranges.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "../../core/status.h"

namespace depthwatt {

struct ParameterRange {
  const char* name;
  int32_t value, low, high;
};

/// Returns kParameter with the name, the range and the value of the first parameter that is out of its range, or ok.
inline Status checkRanges(std::initializer_list<ParameterRange> ranges) {
  for (const ParameterRange& range : ranges) {
    if (range.value >= range.low && range.value <= range.high) continue;
    return Status::error(Code::kParameter, "Expected %s of %d to %d, got %d.", range.name, range.low, range.high,
                         range.value);
  }
  return {};
}

}  // namespace depthwatt
