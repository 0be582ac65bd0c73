// SPDX-License-Identifier: Apache-2.0
// Vector form of the average over time; compiled once per instruction set.
//
// Every value fits 16-bit lanes: a change is at most 2040 eighths, a sum of nine 18 360. Shifts right are multiplications whose upper
// half is kept, of values made positive before. The code walks down stripes of columns.

#include "average.h"

namespace {

constexpr int32_t kAverageColumns = 512;  // of a stripe
static_assert(kAverageColumns % kLanesI16 == 0, "whole vectors");

/// floor(v / 2^bits) of lanes that are not negative.
template <int32_t kBits>
inline I16 averageDown(I16 v) {
  return mulHighU16(v, splatI16(static_cast<int16_t>(1 << (16 - kBits))));
}
inline I16 averageUp(I16 v, int16_t factor) { return mulLowU16(v, splatI16(factor)); }

/// Changes of one pixel.
inline int16_t averageChange(uint8_t grey, int16_t state) {
  return static_cast<int16_t>(8 * grey - ((state & kAverageMean) >> 1));
}
/// The weights of a vector of states, and their means.
inline I16 averageWeights(I16 state) { return averageDown<12>(state); }
inline I16 averageMeans(I16 state) { return subI16(state, averageUp(averageWeights(state), 4096)); }

/// The changes of one row of a stripe summed over three rows, and those of the row itself; [0] is the column before the stripe.
struct AverageChanges {
  alignas(64) int16_t sums[kAverageColumns + 2 + kLanesI16];
  alignas(64) int16_t own[kAverageColumns + kLanesI16];

  AverageChanges(const AverageTask& task, int32_t first, int32_t count, int32_t y) {
    const int32_t rows[3] = {greater(y - 1, 0), y, lesser(y + 1, task.image.height - 1)};
    const uint8_t* greys[3];
    const int16_t* states[3];
    for (int j = 0; j < 3; ++j) greys[j] = task.image.row(rows[j]), states[j] = task.before.row(rows[j]);
    const auto one = [&](int j, int32_t x) { return averageChange(greys[j][x], states[j][x]); };
    const auto sum = [&](int32_t x) { return static_cast<int16_t>(one(0, x) + one(1, x) + one(2, x)); };
    const auto row = [&](int j, int32_t x) {
      const I16 mean = averageMeans(loadI16(states[j] + x));
      return subI16(averageUp(loadBytesAsI16(greys[j] + x), 8), averageDown<1>(mean));
    };
    sums[0] = sum(greater(first - 1, 0));
    int32_t x = 0;
    for (; x + kLanesI16 <= count; x += kLanesI16) {
      const I16 here = row(1, first + x);
      storeI16(own + x, here);
      storeI16(sums + 1 + x, addI16(addI16(row(0, first + x), row(2, first + x)), here));
    }
    for (; x < count; ++x) own[x] = one(1, first + x), sums[1 + x] = sum(first + x);
    const int16_t replicated = sum(lesser(first + count, task.image.width - 1));
    for (; x < count + kLanesI16; ++x) own[x] = 0, sums[1 + x] = replicated;
    sums[1 + x] = replicated;
  }
};

/// Brings a vector of pixels on by a frame.
inline void averagePixels(const AverageChanges& changes, int32_t x, I16 limit, I16 ownLimit, const uint8_t* grey,
                          const uint8_t* filtered, const int16_t* before, int16_t* after, uint8_t* averaged) {
  const I16 zero = splatI16(0), one = splatI16(1);
  const I16 sum =
      addI16(addI16(loadI16(changes.sums + x), loadI16(changes.sums + x + 1)), loadI16(changes.sums + x + 2));
  const I16 change = loadI16(changes.own + x), state = loadI16(before);
  const I16 weight = averageWeights(state), mean = averageMeans(state), target = averageUp(loadBytesAsI16(grey), 16);
  const I16 farSum = lessI16(limit, absoluteI16(sum)), farPixel = lessI16(ownLimit, absoluteI16(change));
  const I16 still = andNotI16(farSum, andNotI16(farPixel, lessI16(zero, weight)));

  // 2^(16 - k), so that the upper half of a product is a shift by k. 8192 makes the difference positive.
  const I16 third = lessI16(splatI16(kAverageWeight - 1), weight), first = equalI16(weight, one);
  const I16 factor = selectI16(third, splatI16(0x2000), selectI16(first, splatI16(-0x8000), splatI16(0x4000)));
  const I16 half = selectI16(third, splatI16(4), selectI16(first, one, splatI16(2)));
  const I16 positive = addI16(addI16(subI16(target, mean), half), splatI16(8192));
  const I16 share = subI16(mulHighU16(positive, factor), mulHighU16(splatI16(8192), factor));

  const I16 nextMean = selectI16(still, addI16(mean, share), target);
  const I16 nextWeight = selectI16(still, minI16(addI16(weight, one), splatI16(kAverageWeight)), one);
  storeI16(after, addI16(averageUp(nextWeight, 4096), nextMean));
  const I16 shown = lessI16(splatI16(kAverageShown - 1), nextWeight);
  storeBytesI16(averaged, selectI16(shown, averageDown<4>(addI16(nextMean, splatI16(8))), loadBytesAsI16(filtered)));
}

inline void averageRows(const AverageTask& task, int32_t firstRow, int32_t endRow) {
  const I16 limit = splatI16(static_cast<int16_t>(task.limit)),
            ownLimit = splatI16(static_cast<int16_t>(4 * task.limit / 9));
  for (int32_t first = 0; first < task.image.width; first += kAverageColumns) {
    const int32_t count = lesser(kAverageColumns, task.image.width - first);
    for (int32_t y = firstRow; y < endRow; ++y) {
      const AverageChanges changes(task, first, count, y);
      const uint8_t *grey = task.image.row(y) + first, *filtered = task.filtered.row(y) + first;
      const int16_t* before = task.before.row(y) + first;
      int16_t* after = task.after.row(y) + first;
      uint8_t* averaged = task.averaged.row(y) + first;
      int32_t x = 0;
      for (; x + kLanesI16 <= count; x += kLanesI16)
        averagePixels(changes, x, limit, ownLimit, grey + x, filtered + x, before + x, after + x, averaged + x);
      if (x == count) continue;
      uint8_t lastGrey[kLanesI16] = {}, lastFiltered[kLanesI16] = {}, lastAveraged[kLanesI16];
      int16_t lastBefore[kLanesI16] = {}, lastAfter[kLanesI16];
      const auto left = static_cast<size_t>(count - x);
      std::memcpy(lastGrey, grey + x, left);
      std::memcpy(lastFiltered, filtered + x, left);
      std::memcpy(lastBefore, before + x, 2 * left);
      averagePixels(changes, x, limit, ownLimit, lastGrey, lastFiltered, lastBefore, lastAfter, lastAveraged);
      std::memcpy(after + x, lastAfter, 2 * left);
      std::memcpy(averaged + x, lastAveraged, left);
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(AverageKernels, averageRows)
