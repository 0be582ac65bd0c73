// SPDX-License-Identifier: Apache-2.0
// Vector form of the repair; compiled once per instruction set.
//
// A vector of pixels searches ten steps to either side, one step for all lanes at a time; a lane that has found a more
// certain pixel keeps it. Along the rows the first and the last ten columns are processed one by one.

#include "repair.h"

namespace {

/// Returns ceil(11 c / 10) = c + floor((c + 9) / 10); floor(n / 10) = floor(n 6554 / 2^16) for n up to 16388.
inline I16 neededI16(I16 sure) { return addI16(sure, mulHighU16(addI16(sure, splatI16(9)), splatI16(6554))); }

/// The pixels of a pass that (x, y) reads.
struct RepairLine {
  RepairImages in;
  bool alongColumns;
  int32_t x, y;

  /// Returns whether the k-th pixel on one side is inside the image.
  bool holds(int32_t k) const {
    return alongColumns ? y + k >= 0 && y + k < in.sure.height : x + k >= 0 && x + k < in.sure.width;
  }
  const uint8_t* sure(int32_t k) const { return alongColumns ? in.sure.row(y + k) + x : in.sure.row(y) + x + k; }
  const int16_t* disparityQ4(int32_t k) const {
    return alongColumns ? in.disparityQ4.row(y + k) + x : in.disparityQ4.row(y) + x + k;
  }
};

inline void repairPixel(const RepairLine& line, const RepairedImages& out) {
  const int32_t own = *line.sure(0), need = own + (own + 9) / 10;
  int32_t found[2];
  bool both = own > 0;
  for (int32_t side = 0; side < 2 && both; ++side) {
    const int32_t step = side == 0 ? -1 : 1;
    int32_t k = 1;
    while (k <= kRepairReach && line.holds(k * step) && *line.sure(k * step) < need) ++k;
    both = k <= kRepairReach && line.holds(k * step);
    if (both) found[side] = *line.disparityQ4(k * step);
  }
  const int32_t apart = both ? found[0] - found[1] : 0;
  const bool repaired = both && apart <= kRepairAgreementQ4 && -apart <= kRepairAgreementQ4;
  out.disparityQ4.row(line.y)[line.x] =
      repaired ? static_cast<int16_t>((found[0] + found[1]) / 2) : *line.disparityQ4(0);
  out.sure.row(line.y)[line.x] = static_cast<uint8_t>(repaired ? need : own);
}

/// The nearest more certain pixel of each lane on one side: mask and disparity.
struct SurerLanes {
  I16 found, disparityQ4;

  void look(const RepairLine& line, int32_t step, I16 need) {
    for (int32_t k = step; k <= kRepairReach && k >= -kRepairReach && line.holds(k); k += step) {
      const I16 less = lessI16(loadBytesAsI16(line.sure(k)), need);
      const I16 first = andNotI16(found, andNotI16(less, splatI16(-1)));
      disparityQ4 = selectI16(first, loadI16(line.disparityQ4(k)), disparityQ4);
      found = selectI16(first, first, found);
    }
  }
};

/// Repairs kLanesI16 pixels that all have the same pixels inside the image.
inline void repairLanes(const RepairLine& line, const RepairedImages& out) {
  const I16 own = loadBytesAsI16(line.sure(0)), before = loadI16(line.disparityQ4(0)), need = neededI16(own);
  const I16 zero = splatI16(0);
  SurerLanes a{zero, zero}, b{zero, zero};
  a.look(line, -1, need);
  b.look(line, 1, need);
  const I16 apart = subSaturatedI16(a.disparityQ4, b.disparityQ4);
  const I16 near =
      andI16(lessI16(apart, splatI16(kRepairAgreementQ4 + 1)), lessI16(splatI16(-kRepairAgreementQ4 - 1), apart));
  const I16 repaired = andI16(andI16(andI16(a.found, b.found), near), lessI16(splatI16(0), own));
  storeI16(out.disparityQ4.row(line.y) + line.x,
           selectI16(repaired, averageFloorI16(a.disparityQ4, b.disparityQ4), before));
  int16_t sure[kLanesI16];
  storeI16(sure, selectI16(repaired, need, own));
  for (int32_t i = 0; i < kLanesI16; ++i) out.sure.row(line.y)[line.x + i] = static_cast<uint8_t>(sure[i]);
}

inline void repairRows(bool alongColumns, const RepairImages& in, const RepairedImages& out, int32_t firstRow,
                       int32_t endRow) {
  const int32_t width = in.sure.width;
  const int32_t from = alongColumns ? 0 : kRepairReach, to = alongColumns ? width : width - kRepairReach;
  for (int32_t y = firstRow; y < endRow; ++y) {
    int32_t x = 0;
    const auto one = [&](int32_t end) {
      for (; x < end; ++x) repairPixel({in, alongColumns, x, y}, out);
    };
    one(lesser(from, width));
    for (; x + kLanesI16 <= to; x += kLanesI16) repairLanes({in, alongColumns, x, y}, out);
    one(width);
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(RepairKernels, repairRows)
