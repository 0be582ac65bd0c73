// SPDX-License-Identifier: Apache-2.0
// Rows of exponential-step aggregation; see exponential.h. Compiled once per instruction set.

#include "exponential.h"

namespace {

static_assert(kExponentialPitch % kLanesI16 == 0, "rows are whole vectors");

// Cells are uint16, but the vector loads take int16.
inline I16 loadCells(const uint16_t* p) { return loadI16(reinterpret_cast<const int16_t*>(p)); }
inline void storeCells(uint16_t* p, I16 v) { storeI16(reinterpret_cast<int16_t*>(p), v); }
inline I16 splatCells(int32_t v) { return splatI16(static_cast<int16_t>(static_cast<uint16_t>(v))); }

template <bool kAdd>
inline void exponentialCostRow(const uint8_t* left, const uint8_t* right, int32_t truncation, int32_t cost,
                               int32_t pitch, uint16_t* costs) {
  const I16 maxDifference = splatCells(truncation), factor = splatCells(cost);
  for (int32_t x = 0; x < pitch; x += kLanesI16) {
    const I16 a = loadBytesAsI16(left + x), b = loadBytesAsI16(right + x);
    const I16 own = mulLowU16(minI16(subI16(maxI16(a, b), minI16(a, b)), maxDifference), factor);
    storeCells(costs + x, kAdd ? addI16(loadCells(costs + x), own) : own);
  }
}

inline void exponentialAggregate(const uint16_t* before, const uint16_t* centre, const uint16_t* after,
                                 const uint16_t* weightsBefore, const uint16_t* weightsAfter, int32_t rows,
                                 int32_t pitch, uint16_t* out) {
  const I16 whole = splatCells(65535);
  // Two vectors of every row at a time, so that their weights stay in registers.
  for (int32_t x = 0; x < pitch; x += kExponentialPitch) {
    for (int32_t v = 0; v < kExponentialPitch; v += kLanesI16) {
      const I16 wBefore = loadCells(weightsBefore + x + v), wAfter = loadCells(weightsAfter + x + v);
      const I16 wCentre = subI16(subI16(whole, wBefore), wAfter);
      size_t at = static_cast<size_t>(x + v);
      for (int32_t row = 0; row < rows; ++row, at += static_cast<size_t>(pitch)) {
        const I16 sides =
            addI16(mulHighU16(wBefore, loadCells(before + at)), mulHighU16(wAfter, loadCells(after + at)));
        storeCells(out + at, addI16(sides, mulHighU16(wCentre, loadCells(centre + at))));
      }
    }
  }
}

inline void exponentialMessages(uint16_t* cells, int32_t numDisparities, int32_t pitch, int32_t slope, int32_t cap) {
  const I16 perStep = splatCells(slope), maxStep = splatCells(cap);
  const size_t stride = static_cast<size_t>(pitch);
  for (int32_t x = 0; x < pitch; x += kLanesI16) {
    uint16_t* at = cells + x;
    I16 running = loadCells(at), least = running;
    for (int32_t d = 1; d < numDisparities; ++d) {
      at += stride;
      const I16 cost = loadCells(at);
      least = minU16(least, cost);
      running = minU16(addSaturatedU16(running, perStep), cost);
      storeCells(at, running);
    }
    const I16 limit = addSaturatedU16(least, maxStep);
    running = minU16(running, limit);
    storeCells(at, running);
    for (int32_t d = numDisparities - 2; d >= 0; --d) {
      at -= stride;
      running = minU16(minU16(addSaturatedU16(running, perStep), loadCells(at)), limit);
      storeCells(at, running);
    }
  }
}

inline void exponentialWinners(const uint16_t* cells, int32_t numDisparities, int32_t pitch, int16_t* winner,
                               uint16_t* least, uint16_t* second) {
  const size_t stride = static_cast<size_t>(pitch);
  for (int32_t x = 0; x < pitch; x += kLanesI16) {
    const uint16_t* at = cells + x;
    I16 best = loadCells(at), place = splatI16(0);
    for (int32_t d = 1; d < numDisparities; ++d) {
      at += stride;
      const I16 lower = minU16(loadCells(at), best);
      place = selectI16(equalI16(lower, best), place, splatI16(static_cast<int16_t>(d)));
      best = lower;
    }
    const I16 from = subI16(place, splatI16(1)), to = addI16(place, splatI16(1));
    I16 rest = splatCells(65535);
    at = cells + x;
    for (int32_t d = 0; d < numDisparities; ++d, at += stride) {
      const I16 index = splatI16(static_cast<int16_t>(d));
      const I16 outside = selectI16(lessI16(index, from), splatI16(-1), lessI16(to, index));
      rest = minU16(rest, selectI16(outside, loadCells(at), splatCells(65535)));
    }
    storeI16(winner + x, place);
    storeCells(least + x, best);
    storeCells(second + x, rest);
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(ExponentialKernels, exponentialCostRow<false>, exponentialCostRow<true>, exponentialAggregate,
                      exponentialMessages, exponentialWinners)
