// SPDX-License-Identifier: Apache-2.0
// Selection beside the last aggregation; compiled once per instruction set. No include guard on purpose.
//
// A cell's key is its sum and, below it, the number of its stripe: the minimum over stripes then names the lowest stripe
// that has it. The winner among the 16 bytes of a group is found the same way. What is per pixel (neighbours of the winner,
// second best) is read from the keys in memory; the divisions wait for the end of the row.

namespace {

/// An unsigned number of so many bytes.
template <int32_t kBytes>
struct WordOf;
template <>
struct WordOf<2> {
  using Type = uint16_t;
};
template <>
struct WordOf<4> {
  using Type = uint32_t;
};
template <>
struct WordOf<8> {
  using Type = uint64_t;
};

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
  uint8_t* rightBest;
  uint8_t* rightFirst;
  uint64_t* winnersOf;  ///< [groups][winnerStride]
  uint16_t* secondsOf;  ///< [steps][groups]
  uint16_t* leavingBest;  ///< [steps][groups]
  uint16_t* leavingFirst;
  const int32_t* cellOffset;
  const uint8_t* numbers;
  ImageView<int16_t> rightDisparity;
  Halves columnNumbers[2];   ///< j
  Halves firstOfColumns[2];  ///< stripes * j
  Halves stripeMask, noKey;

  [[gnu::always_inline]] Selector(const SgmPlan& plan, const SgmFrame& frame, const SgmScratch& scratch, int32_t row)
      : width(plan.width), height(plan.height), firstRow(row), stripes(kStripes != 0 ? kStripes : plan.stripes),
        bits(kStripes == 8 ? 3 : kStripes == 4 ? 2 : plan.stripeBits), minDisparity(plan.parameters.minDisparity),
        invalidSum(plan.invalidSum),
        invalidKey(static_cast<uint16_t>(plan.invalidSum << plan.stripeBits | ((1 << plan.stripeBits) - 1))),
        wantsSecond(frame.result.confidence.data != nullptr || plan.parameters.uniqueness > 0),
        wantsRight(frame.result.rightDisparity.data != nullptr), winnerStride(plan.width + kWinnerMargin),
        keys(scratch.keys), columns(scratch.columns), rightKeys(scratch.rightKeys), rightBest(scratch.rightBest),
        rightFirst(scratch.rightFirst), winnersOf(scratch.winners), secondsOf(scratch.seconds), leavingBest(scratch.leavingBest),
        leavingFirst(scratch.leavingFirst), cellOffset(plan.cellOffset), numbers(plan.numbers), rightDisparity(frame.result.rightDisparity),
        stripeMask(splatHalves(static_cast<uint16_t>((1 << plan.stripeBits) - 1))),
        noKey(splatHalves(invalidKey)) {
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
  // keys gather over a turn of all stripes, the best key and its column's first disparity over the columns.

  /// Keys that began `age` steps before step `turn` of this run.
  [[gnu::always_inline]] uint8_t* rightKeysAt(int32_t turn, int32_t age) const {
    return rightKeys + static_cast<ptrdiff_t>(turn + stripes - age) * (2 * kVector);
  }

  /// Takes keys that have seen all stripes into the best so far of slot `index`; of equal sums the lowest disparity stays.
  [[gnu::always_inline]] void mergeRight(const uint8_t* finished, int32_t index, Halves* best, Halves* first) const {
    forEach<2>(2, [&](int32_t half) __attribute__((always_inline)) {
      const int32_t at = (2 * index + half) * kVector;
      const Halves key = loadHalves(finished + half * kVector), mine = firstOfColumns[half];
      const Halves bestSoFar = loadHalves(rightBest + at), firstSoFar = loadHalves(rightFirst + at);
      // Down meets the disparities of a right pixel in rising order, up in falling order: there an equal sum takes over.
      const Halves bound = orHalves(key, stripeMask);
      if constexpr (kUp) {
        const Halves least = subHalves(bound, stripeMask);
        best[half] = chooseLessHalves(bestSoFar, least, bestSoFar, key);
        first[half] = chooseLessHalves(bestSoFar, least, firstSoFar, mine);
      } else {
        best[half] = chooseLessHalves(bound, bestSoFar, key, bestSoFar);
        first[half] = chooseLessHalves(bound, bestSoFar, mine, firstSoFar);
      }
    });
  }

  /// Before step t, number `turn` of its run: the slot whose candidates leave the last stripe goes on in the next column, and
  /// what leaves the last column is noted.
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

  /// Disparities of best keys and their columns.
  [[gnu::always_inline]] Halves rightOf(Halves best, Halves first) const {
    const Halves d = addHalves(addHalves(andHalves(best, stripeMask), first), splatHalves(static_cast<uint16_t>(minDisparity)));
    return chooseLessHalves(best, splatHalves(static_cast<uint16_t>(invalidSum << bits)), d,
                            splatHalves(static_cast<uint16_t>(kInvalidDisparity)));
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

  /// The smallest key of step t outside the winner and its neighbours, whose keys are gone by now.
  [[gnu::always_inline]] void pickSeconds(int32_t t) const {
    const uint8_t* stepKeys = keysOf(t);
    Halves low = loadHalves(stepKeys), high = loadHalves(stepKeys + kVector);
    forEach<kStripes>(stripes, [&](int32_t v) __attribute__((always_inline)) {
      low = minHalves(low, loadHalves(stepKeys + 2 * v * kVector));
      high = minHalves(high, loadHalves(stepKeys + (2 * v + 1) * kVector));
    });
    storeOneOfEach<0>(secondsOf + t * kGroups, lowestInGroupHalves(minHalves(low, high)));
  }
};

/// Before a block: no candidate yet on either side.
template <bool kUp, int32_t kStripes>
[[gnu::noinline]] void startSelection(const Selector<kUp, kStripes> selector) {
  constexpr int32_t kVector = kGroups * 16;
  for (int32_t i = 0; i < 2 * selector.stripes; ++i) {
    storeHalves(selector.rightKeys + i * kVector, selector.noKey);
    storeHalves(selector.rightBest + i * kVector, selector.noKey);
    storeHalves(selector.rightFirst + i * kVector, selector.noKey);
  }
  for (int32_t i = 0; i < 4; ++i) storeHalves(selector.keysOf(i) + 2 * selector.stripes * kVector, selector.noKey);
}

/// Row g out of `count` steps of kGroups rows side by side; turned round for sweeps upwards.
template <bool kUp>
[[gnu::always_inline]] inline void takeRow(const uint16_t* steps, int32_t g, int32_t count, uint16_t* row) {
  constexpr int32_t kTaken = 16;
  using Step = typename WordOf<kGroups * 2>::Type;
  using Steps [[gnu::vector_size(kTaken * sizeof(Step))]] = Step;
  using Row [[gnu::vector_size(kTaken * 2)]] = uint16_t;
  int32_t i = 0;
  for (; i + kTaken <= count; i += kTaken) {
    Steps several;
    std::memcpy(&several, steps + i * kGroups, sizeof several);
    Row taken = __builtin_convertvector(several >> (16 * g), Row);
    if (kUp) taken = __builtin_shuffle(taken, Row{15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
    std::memcpy(kUp ? row + count - i - kTaken : row + i, &taken, sizeof taken);
  }
  for (; i < count; ++i) row[kUp ? count - 1 - i : i] = steps[i * kGroups + g];
}

/// After the last step, number `turn` of its run: the right view's rows, of what has left the last column and of what is
/// still on its way. newest: its slot.
template <bool kUp, int32_t kStripes>
[[gnu::noinline]] void finishRight(const Selector<kUp, kStripes> selector, int32_t steps, int32_t turn, int32_t newest) {
  constexpr int32_t kVector = kGroups * 16;
  const int32_t width = selector.width, stripes = selector.stripes;
  // May go beyond the last step: the memory is there.
  for (int32_t i = 0; i < steps * kGroups; i += kVector / 2) {
    const Halves best = loadHalves(selector.leavingBest + i), first = loadHalves(selector.leavingFirst + i);
    storeHalves(selector.leavingBest + i, selector.rightOf(best, first));
  }
  for (int32_t g = 0; g < kGroups && selector.firstRow + g < selector.height; ++g) {
    int16_t* right = selector.rightDisparity.row(selector.firstRow + g);
    // What left at step t belongs to pixel origin + t (down) or origin - t (up).
    const int32_t lag = 2 * selector.rank(g);
    const int32_t origin = kUp ? width - selector.minDisparity + lag : -lag - selector.minDisparity - 16 * stripes;
    const int32_t firstStep = greater(kUp ? origin - (width - 1) : -origin, 0);
    const int32_t endStep = lesser(kUp ? origin + 1 : width - origin, steps);
    const int32_t count = greater(endStep - firstStep, 0);
    const int32_t firstPixel = count == 0 ? 0 : (kUp ? origin - endStep + 1 : origin + firstStep);
    takeRow<kUp>(selector.leavingBest + firstStep * kGroups, g, count, reinterpret_cast<uint16_t*>(right) + firstPixel);
    for (int32_t x = 0; x < firstPixel; ++x) right[x] = kInvalidDisparity;
    for (int32_t x = firstPixel + count; x < width; ++x) right[x] = kInvalidDisparity;
  }
  for (int32_t v = 0; v < stripes; ++v) {
    const int32_t age = kUp ? stripes - 1 - v : v;
    const int32_t index = newest - age + (newest < age ? stripes : 0);
    Halves best[2], first[2];
    selector.mergeRight(selector.rightKeysAt(turn, age), index, best, first);
    alignas(64) uint16_t disparities[2][kVector / 2];
    for (int32_t half = 0; half < 2; ++half) storeHalves(disparities[half], selector.rightOf(best[half], first[half]));
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
