// SPDX-License-Identifier: Apache-2.0
// Selection, fused with the last aggregation: a part of match/sgm, compiled once per instruction set. A cell's key is
// its sum and, below it, the number of its stripe, so the minimum over stripes also names the lowest stripe with that
// sum. The winner among the 16 bytes of a group is found the same way. Per-pixel values (neighbours of the winner,
// second best) are read from the keys in memory, four steps at once. Results are stored by step, kGroups rows side by
// side, until the block's end makes rows of them.

#include "../finish.inl.h"

namespace {

using Unsigned8 [[gnu::vector_size(kFinished)]] = uint8_t;

/// Returns where a column's value is in a pair of vectors, within its group.
[[gnu::always_inline]] inline Words32 placeOfColumn(Words32 j) { return (j >> 3) * (kGroups * 16) + (j & 7) * 2; }

/// Returns the 32 bits at each offset.
[[gnu::always_inline]] inline Words32 gathered(const void* base, Words32 offsets) {
  Words32 result;
  if constexpr (kLanesI32 == kFinished) {
    I32 at;
    std::memcpy(&at, &offsets, sizeof at);
    const I32 found = gatherI32(static_cast<const uint8_t*>(base), at);
    std::memcpy(&result, &found, sizeof result);
  } else {
    for (int32_t i = 0; i < kFinished; ++i) {
      int32_t word;
      std::memcpy(&word, static_cast<const uint8_t*>(base) + offsets[i], sizeof word);
      result[i] = word;
    }
  }
  return result;
}

/// One sweep's selection state. Positions run along the sweep: position s is pixel s (down) or width - 1 - s (up).
template <bool kUp, int32_t kStripes>
struct Selector {
  static constexpr int32_t kVector = kGroups * 16;

  int32_t width, height, firstRow, stripes, bits, minDisparity, invalidSum;
  uint16_t invalidKey;
  bool wantsSecond, wantsRight, outsideMayWin;
  uint8_t* keys;
  uint8_t* columns;
  uint8_t* rightKeys;
  uint8_t* rightBest;
  uint8_t* rightFirst;
  Picked picked;
  uint16_t* secondBest;   ///< [steps][groups]
  uint16_t* leavingBest;  ///< [steps][groups]
  uint16_t* leavingFirst;
  const int32_t* cellOffset;
  const uint8_t* numbers;
  ImageView<int16_t> rightDisparity;
  Words32 columnLanes, keyLanes;  ///< where a pixel's group is among the columns and among the keys of four steps
  Halves columnNumbers[2];        ///< j
  Halves firstOfColumns[2];       ///< stripes * j
  Halves stripeMask, sumMask, noKey;

  [[gnu::always_inline]] Selector(const SgmPlan& plan, const SgmFrame& frame, const SgmScratch& scratch, int32_t row)
      : width(plan.width), height(plan.height), firstRow(row), stripes(kStripes != 0 ? kStripes : plan.stripes),
        bits(kStripes == 8   ? 3
             : kStripes == 4 ? 2
                             : plan.stripeBits),
        minDisparity(plan.parameters.minDisparity), invalidSum(plan.invalidSum),
        invalidKey(static_cast<uint16_t>(plan.invalidSum << plan.stripeBits | ((1 << plan.stripeBits) - 1))),
        wantsSecond(frame.result.confidence.data != nullptr || plan.parameters.uniqueness > 0),
        wantsRight(frame.result.rightDisparity.data != nullptr), outsideMayWin(plan.parameters.outsideMayWin()),
        keys(scratch.keys), columns(scratch.columns), rightKeys(scratch.rightKeys), rightBest(scratch.rightBest),
        rightFirst(scratch.rightFirst), picked(scratch.picked), secondBest(scratch.seconds),
        leavingBest(scratch.leavingBest), leavingFirst(scratch.leavingFirst), cellOffset(plan.cellOffset),
        numbers(plan.numbers), rightDisparity(frame.result.rightDisparity),
        stripeMask(splatHalves(static_cast<uint16_t>((1 << plan.stripeBits) - 1))),
        sumMask(splatHalves(static_cast<uint16_t>(~((1u << plan.stripeBits) - 1)))), noKey(splatHalves(invalidKey)) {
    alignas(64) int32_t lanes[2][kFinished];
    for (int32_t i = 0; i < kFinished; ++i) {
      lanes[0][i] = i / kGroups * (2 * kVector) + i % kGroups * 16;
      lanes[1][i] = i / kGroups * ((2 * stripes + 1) * kVector) + i % kGroups * 16;
    }
    std::memcpy(&columnLanes, lanes[0], sizeof columnLanes);
    std::memcpy(&keyLanes, lanes[1], sizeof keyLanes);
    for (int32_t half = 0; half < 2; ++half) {
      alignas(64) uint16_t numbers[kVector / 2], firsts[kVector / 2];
      for (int32_t i = 0; i < kVector / 2; ++i) {
        numbers[i] = static_cast<uint16_t>(i % 8 + 8 * half);
        firsts[i] = static_cast<uint16_t>(numbers[i] * stripes);
      }
      columnNumbers[half] = loadHalves(numbers);
      firstOfColumns[half] = loadHalves(firsts);
    }
  }

  static constexpr int32_t rank(int32_t group) { return kUp ? kGroups - 1 - group : group; }
  [[gnu::always_inline]] int32_t pixel(int32_t position) const { return kUp ? width - 1 - position : position; }
  [[gnu::always_inline]] uint8_t* keysAt(int32_t step) const {
    return keys + (step & (kKeptSteps - 1)) * (2 * stripes + 1) * kVector;
  }

  // ---- Right view. A right pixel's candidates advance one stripe with each step, and after the last stripe one column. Keys are
  // merged over a turn of all stripes; the best key and its column's first disparity are merged over the columns.

  /// Returns the keys that started `age` steps before step `turn` of this run.
  [[gnu::always_inline]] uint8_t* rightKeysAt(int32_t turn, int32_t age) const {
    return rightKeys + static_cast<ptrdiff_t>(turn + stripes - age) * (2 * kVector);
  }

  /// Merges keys of all stripes into the best so far of slot `index`. Of equal sums the lowest disparity stays.
  [[gnu::always_inline]] void mergeRight(const uint8_t* finished, int32_t index, Halves* best, Halves* first) const {
    forEach<2>(2, [&](int32_t half) __attribute__((always_inline)) {
      const int32_t at = (2 * index + half) * kVector;
      const Halves key = loadHalves(finished + half * kVector), columnFirst = firstOfColumns[half];
      const Halves bestSoFar = loadHalves(rightBest + at), firstSoFar = loadHalves(rightFirst + at);
      // Downward sweeps visit the disparities of a right pixel in rising order, upward ones in falling order: there an
      // equal sum wins.
      const Halves bound = orHalves(key, stripeMask);
      if constexpr (kUp) {
        const Halves least = subHalves(bound, stripeMask);
        best[half] = chooseLessHalves(bestSoFar, least, bestSoFar, key);
        first[half] = chooseLessHalves(bestSoFar, least, firstSoFar, columnFirst);
      } else {
        best[half] = chooseLessHalves(bound, bestSoFar, key, bestSoFar);
        first[half] = chooseLessHalves(bound, bestSoFar, columnFirst, firstSoFar);
      }
    });
  }

  /// Before step t, number `turn` of its run: moves the slot whose candidates leave the last stripe to the next column,
  /// and stores what leaves the last column.
  [[gnu::always_inline]] void turnRight(int32_t t, int32_t turn, int32_t index) const {
    Halves best[2], first[2];
    mergeRight(rightKeysAt(turn, stripes), index, best, first);
    storeOneOfEach<kUp ? 0 : 7>(leavingBest + t * kGroups, best[kUp ? 0 : 1]);
    storeOneOfEach<kUp ? 0 : 7>(leavingFirst + t * kGroups, first[kUp ? 0 : 1]);
    uint8_t* bestTo = rightBest + static_cast<ptrdiff_t>(index) * (2 * kVector);
    uint8_t* firstTo = rightFirst + static_cast<ptrdiff_t>(index) * (2 * kVector);
    storeHalves(bestTo, kUp ? shiftDownHalves(best[0], best[1]) : shiftUpHalves(best[0], noKey));
    storeHalves(bestTo + kVector, kUp ? shiftDownHalves(best[1], noKey) : shiftUpHalves(best[1], best[0]));
    storeHalves(firstTo, kUp ? shiftDownHalves(first[0], first[1]) : shiftUpHalves(first[0], noKey));
    storeHalves(firstTo + kVector, kUp ? shiftDownHalves(first[1], noKey) : shiftUpHalves(first[1], first[0]));
  }

  /// Returns the disparities of best keys and their columns.
  [[gnu::always_inline]] Halves rightDisparities(Halves best, Halves first) const {
    const Halves from = splatHalves(static_cast<uint16_t>(minDisparity));
    const Halves d = addHalves(addHalves(andHalves(best, stripeMask), first), from);
    return chooseLessHalves(best, splatHalves(static_cast<uint16_t>(invalidSum << bits)), d,
                            splatHalves(static_cast<uint16_t>(kInvalidDisparity)));
  }

  // ---- Left view.

  // Loading a vector that was just stored is slow. Keys and columns are therefore stored, the winners of four steps are
  // found together in the step after them, and their second best one step later, one step at a time.

  /// Stores step t's smallest key of each column over all stripes (low, high), with the lowest sum and its column.
  [[gnu::always_inline]] void noteColumns(int32_t t, Halves low, Halves high) const {
    uint8_t* to = columns + (t & (kKeptSteps - 1)) * (2 * kVector);
    storeHalves(to, low);
    storeHalves(to + kVector, high);
    const auto withColumn = [&](Halves key, Halves number) __attribute__((always_inline)) {
      if constexpr (kStripes != 8) return addHalves(shiftLeftHalves(shiftRightHalves(key, bits), 4), number);
      const Halves sum = andHalves(key, sumMask);  // times 8: twice that makes room for a column's number
      return addHalves(sum, addHalves(sum, number));
    };
    storeOneOfEach<0>(picked.best + t * kGroups, lowestInGroupHalves(minHalves(withColumn(low, columnNumbers[0]),
                                                                               withColumn(high, columnNumbers[1]))));
  }

  /// Picks the winners of four steps from `first` on, a multiple of 4. Lanes are pixels: kGroups rows of each step.
  [[gnu::noinline]] void pickWinners(int32_t first) const {
    const int32_t at = first * kGroups;
    const Words32 found = widened(picked.best + at), j = found & 15;
    const Words32 column = placeOfColumn(j);
    const Words32 key = gathered(columns + (first & (kKeptSteps - 1)) * (2 * kVector), column + columnLanes);
    const Words32 stripe = key & ((1 << bits) - 1);
    const Words32 d = j * stripes + stripe;
    // Keys of d - 1, d and d + 1. Without a candidate they are invalid, and finishPixels detects that from S0.
    uint8_t* stepKeys = keysAt(first);
    Words32 below, here, above;
    if constexpr (kStripes == 0) {
      below = gathered(cellOffset, d * 4) + keyLanes;
      here = gathered(cellOffset + 1, d * 4) + keyLanes;
      above = gathered(cellOffset + 2, d * 4) + keyLanes;
    } else {  // compute what the table has, without reading it
      constexpr int32_t kStripe = 2 * kVector, kInvalid = kStripes * kStripe;
      here = column + stripe * kStripe + keyLanes;
      const Words32 none = Words32{} + kInvalid;
      const Words32 lastOfBefore = chosen(j == 0, none, placeOfColumn(j - 1) + (kInvalid - kStripe)) + keyLanes;
      const Words32 firstOfAfter = chosen(j == 15, none, placeOfColumn(j + 1)) + keyLanes;
      below = chosen(stripe == 0, lastOfBefore, here - kStripe);
      above = chosen(stripe == kStripes - 1, firstOfAfter, here + kStripe);
    }
    storeNarrowed(picked.winner + at, d);
    storeNarrowed(picked.below + at, (gathered(stepKeys, below) & 0xffff) >> bits);
    storeNarrowed(picked.best + at, found >> 4);
    storeNarrowed(picked.above + at, (gathered(stepKeys, above) & 0xffff) >> bits);
    if (!wantsSecond) return;
    alignas(64) int32_t offsets[3][kFinished];
    std::memcpy(offsets[0], &below, sizeof below);
    std::memcpy(offsets[1], &here, sizeof here);
    std::memcpy(offsets[2], &above, sizeof above);
    readFromMemory(offsets);
    for (const auto& neighbours : offsets) {
      forEach<kFinished>(kFinished, [&](int32_t i) __attribute__((always_inline)) {
        std::memcpy(stepKeys + neighbours[i], &invalidKey, sizeof invalidKey);
      });
    }
  }

  /// Returns the smallest key of step t outside the winner and its neighbours, whose keys were overwritten.
  [[gnu::always_inline]] void pickSeconds(int32_t t) const {
    const uint8_t* stepKeys = keysAt(t);
    Halves low = loadHalves(stepKeys), high = loadHalves(stepKeys + kVector);
    forEach<kStripes>(stripes, [&](int32_t v) __attribute__((always_inline)) {
      low = minHalves(low, loadHalves(stepKeys + 2 * v * kVector));
      high = minHalves(high, loadHalves(stepKeys + (2 * v + 1) * kVector));
    });
    storeOneOfEach<0>(secondBest + t * kGroups, lowestInGroupHalves(minHalves(low, high)));
  }
};

/// Initialises a block: no candidate yet in either view.
template <bool kUp, int32_t kStripes>
[[gnu::noinline]] void startSelection(const Selector<kUp, kStripes> selector) {
  constexpr int32_t kVector = kGroups * 16;
  for (int32_t i = 0; i < 2 * selector.stripes; ++i) {
    storeHalves(selector.rightKeys + i * kVector, selector.noKey);
    storeHalves(selector.rightBest + i * kVector, selector.noKey);
    storeHalves(selector.rightFirst + i * kVector, selector.noKey);
  }
  for (int32_t i = 0; i < kKeptSteps; ++i)
    storeHalves(selector.keysAt(i) + 2 * selector.stripes * kVector, selector.noKey);
}

/// Extracts row g of `count` steps of kGroups rows side by side, reversed for upward sweeps.
template <bool kUp, class Pixel>
[[gnu::always_inline]] inline void takeRow(const uint16_t* steps, int32_t g, int32_t count, Pixel* row) {
  constexpr int32_t kTaken = 16;
  using Row [[gnu::vector_size(kTaken * 2)]] = uint16_t;
  using Pixels [[gnu::vector_size(kTaken * sizeof(Pixel))]] = Pixel;
  int32_t i = 0;
  for (; i + kTaken <= count; i += kTaken) {
    Row taken;
    storeRow(reinterpret_cast<uint16_t*>(&taken), steps + i * kGroups, g);
#if defined(__clang__)
    if (kUp) taken = __builtin_shufflevector(taken, taken, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#else  // g++ has the alternative from version 12 on
    if (kUp) taken = __builtin_shuffle(taken, Row{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
#endif
    const Pixels pixels = __builtin_convertvector(taken, Pixels);
    std::memcpy(kUp ? row + count - i - kTaken : row + i, &pixels, sizeof pixels);
  }
  for (; i < count; ++i) row[kUp ? count - 1 - i : i] = static_cast<Pixel>(steps[i * kGroups + g]);
}

/// After the last step, number `turn` of its run: writes the right view's rows, from what left the last column and what
/// has not left yet. @param newest its slot
template <bool kUp, int32_t kStripes>
[[gnu::noinline]] void finishRight(const Selector<kUp, kStripes> selector, int32_t steps, int32_t turn,
                                   int32_t newest) {
  constexpr int32_t kVector = kGroups * 16;
  const int32_t width = selector.width, stripes = selector.stripes;
  // May exceed the last step: the memory exists.
  for (int32_t i = 0; i < steps * kGroups; i += kVector / 2) {
    const Halves best = loadHalves(selector.leavingBest + i), first = loadHalves(selector.leavingFirst + i);
    storeHalves(selector.leavingBest + i, selector.rightDisparities(best, first));
  }
  for (int32_t g = 0; g < kGroups && selector.firstRow + g < selector.height; ++g) {
    int16_t* right = selector.rightDisparity.row(selector.firstRow + g);
    // Values that left at step t belong to pixel origin + t (down) or origin - t (up).
    const int32_t lag = 2 * selector.rank(g);
    const int32_t origin = kUp ? width - selector.minDisparity + lag : -lag - selector.minDisparity - 16 * stripes;
    const int32_t firstStep = greater(kUp ? origin - (width - 1) : -origin, 0);
    const int32_t endStep = lesser(kUp ? origin + 1 : width - origin, steps);
    const int32_t count = greater(endStep - firstStep, 0);
    const int32_t firstPixel = count == 0 ? 0 : (kUp ? origin - endStep + 1 : origin + firstStep);
    takeRow<kUp>(selector.leavingBest + firstStep * kGroups, g, count, right + firstPixel);
    for (int32_t x = 0; x < firstPixel; ++x) right[x] = kInvalidDisparity;
    for (int32_t x = firstPixel + count; x < width; ++x) right[x] = kInvalidDisparity;
  }
  for (int32_t v = 0; v < stripes; ++v) {
    const int32_t age = kUp ? stripes - 1 - v : v;
    const int32_t index = newest - age + (newest < age ? stripes : 0);
    Halves best[2], first[2];
    selector.mergeRight(selector.rightKeysAt(turn, age), index, best, first);
    alignas(64) uint16_t disparities[2][kVector / 2];
    for (int32_t half = 0; half < 2; ++half)
      storeHalves(disparities[half], selector.rightDisparities(best[half], first[half]));
    for (int32_t g = 0; g < kGroups && selector.firstRow + g < selector.height; ++g) {
      int16_t* right = selector.rightDisparity.row(selector.firstRow + g);
      const int32_t x = selector.pixel(steps - 1 - 2 * selector.rank(g)) - selector.minDisparity - v;
      for (int32_t j = 0; j < 16; ++j) {
        const int32_t at = x - stripes * j;
        if (at >= 0 && at < width) right[at] = static_cast<int16_t>(disparities[j / 8][8 * g + j % 8]);
      }
    }
  }
}

}  // namespace
