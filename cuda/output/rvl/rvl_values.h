// SPDX-License-Identifier: Apache-2.0
// Pixels as the unsigned numbers that RVL encodes: one by one, and which of eight are 0.
#pragma once

#include <cstdint>
#include <cstring>

namespace depthwatt {

typedef int16_t EightPixels __attribute__((vector_size(16)));

/// 0 has no depth.
struct DepthValue {
  static uint32_t of(uint16_t millimetres) { return millimetres; }
  /// Of eight pixels: all bits of a pixel's 16 are set where it is 0.
  static void zeros(const uint16_t* in, uint64_t* isZero) {
    EightPixels some;
    std::memcpy(&some, in, sizeof some);
    const EightPixels zero = some == 0;
    std::memcpy(isZero, &zero, sizeof zero);
  }
};

/// disparityQ4 + 1 in 16 bits: what is then not above 0 was negative, invalid, or 32767.
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
