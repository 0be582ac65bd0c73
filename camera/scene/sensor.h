// SPDX-License-Identifier: Apache-2.0
// From light to bytes: noise that grows with brightness, then rounding to 8 bit. Integers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace depthwatt::scene {

/// Stored grey: 64 units per grey level, 0 to 255 * 64.
constexpr int32_t kGreyUnits = 64;
/// Work is cut into tiles of this side; rows are drawn in bands of this height.
constexpr int32_t kTile = 16;

/// Bell-shaped numbers of standard deviation 32 (sums of four uniform ones): 65536 of them and one row more.
std::vector<int8_t> noiseTable(uint32_t seed, int32_t width);

/// One row: out = (grey + noise * (low + (grey >> slopeShift)) / 32) / 64, rounded, 0 to 255. `noise` holds `width`
/// numbers of the table; `low`: units of noise in the dark, 0 = a perfect sensor.
void exposeRow(const uint16_t* grey, const int8_t* noise, int32_t low, int32_t width, uint8_t* out);

/// Where in the table a row's noise begins: as good as random in frame, camera and row.
size_t noiseStart(uint32_t frame, int side, int32_t row, uint32_t seed);

}  // namespace depthwatt::scene
