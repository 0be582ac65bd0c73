// SPDX-License-Identifier: Apache-2.0
// Selection of the winners of a tile in coarse-to-fine search. Compiled once per instruction set.

namespace {

/// Selects from the cells of a tile's rows. @tparam kFour the search has four paths, not two
template <class Cells, bool kFour>
struct Selection {
  static constexpr int32_t kVector = Cells::kVector, kBytes = Cells::kBytes, kCount = Cells::kCount,
                           kUnrolled = Cells::kUnrolled;
  /// Rows whose minima fit a register.
  static constexpr int32_t kRows = 2 * kGroups;

  const GuidedPlan& plan;
  const TileSet& set;
  uint8_t* rows;     ///< cells of eight rows: costs, sums of the excesses along rows, and along columns
  uint16_t* picked;  ///< at the tile's first pixel

  /// Writes what finishVotes and finishResults read.
  void select() const {
    if (plan.byteSums) {
      for (int32_t first = 0; first < kTileSide; first += kRows) selectBytes(first);
    } else {
      for (int32_t r = 0; r < kTileSide; ++r) selectHalves(r);
    }
  }

 private:
  [[gnu::always_inline]] uint8_t* sums(int32_t r) const { return rows + (8 + r) * kBytes; }
  [[gnu::always_inline]] const uint8_t* vertical(int32_t r) const { return rows + (16 + r) * kBytes; }
  [[gnu::always_inline]] uint16_t* output(int32_t number, int32_t r) const {
    return picked + static_cast<ptrdiff_t>(8 * number + r) * plan.rowBytes;
  }

  /// Calls lowestOf(r, reduce) for kRows rows from `first` on. @return the minima of what each returns, a unit per row
  template <class Row>
  [[gnu::always_inline]] static inline Bytes lowestOfRows(int32_t first, Row lowestOf) {
    Bytes lowest[kRows];
    for (int32_t i = 0; i < kRows; ++i) lowest[i] = lowestOf(first + i, i);
    return lowestUnits(lowest);
  }

  /// Writes eight values of 16 bits for each of kRows rows, from their low and high bytes.
  [[gnu::always_inline]] inline void put(int32_t number, int32_t first, Bytes low, Bytes high) const {
    alignas(64) uint8_t even[kVector], odd[kVector];
    storeBytes(even, zipLow<8>(low, high));
    storeBytes(odd, zipHigh<8>(low, high));
    forEach<kGroups>(kGroups, [&](int32_t g) __attribute__((always_inline)) {
      copyGroup(output(number, first + 2 * g), even + 16 * g);
      copyGroup(output(number, first + 2 * g + 1), odd + 16 * g);
    });
  }
  /// Writes the disparities of numbers in the tile. @param numbers a register, which is overwritten
  [[gnu::always_inline]] inline void putDisparities(int32_t number, int32_t first, uint8_t* numbers) const {
    alignas(64) uint8_t high[kVector];
    for (int32_t i = 0; i < kVector; i += kLanes) {
      const U8 index = loadU8(numbers + i);
      storeU8(numbers + i, lookUp64U8(set.disparities[0], index));
      storeU8(high + i, lookUp64U8(set.disparities[1], index));
    }
    put(number, first, loadBytes(numbers), loadBytes(high));
  }
  [[gnu::always_inline]] uint16_t disparityOf(int32_t number) const {
    return static_cast<uint16_t>(set.disparities[0][number] | set.disparities[1][number] << 8);
  }

  /// Selects in kRows rows, whose sums are bytes. The minima of the rows are reduced together.
  [[gnu::noinline]] void selectBytes(int32_t first) const {
    const Bytes none = splatBytes(0xff), three = splatBytes(3), zero = splatBytes(0);
    alignas(64) uint8_t best[kVector], number[kVector], from[kVector], other[kVector];
    const Bytes smallest = lowestOfRows(first, [&](int32_t r, int32_t) __attribute__((always_inline)) {
      Bytes lowest = none;
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        const Bytes cost = loadBytes(rows + r * kBytes + v * kVector), two = addBytes(cost, cost);
        const Bytes excess = addBytes(loadBytes(sums(r) + v * kVector), loadBytes(vertical(r) + v * kVector));
        Bytes sum = addBytes(excess, kFour ? addBytes(two, two) : two);
        if (__builtin_expect(set.hasExcluded, 0)) sum = orBytes(sum, loadBytes(set.excluded + v * kVector));
        storeBytes(sums(r) + v * kVector, sum);
        lowest = minBytes(lowest, sum);
      });
      return lowest;
    });
    storeBytes(best, smallest);
    put(2, first, smallest, zero);
    const auto numbers = [&](int32_t v) __attribute__((always_inline)) { return loadBytes(set.numbers + v * kVector); };
    /// Returns the lowest numbers whose sums equal those of `wanted`.
    const auto numbersOf = [&](const uint8_t* wanted) __attribute__((always_inline)) {
      return lowestOfRows(first, [&](int32_t r, int32_t i) __attribute__((always_inline)) {
        const Bytes sum = spreadUnit(wanted + i * kUnitBytes);
        Bytes lowest = none;
        forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
          lowest = lowestWhereEqual(lowest, loadBytes(sums(r) + v * kVector), sum, numbers(v));
        });
        return lowest;
      });
    };
    const Bytes winner = numbersOf(best);
    storeBytes(number, winner);
    storeBytes(from, subBytes(winner, splatBytes(1)));
    putDisparities(0, first, number);
    if (plan.coarse) {
      const Bytes second = lowestOfRows(first, [&](int32_t r, int32_t i) __attribute__((always_inline)) {
        const Bytes start = spreadUnit(from + i * kUnitBytes);
        Bytes lowest = none;
        forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
          uint8_t* at = sums(r) + v * kVector;
          const Bytes sum = lowestWhereAtLeast(none, subBytes(numbers(v), start), three, loadBytes(at));
          storeBytes(at, sum);
          lowest = minBytes(lowest, sum);
        });
        return lowest;
      });
      storeBytes(other, second);
      storeBytes(number, numbersOf(other));
      putDisparities(3, first, number);
      put(4, first, second, zero);
      return;
    }
    Bytes below[kRows], above[kRows], apart[kRows];
    for (int32_t i = 0; i < kRows; ++i) {
      const Bytes start = spreadUnit(from + i * kUnitBytes), end = addBytes(start, splatBytes(2));
      Bytes low = none, high = none, far = none;
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        const Bytes sum = loadBytes(sums(first + i) + v * kVector), own = numbers(v);
        low = lowestWhereEqual(low, own, start, sum);
        high = lowestWhereEqual(high, own, end, sum);
        far = lowestWhereAtLeast(far, subBytes(own, start), three, sum);
      });
      below[i] = low;
      above[i] = high;
      apart[i] = far;
    }
    put(1, first, lowestUnits(below), zero);
    put(3, first, lowestUnits(above), zero);
    put(4, first, lowestUnits(apart), zero);
  }

  /// Selects in a row whose sums do not fit bytes. A key is a sum above the number of its disparity in the tile.
  [[gnu::noinline]] void selectHalves(int32_t r) const {
    const Halves none = splatHalves(0xffff);
    const Weights weights = pairWeights(plan.parameters.paths, 1);
    Halves keys[2 * kCount], numbers[2 * kCount], best = none;
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
      const Bytes cost = loadBytes(rows + r * kBytes + v * kVector), excess = loadBytes(sums(r) + v * kVector);
      const Bytes other = loadBytes(vertical(r) + v * kVector), own = loadBytes(set.numbers + v * kVector);
      const Halves low = addHalves(weighLow(cost, excess, weights), widenLow(other));
      const Halves high = addHalves(weighHigh(cost, excess, weights), widenHigh(other));
      numbers[2 * v] = widenLow(own);
      numbers[2 * v + 1] = widenHigh(own);
      keys[2 * v] = addHalves(shiftLeftHalves(low, kNumberBits), numbers[2 * v]);
      keys[2 * v + 1] = addHalves(shiftLeftHalves(high, kNumberBits), numbers[2 * v + 1]);
    });
    if (__builtin_expect(set.hasExcluded, 0)) {
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        const Bytes excluded = loadBytes(set.excluded + v * kVector);
        keys[2 * v] = orHalves(keys[2 * v], maskLow(excluded));
        keys[2 * v + 1] = orHalves(keys[2 * v + 1], maskHigh(excluded));
      });
    }
    forEach<2 * kUnrolled>(2 * kCount,
                           [&](int32_t i) __attribute__((always_inline)) { best = minHalves(best, keys[i]); });
    best = lowestGroupHalves(best);
    const Halves number = andHalves(best, splatHalves((1 << kNumberBits) - 1));
    const Halves from = subHalves(number, splatHalves(1));
    const Halves one = splatHalves(1), two = splatHalves(2), three = splatHalves(3);
    Halves below = none, above = none, second = none;
    forEach<2 * kUnrolled>(2 * kCount, [&](int32_t i) __attribute__((always_inline)) {
      const Halves away = subHalves(numbers[i], from);
      second = minHalves(second, chooseLessHalves(away, three, none, keys[i]));
      below = minHalves(below, chooseLessHalves(away, one, keys[i], none));
      above = minHalves(above, chooseLessHalves(subHalves(away, two), one, keys[i], none));
    });
    alignas(16) uint16_t winners[8], seconds[8];
    storeFirstGroup(winners, number);
    second = lowestGroupHalves(second);
    storeFirstGroup(output(1, r), shiftRightHalves(lowestGroupHalves(below), kNumberBits));
    storeFirstGroup(output(2, r), shiftRightHalves(best, kNumberBits));
    storeFirstGroup(output(4, r), shiftRightHalves(second, kNumberBits));
    for (int32_t c = 0; c < 8; ++c) output(0, r)[c] = disparityOf(winners[c]);
    if (plan.coarse) {  // the disparity of the second best, instead of the sum above the winner
      storeFirstGroup(seconds, andHalves(second, splatHalves((1 << kNumberBits) - 1)));
      for (int32_t c = 0; c < 8; ++c) output(3, r)[c] = disparityOf(seconds[c]);
    } else {
      storeFirstGroup(output(3, r), shiftRightHalves(lowestGroupHalves(above), kNumberBits));
    }
  }
};

}  // namespace
