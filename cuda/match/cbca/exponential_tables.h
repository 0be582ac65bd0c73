// SPDX-License-Identifier: Apache-2.0
// The exponential costs of cross.h as integers: round(127 (1 - exp(-v / lambda))) (Chang and Maruyama, eq. 4 and 5).
// Computed with integers only, because exp of the C library differs in the last bit between hosts.
#pragma once

#include <cstdint>

namespace depthwatt {

/// lambda_AD in thousandths, lambda_MC in tenths of a bit; the paper's are 0.3, of a scale that it does not name, and 2.3.
constexpr int32_t kLambdaDifference = 300, kLambdaCensus = 23;
/// Grey levels of the scale of lambda_AD.
constexpr int32_t kFullScale = 255, kGreyLevel = 1;
constexpr int32_t kLeastLambda = 10, kMaxLambda = 10000;

struct CrossCosts {
  uint8_t difference[256];  ///< by absolute difference of two grey values
  uint8_t census[7];        ///< by Hamming distance of two mini-censuses
};

/// Returns round(127 (1 - exp(-above / below))) to 1e-4. above is below 2^19, below above 0.
constexpr uint8_t exponentialCost(uint64_t above, uint64_t below) {
  constexpr int kBits = 31, kSquarings = 6;  // exp(-x) = exp(-x / 64)^64
  constexpr uint64_t kOne = uint64_t{1} << kBits;
  if (above >= 16 * below) return 127;
  const uint64_t x = (above << kBits) / (below << kSquarings);
  uint64_t sum = kOne, term = kOne;
  for (uint64_t n = 1; n <= 9; ++n) {
    term = (term * x >> kBits) / n;
    sum = n % 2 == 1 ? sum - term : sum + term;
  }
  for (int i = 0; i < kSquarings; ++i) sum = sum * sum >> kBits;
  return static_cast<uint8_t>((127 * (kOne - sum) + kOne / 2) >> kBits);
}

/// @param scale kFullScale or kGreyLevel
constexpr CrossCosts makeCrossCosts(int32_t lambdaDifference, int32_t scale, int32_t lambdaCensus) {
  CrossCosts costs = {};
  for (int32_t v = 0; v < 256; ++v) {
    costs.difference[v] = exponentialCost(static_cast<uint64_t>(v) * 1000,
                                          static_cast<uint64_t>(scale) * static_cast<uint64_t>(lambdaDifference));
  }
  for (int32_t bits = 0; bits < 7; ++bits) {
    costs.census[bits] = exponentialCost(static_cast<uint64_t>(bits) * 10, static_cast<uint64_t>(lambdaCensus));
  }
  return costs;
}

}  // namespace depthwatt
