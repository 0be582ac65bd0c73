// SPDX-License-Identifier: Apache-2.0
// Converts pixels to the unsigned numbers that RVL encodes, one by one, and finds the zeros among eight.
#pragma once

#include <cstdint>
#include <cstring>

namespace depthwatt {

typedef int16_t EightPixels __attribute__((vector_size(16)));

/// 0 means no depth.
struct DepthValue {
  static uint32_t of(uint16_t millimetres) { return millimetres; }
  /// Sets all 16 bits of each of eight pixels that is 0.
  static void zeros(const uint16_t* in, uint64_t* isZero) {
    EightPixels some;
    std::memcpy(&some, in, sizeof some);
    const EightPixels zero = some == 0;
    std::memcpy(isZero, &zero, sizeof zero);
  }
};

/// disparityQ4 + 1 in 16 bits: a result that is not above 0 comes from a negative or invalid value, or 32767.
struct DisparityValue {
  static uint32_t of(int16_t disparityQ4) {
    const auto raised = static_cast<int16_t>(static_cast<uint16_t>(disparityQ4) + 1u);
    return raised > 0 ? static_cast<uint32_t>(raised) : 0;
  }
  static void zeros(const int16_t* in, uint64_t* isZero) {
    EightPixels some;
    std::memcpy(&some, in, sizeof some);
    const EightPixels zero = (some < 0) | (some == 32767);
    std::memcpy(isZero, &zero, sizeof zero);
  }
};

}  // namespace depthwatt
