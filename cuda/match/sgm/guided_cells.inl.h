// SPDX-License-Identifier: Apache-2.0
// Cells of coarse-to-fine search: their costs, one step of a path, and transposition. Compiled once per instruction set.

namespace {

/// Transposes the 8 x 8 bytes that each unit of eight registers forms: byte r of register c becomes byte c of register
/// r.
[[gnu::always_inline]] inline void transposeUnits(Bytes (&v)[8]) {
  Bytes even[8], odd[8];
  forEach<4>(4, [&](int32_t k) __attribute__((always_inline)) {
    even[k] = zipLow<8>(v[2 * k], v[2 * k + 1]);
    odd[k] = zipHigh<8>(v[2 * k], v[2 * k + 1]);
  });
  const auto merged = [](Bytes(&pairs)[8]) __attribute__((always_inline)) {
    const Bytes low0 = zipLow<16>(pairs[0], pairs[1]), high0 = zipHigh<16>(pairs[0], pairs[1]);
    const Bytes low1 = zipLow<16>(pairs[2], pairs[3]), high1 = zipHigh<16>(pairs[2], pairs[3]);
    pairs[0] = zipLow<32>(low0, low1);
    pairs[1] = zipHigh<32>(low0, low1);
    pairs[2] = zipLow<32>(high0, high1);
    pairs[3] = zipHigh<32>(high0, high1);
  };
  merged(even);
  merged(odd);
  forEach<4>(4, [&](int32_t k) __attribute__((always_inline)) {
    v[2 * k] = zipLow<64>(even[k], odd[k]);
    v[2 * k + 1] = zipHigh<64>(even[k], odd[k]);
  });
}

/// Fills a tile's set. @param x its first column
inline void describeTile(const GuidedPlan& plan, const uint8_t* blocks, int32_t x, bool selects, TileSet& set) {
  const SgmParameters& p = plan.parameters;
  const int32_t end = (blocks[plan.tileBlocks - 1] + 1) * kBlockDisparities;
  const bool cutsOutside = !p.outsideMayWin() && x < p.minDisparity + end;
  const auto blockCount = static_cast<size_t>(plan.tileBlocks);
  if (set.isReusable && !cutsOutside && std::memcmp(set.blocks, blocks, blockCount) == 0) return;
  set.isReusable = !cutsOutside;
  std::memcpy(set.blocks, blocks, blockCount);
  const uint64_t all = ~uint64_t{0}, none = 0;
  const auto put = [](uint8_t* cells, int32_t unit, uint64_t value) {
    std::memcpy(cells + unit * kUnitBytes, &value, sizeof value);
  };
  const int32_t units = plan.tileBlocks * kBlockDisparities;
  for (int32_t i = 0; i < plan.tileBlocks; ++i) {
    const bool joined = i > 0 && blocks[i - 1] + 1 == blocks[i];
    put(set.up, 4 * i, joined ? none : all);
    if (i > 0) put(set.down, 4 * i - 1, joined ? none : all);
  }
  put(set.down, units - 1, all);
  set.hasAbsent = end > p.numDisparities;
  if (set.hasAbsent) {
    for (int32_t u = 0; u < units; ++u)
      put(set.absent, u, blocks[u / 4] * kBlockDisparities + u % 4 < p.numDisparities ? none : all);
  }
  if (!selects) return;
  set.hasExcluded = set.hasAbsent || cutsOutside;
  for (int32_t i = 0, number = 0; i < plan.tileBlocks; ++i) {
    if (i > 0 && blocks[i - 1] + 1 != blocks[i]) ++number;
    for (int32_t u = 4 * i; u < 4 * i + kBlockDisparities; ++u, ++number) {
      const int32_t d = blocks[i] * kBlockDisparities + u % kBlockDisparities;
      put(set.numbers, u, static_cast<uint64_t>(number) * 0x0101010101010101);
      set.disparities[0][number] = static_cast<uint8_t>(d);
      set.disparities[1][number] = static_cast<uint8_t>(d >> 8);
      if (!set.hasExcluded) continue;
      for (int32_t c = 0; c < 8; ++c) {
        const bool mayWin = d < p.numDisparities && (!cutsOutside || x + c >= p.minDisparity + d);
        set.excluded[u * kUnitBytes + c] = mayWin ? 0 : 0xff;
      }
    }
  }
}

template <int32_t kBlocks, int32_t kWords>
struct GuidedCells {
  static constexpr int32_t kVector = 16 * kGroups, kBytes = kBlocks * kBlockBytes, kCount = kBytes / kVector;
  static constexpr int32_t kPlanes = 4 * kWords;
  /// Arrays of so many registers are kept in registers; 0: not worth the code.
  static constexpr int32_t kUnrolled = kHasByteCells && kCount <= 16 ? kCount : 0;

  /// The path costs of a column or row, less their smallest.
  struct State {
    Bytes of[kCount];
  };
  struct Neighbours {
    State same, below, above;
  };

  /// Returns what the next column or row of the same tile sees.
  [[gnu::always_inline]] static inline void within(const State& s, const TileSet& set, Neighbours& n) {
    const Bytes none = splatBytes(0xff);
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
      n.same.of[v] = s.of[v];
      n.below.of[v] =
          orBytes(shiftUpUnits(s.of[v], v > 0 ? s.of[v > 0 ? v - 1 : 0] : none), loadBytes(set.up + v * kVector));
      n.above.of[v] = orBytes(shiftDownUnits(s.of[v], v + 1 < kCount ? s.of[v + 1 < kCount ? v + 1 : v] : none),
                              loadBytes(set.down + v * kVector));
    });
  }

  /// Returns what the first column or row of another tile sees.
  [[gnu::noinline]] static void across(const State& s, const uint8_t* from, const uint8_t* to, uint8_t* field,
                                       Neighbours& n) {
    const Bytes none = splatBytes(0xff);
    forEach<kUnrolled>(
        kCount, [&](int32_t v) __attribute__((always_inline)) { storeRuns(field + kUnitBytes, from, v, s.of[v]); });
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
      n.below.of[v] = loadRuns(field, to, v);
      n.same.of[v] = loadRuns(field + kUnitBytes, to, v);
      n.above.of[v] = loadRuns(field + 2 * kUnitBytes, to, v);
    });
    forEach<kUnrolled>(kCount,
                       [&](int32_t v) __attribute__((always_inline)) { storeRuns(field + kUnitBytes, from, v, none); });
  }

  [[gnu::always_inline]] static inline void look(const State& s, bool isAcross, const uint8_t* from, const uint8_t* to,
                                                 const TileSet& set, uint8_t* field, Neighbours& n) {
    if (kBlocks == kGuidedBlocks && __builtin_expect(isAcross, 0) && std::memcmp(from, to, kBlocks) != 0) {
      // Copies: what has an address stays in memory.
      const State copy = s;
      Neighbours found;
      across(copy, from, to, field, found);
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        n.same.of[v] = found.same.of[v];
        n.below.of[v] = found.below.of[v];
        n.above.of[v] = found.above.of[v];
      });
    } else {
      within(s, set, n);
    }
  }

  /// One step of a path. @param excess receives L - C
  [[gnu::always_inline]] static inline void advance(const Neighbours& n, const Bytes (&cost)[kCount], Bytes penalty,
                                                    Bytes p1, const TileSet& set, Bytes (&excess)[kCount], State& s) {
    Bytes lowest = splatBytes(0xff);
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
      excess[v] =
          minBytes(minBytes(n.same.of[v], penalty), addSaturatedBytes(minBytes(n.below.of[v], n.above.of[v]), p1));
      s.of[v] = addSaturatedBytes(cost[v], excess[v]);
      lowest = minBytes(lowest, s.of[v]);
    });
    lowest = lowestUnit(lowest);
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) { s.of[v] = subBytes(s.of[v], lowest); });
    if (__builtin_expect(set.hasAbsent, 0)) {
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        s.of[v] = orBytes(s.of[v], loadBytes(set.absent + v * kVector));
      });
    }
  }

  /// Computes the costs of a column of eight rows.
  [[gnu::always_inline]] static inline void costs(const GuidedPlan& plan, const GuidedScratch& s, const uint8_t* blocks,
                                                  const TileSet& set, int32_t x, Bytes outsideCost,
                                                  Bytes (&cost)[kCount]) {
    const size_t leftPlane = static_cast<size_t>(plan.rowBytes) * kUnitBytes;
    const size_t rightPlane = static_cast<size_t>(plan.rightUnits) * kUnitBytes;
    const int32_t first = plan.width - 1 - x + plan.parameters.minDisparity;
    const uint8_t* right = s.right + static_cast<size_t>(first) * kUnitBytes;
    Bytes own[kPlanes];
    forEach<kPlanes>(kPlanes, [&](int32_t b) __attribute__((always_inline)) {
      own[b] = spreadUnit(s.left + b * leftPlane + static_cast<size_t>(x) * kUnitBytes);
    });
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
      cost[v] = popcountBytes(xorBytes(own[0], loadRuns(right, blocks, v)));
      forEach<kPlanes - 1>(kPlanes - 1, [&](int32_t b) __attribute__((always_inline)) {
        cost[v] =
            addBytes(cost[v], popcountBytes(xorBytes(own[b + 1], loadRuns(right + (b + 1) * rightPlane, blocks, v))));
      });
    });
    if (x < plan.parameters.minDisparity + (blocks[kBlocks - 1] + 1) * kBlockDisparities) {
      const uint8_t* outside = plan.outside + static_cast<size_t>(first) * kUnitBytes;
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        cost[v] = chooseBytes(loadRuns(outside, blocks, v), outsideCost, cost[v]);
      });
    }
    if (__builtin_expect(set.hasAbsent, 0)) {
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        cost[v] = orBytes(cost[v], loadBytes(set.absent + v * kVector));
      });
    }
  }

  /// Turns the cells of eight columns into those of eight rows.
  [[gnu::always_inline]] static inline void turn(const uint8_t* columns, uint8_t* rows) {
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
      Bytes cells[8];
      forEach<8>(8, [&](int32_t c)
                        __attribute__((always_inline)) { cells[c] = loadBytes(columns + c * kBytes + v * kVector); });
      transposeUnits(cells);
      forEach<8>(
          8, [&](int32_t r) __attribute__((always_inline)) { storeBytes(rows + r * kBytes + v * kVector, cells[r]); });
    });
  }
};

}  // namespace
