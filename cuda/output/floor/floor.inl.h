// SPDX-License-Identifier: Apache-2.0
// Vector form of a candidate's votes; compiled once per instruction set.

#include "floor.h"

namespace {

inline int32_t scoreFloor(const int16_t* cells, const int16_t columns[kFloorColumns], const int16_t rows[kFloorRows]) {
  constexpr int32_t kBands = kFloorRows / kFloorBand;
  const I16 sixteen = splatI16(16), minusSixteen = splatI16(-16), minusTwo = splatI16(-32), least = splatI16(32);
  I16 on = splatI16(0), below = splatI16(0);
  int32_t score = 0;
  for (int32_t band = 0; band < kBands; ++band) {
    const I16 weight = splatI16(static_cast<int16_t>((band + 1) * (band + 1)));
    for (int32_t j = band * kFloorBand; j < (band + 1) * kFloorBand; ++j) {
      const I16 row = splatI16(rows[j]);
      const int16_t* disparities = cells + j * kFloorColumns;
      for (int32_t i = 0; i < kFloorColumns; i += kLanesI16) {
        const I16 p = addI16(loadI16(columns + i), row);
        const I16 r = subSaturatedI16(loadI16(disparities + i), p);
        const I16 counts = andNotI16(lessI16(p, least), weight);
        on = addI16(on, andNotI16(lessI16(r, minusSixteen), andNotI16(lessI16(sixteen, r), counts)));
        below = addI16(below, andI16(lessI16(r, minusTwo), counts));
      }
    }
    // 8 lanes or more hold all bands, at most 9792 each; a single lane holds one, at most 24576.
    if (kLanesI16 < 8 || band + 1 == kBands) {
      int16_t lanes[2][kLanesI16];
      storeI16(lanes[0], on);
      storeI16(lanes[1], below);
      for (int32_t lane = 0; lane < kLanesI16; ++lane) score += 4 * lanes[0][lane] - lanes[1][lane];
      on = below = splatI16(0);
    }
  }
  return score;
}

}  // namespace

DEPTHWATT_VECTOR_CODE(FloorKernels, scoreFloor)
