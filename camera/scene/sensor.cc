// SPDX-License-Identifier: Apache-2.0
// The sensor's noise: a table made once, read from another place in each row.
#include "sensor.h"

#include "noise.h"

namespace depthwatt::scene {
namespace {

constexpr int32_t kTableLength = 65536;
/// Pixels per step of the row loop: a constant, so that compilers turn the step into vector instructions.
constexpr int32_t kStep = 16;

/// All in 16 bits, products by their upper half, which vector units multiply in one instruction. (256 noise * 8 sigma)
/// >> 16 = (noise * sigma) >> 5.
inline uint8_t expose(uint16_t grey, int8_t noise, uint16_t low, uint16_t rise) {
  const auto sigma = static_cast<int16_t>(low + static_cast<uint16_t>((uint32_t{grey} * rise) >> 16));
  const auto scaled = static_cast<int16_t>(sigma * 8), wide = static_cast<int16_t>(noise * 256);
  const auto added = static_cast<int16_t>((int32_t{wide} * scaled) >> 16);
  const auto level = static_cast<int16_t>((static_cast<int16_t>(grey) + added + kGreyUnits / 2) >> 6);
  const int16_t floor = level < 0 ? int16_t{0} : level;
  return static_cast<uint8_t>(floor > 255 ? int16_t{255} : floor);
}

}  // namespace

std::vector<int8_t> noiseTable(uint32_t seed, int32_t width) {
  std::vector<int8_t> table(static_cast<size_t>(kTableLength) + width);
  for (size_t i = 0; i < table.size(); ++i) {
    const uint32_t bits = hash(static_cast<uint32_t>(i % kTableLength), 77, seed);
    const int32_t sum = static_cast<int32_t>((bits & 255) + (bits >> 8 & 255) + (bits >> 16 & 255) + (bits >> 24));
    // The sum's standard deviation is 147.8: 32 / 147.8 = 887 / 4096 to four digits.
    table[i] = static_cast<int8_t>(((sum - 510) * 887 + 2048) >> 12);
  }
  return table;
}

size_t noiseStart(uint32_t frame, int side, int32_t row, uint32_t seed) {
  return hash(frame * 2u + static_cast<uint32_t>(side), static_cast<uint32_t>(row), seed + 555u) & (kTableLength - 1);
}

void exposeRow(const uint16_t* __restrict grey, const int8_t* __restrict noise, int32_t low, int32_t width,
               uint8_t* __restrict out) {
  // In white (255 * 64) the deviation is 1.8 times that in the dark: 0.8 / 16320 = 3.2126 / 65536.
  const auto rise = static_cast<uint16_t>((low * 3213 + 500) / 1000);
  const auto dark = static_cast<uint16_t>(low);
  int32_t x = 0;
  for (; x + kStep <= width; x += kStep) {
    for (int32_t i = 0; i < kStep; ++i) out[x + i] = expose(grey[x + i], noise[x + i], dark, rise);
  }
  for (; x < width; ++x) out[x] = expose(grey[x], noise[x], dark, rise);
}

}  // namespace depthwatt::scene
