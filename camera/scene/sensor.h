// SPDX-License-Identifier: Apache-2.0
// Converts light to bytes: noise that grows with brightness, then rounding to 8 bits. Integers only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace depthwatt::scene {

/// Stored grey: 64 units per grey level, 0 to 255 * 64.
constexpr int32_t kGreyUnits = 64;
/// Work is split into tiles of this side; rows are drawn in bands of this height.
constexpr int32_t kTile = 16;

/// Returns bell-shaped numbers of standard deviation 32 (sums of four uniform ones): 65536 of them and one row more.
std::vector<int8_t> noiseTable(uint32_t seed, int32_t width);

/// Computes one row: out = (grey + noise * (low + (grey >> slopeShift)) / 32) / 64, rounded, 0 to 255. @param noise
/// `width` numbers of the table. @param low units of noise in the dark, 0 = a perfect sensor
void exposeRow(const uint16_t* grey, const int8_t* noise, int32_t low, int32_t width, uint8_t* out);

/// Returns where a row's noise starts in the table: pseudo-random in frame, camera and row.
size_t noiseStart(uint32_t frame, int side, int32_t row, uint32_t seed);

}  // namespace depthwatt::scene
