// SPDX-License-Identifier: Apache-2.0
// Selection beside the last aggregation; compiled once per instruction set. No include guard on purpose.
//
// A cell's key is its sum and, below it, the number of its stripe: the minimum over stripes then names the lowest stripe
// that has it. The winner among the 16 bytes of a group is found the same way. What is per pixel (neighbours of the winner,
// second best) is read from the keys in memory; the divisions wait for the end of the row.

namespace {

/// One sweep's selection state. Positions run along the sweep: position s is pixel s (down) or width - 1 - s (up).
template <bool kUp, int32_t kStripes>
struct Selector {
  static constexpr int32_t kVector = kGroups * 16;

  int32_t width, height, firstRow, stripes, bits, minDisparity, invalidSum;
  uint16_t invalidKey;
  bool wantsSecond, wantsRight;
  int32_t winnerStride;
  uint8_t* keys;
  uint8_t* columns;
  uint8_t* rightKeys;
  uint8_t* rightSums;
  uint8_t* rightBest;
  uint64_t* winnersOf;  ///< [groups][winnerStride]
  uint16_t* secondsOf;
  const int32_t* cellOffset;
  const uint8_t* numbers;
  ImageView<int16_t> rightDisparity;
  Halves columnNumbers[2];   ///< j
  Halves firstOfColumns[2];  ///< stripes * j
  Halves stripeMask, noSum;

  [[gnu::always_inline]] Selector(const SgmPlan& plan, const SgmFrame& frame, const SgmScratch& scratch, int32_t row)
      : width(plan.width), height(plan.height), firstRow(row), stripes(kStripes != 0 ? kStripes : plan.stripes),
        bits(kStripes == 8 ? 3 : kStripes == 4 ? 2 : plan.stripeBits), minDisparity(plan.parameters.minDisparity),
        invalidSum(plan.invalidSum),
        invalidKey(static_cast<uint16_t>(plan.invalidSum << plan.stripeBits | ((1 << plan.stripeBits) - 1))),
        wantsSecond(frame.result.confidence.data != nullptr || plan.parameters.uniqueness > 0),
        wantsRight(frame.result.rightDisparity.data != nullptr), winnerStride(plan.width + kWinnerMargin),
        keys(scratch.keys), columns(scratch.columns), rightKeys(scratch.rightKeys), rightSums(scratch.rightSums), rightBest(scratch.rightBest),
        winnersOf(scratch.winners), secondsOf(scratch.seconds), cellOffset(plan.cellOffset), numbers(plan.numbers), rightDisparity(frame.result.rightDisparity),
        stripeMask(splatHalves(static_cast<uint16_t>((1 << plan.stripeBits) - 1))),
        noSum(splatHalves(static_cast<uint16_t>(plan.invalidSum))) {
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
  [[gnu::always_inline]] uint8_t* keysOf(int32_t step) const { return keys + (step & 3) * (2 * stripes + 1) * kVector; }
  [[gnu::always_inline]] bool isInside(int32_t group, int32_t position) const {
    return position >= 0 && position < width && firstRow + group < height;
  }

  // ---- Right view. A right pixel's candidates move one stripe on with each step, and after the last stripe one column on:
  // keys gather over a turn of all stripes, best sums and disparities over the columns.

  /// Keys that began `age` steps before step `turn` of this run.
  [[gnu::always_inline]] uint8_t* rightKeysAt(int32_t turn, int32_t age) const {
    return rightKeys + static_cast<ptrdiff_t>(turn + stripes - age) * (2 * kVector);
  }

  /// Takes keys that have seen all stripes into the best so far of slot `index`; ties to the lowest disparity.
  [[gnu::always_inline]] void mergeRight(const uint8_t* finished, int32_t index, Halves* sums, Halves* best) const {
    forEach<2>(2, [&](int32_t half) __attribute__((always_inline)) {
      const int32_t at = (2 * index + half) * kVector;
      const Halves key = loadHalves(finished + half * kVector);
      const Halves sum = shiftRightHalves(key, bits);
      const Halves d = addHalves(andHalves(key, stripeMask), firstOfColumns[half]);
      const Halves sumSoFar = loadHalves(rightSums + at), bestSoFar = loadHalves(rightBest + at);
      // Down meets the disparities of a right pixel in rising order, up in falling order.
      best[half] = kUp ? chooseLessHalves(sumSoFar, sum, bestSoFar, d) : chooseLessHalves(sum, sumSoFar, d, bestSoFar);
      sums[half] = minHalves(sum, sumSoFar);
    });
  }

  [[gnu::always_inline]] void writeRight(int32_t group, int32_t x, uint16_t sum, uint16_t best) const {
    if (x < 0 || x >= width || firstRow + group >= height || sum >= invalidSum) return;
    rightDisparity.row(firstRow + group)[x] = static_cast<int16_t>(best + minDisparity);
  }

  /// Before step t, number `turn` of its run: the slot whose candidates leave the last stripe goes on in the next column.
  [[gnu::always_inline]] void turnRight(int32_t t, int32_t turn, int32_t index) const {
    Halves sums[2], best[2];
    mergeRight(rightKeysAt(turn, stripes), index, sums, best);
    alignas(64) uint16_t leavingSums[kVector / 2], leavingBest[kVector / 2];
    storeHalves(leavingSums, sums[kUp ? 0 : 1]);
    storeHalves(leavingBest, best[kUp ? 0 : 1]);
    readFromMemory(leavingSums);
    readFromMemory(leavingBest);
    const int32_t at = 2 * index * kVector;
    storeHalves(rightSums + at, kUp ? shiftDownHalves(sums[0], sums[1]) : shiftUpHalves(sums[0], noSum));
    storeHalves(rightSums + at + kVector, kUp ? shiftDownHalves(sums[1], noSum) : shiftUpHalves(sums[1], sums[0]));
    storeHalves(rightBest + at, kUp ? shiftDownHalves(best[0], best[1]) : shiftUpHalves(best[0], noSum));
    storeHalves(rightBest + at + kVector, kUp ? shiftDownHalves(best[1], noSum) : shiftUpHalves(best[1], best[0]));
    forEach<kGroups>(kGroups, [&](int32_t g) __attribute__((always_inline)) {
      const int32_t x = pixel(t - 2 * rank(g)) - minDisparity + (kUp ? 1 : -16 * stripes);
      writeRight(g, x, leavingSums[8 * g + (kUp ? 0 : 7)], leavingBest[8 * g + (kUp ? 0 : 7)]);
    });
  }

  // ---- Left view.

  // Reading single values back from a vector just stored takes long: a step's keys are stored, one step later its winners
  // are read from them, and another step later its second best.

  /// low, high: the smallest key of each column over all stripes, of step t.
  [[gnu::always_inline]] void noteColumns(int32_t t, Halves low, Halves high) const {
    uint8_t* to = columns + (t & 3) * (3 * kVector);
    storeHalves(to, low);
    storeHalves(to + kVector, high);
    const Halves lowSum = addHalves(shiftLeftHalves(shiftRightHalves(low, bits), 4), columnNumbers[0]);
    const Halves highSum = addHalves(shiftLeftHalves(shiftRightHalves(high, bits), 4), columnNumbers[1]);
    storeHalves(to + 2 * kVector, lowestInGroupHalves(minHalves(lowSum, highSum)));
  }

  [[gnu::always_inline]] void pickWinners(int32_t t, bool edge) const {
    const auto* noted = reinterpret_cast<const uint16_t*>(columns + (t & 3) * (3 * kVector));
    const uint16_t* lowest = noted + kVector;
    uint8_t* stepKeys = keysOf(t);
    forEach<kGroups>(kGroups, [&](int32_t g) __attribute__((always_inline)) {
      const int32_t position = t - 2 * rank(g);
      if (edge && !isInside(g, position)) return;
      const uint32_t found = lowest[8 * g];
      const uint32_t j = found & 15;
      const uint32_t stripe = noted[(j >> 3) * (kVector / 2) + 8 * g + (j & 7)] & ((1u << bits) - 1);
      const uint32_t d = stripe + static_cast<uint32_t>(stripes) * j;
      uint8_t* at = stepKeys + 16 * g;
      // Where there is no candidate the keys are invalid ones, and finishRow sees that from S0.
      const int32_t* offset = cellOffset + d;  // of d - 1; d and d + 1 follow
      uint16_t below, above;
      std::memcpy(&below, at + offset[0], sizeof below);
      std::memcpy(&above, at + offset[2], sizeof above);
      const uint64_t record = d | static_cast<uint64_t>(below >> bits) << 16 | static_cast<uint64_t>(found >> 4) << 32 |
                              static_cast<uint64_t>(above >> bits) << 48;
      winnersOf[g * winnerStride + pixel(position)] = record;
      if (!wantsSecond) return;
      std::memcpy(at + offset[0], &invalidKey, sizeof invalidKey);
      std::memcpy(at + offset[1], &invalidKey, sizeof invalidKey);
      std::memcpy(at + offset[2], &invalidKey, sizeof invalidKey);
    });
  }

  /// The smallest sum of step t outside the winner and its neighbours, whose keys are gone by now.
  [[gnu::always_inline]] void pickSeconds(int32_t t, bool edge) const {
    const uint8_t* stepKeys = keysOf(t);
    Halves low = loadHalves(stepKeys), high = loadHalves(stepKeys + kVector);
    forEach<kStripes>(stripes, [&](int32_t v) __attribute__((always_inline)) {
      low = minHalves(low, loadHalves(stepKeys + 2 * v * kVector));
      high = minHalves(high, loadHalves(stepKeys + (2 * v + 1) * kVector));
    });
    alignas(64) uint16_t sums[kVector / 2];
    storeHalves(sums, shiftRightHalves(lowestInGroupHalves(minHalves(low, high)), bits));
    readFromMemory(sums);
    forEach<kGroups>(kGroups, [&](int32_t g) __attribute__((always_inline)) {
      const int32_t position = t - 2 * rank(g);
      if (!edge || isInside(g, position)) secondsOf[g * winnerStride + pixel(position)] = sums[8 * g];
    });
  }
};

/// Before a block: no candidate yet on either side.
template <bool kUp, int32_t kStripes>
[[gnu::noinline]] void startSelection(const Selector<kUp, kStripes> selector) {
  constexpr int32_t kVector = kGroups * 16;
  const Halves invalid = splatHalves(selector.invalidKey);
  for (int32_t i = 0; i < 2 * selector.stripes; ++i) {
    storeHalves(selector.rightKeys + i * kVector, invalid);
    storeHalves(selector.rightSums + i * kVector, selector.noSum);
    storeHalves(selector.rightBest + i * kVector, selector.noSum);
  }
  for (int32_t i = 0; i < 4; ++i) storeHalves(selector.keysOf(i) + 2 * selector.stripes * kVector, invalid);
  if (!selector.wantsRight) return;
  for (int32_t g = 0; g < kGroups && selector.firstRow + g < selector.height; ++g) {
    int16_t* right = selector.rightDisparity.row(selector.firstRow + g);
    for (int32_t x = 0; x < selector.width; ++x) right[x] = kInvalidDisparity;
  }
}

/// After the last step, number `turn` of its run: what is still on its way to the right view. newest: its slot.
template <bool kUp, int32_t kStripes>
[[gnu::noinline]] void flushRight(const Selector<kUp, kStripes> selector, int32_t steps, int32_t turn, int32_t newest) {
  constexpr int32_t kVector = kGroups * 16;
  for (int32_t v = 0; v < selector.stripes; ++v) {
    const int32_t age = kUp ? selector.stripes - 1 - v : v;
    const int32_t index = newest - age + (newest < age ? selector.stripes : 0);
    Halves sums[2], best[2];
    selector.mergeRight(selector.rightKeysAt(turn, age), index, sums, best);
    alignas(64) uint16_t sumOf[2][kVector / 2], bestOf[2][kVector / 2];
    for (int32_t half = 0; half < 2; ++half) {
      storeHalves(sumOf[half], sums[half]);
      storeHalves(bestOf[half], best[half]);
    }
    for (int32_t g = 0; g < kGroups; ++g) {
      const int32_t x = selector.pixel(steps - 1 - 2 * selector.rank(g)) - selector.minDisparity - v;
      for (int32_t j = 0; j < 16; ++j) {
        selector.writeRight(g, x - selector.stripes * j, sumOf[j / 8][8 * g + j % 8], bestOf[j / 8][8 * g + j % 8]);
      }
    }
  }
}

}  // namespace
