// SPDX-License-Identifier: Apache-2.0
// Vector form of one level of coarse-to-fine search; guided_plan.h describes the layout. Compiled once per instruction
// set.

#include "guided_plan.h"
#include "sgm_plan.h"

#include "../finish.inl.h"

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

/// Calls unit(i, k, bytes) for each eight columns from i on and k = 0 to 7: byte i + k of the eight rows. It may exceed
/// `count` by seven. @param tail eight registers of memory
template <class Unit>
[[gnu::always_inline]] inline void eachColumn(const uint8_t* const (&rows)[8], int32_t count, uint8_t* tail,
                                              Unit unit) {
  constexpr int32_t kVector = 16 * kGroups;
  alignas(64) uint8_t turned[8 * kVector];
  for (int32_t from = 0; from < count; from += kVector) {
    const int32_t here = lesser(kVector, count - from);
    Bytes v[8];
    forEach<8>(8, [&](int32_t r) __attribute__((always_inline)) {
      const uint8_t* row = rows[r] + from;
      if (here < kVector) {
        std::memcpy(tail + r * kVector, row, static_cast<size_t>(here));
        row = tail + r * kVector;
      }
      v[r] = loadBytes(row);
    });
    transposeUnits(v);
    forEach<8>(8, [&](int32_t k) __attribute__((always_inline)) { storeBytes(turned + k * kVector, v[k]); });
    for (int32_t i = 0; i < here; i += kUnitBytes) {
      forEach<8>(8, [&](int32_t k) __attribute__((always_inline)) { unit(from + i, k, turned + k * kVector + i); });
    }
  }
}

/// Computes P2 between pixels of two rows, `count` of them.
inline void penaltiesBetween(const GuidedPlan& plan, const uint8_t* a, const uint8_t* b, int32_t count, uint8_t* to) {
  int32_t x = 0;
  for (; x + kLanes <= count; x += kLanes) {
    const U8 u = loadU8(a + x), v = loadU8(b + x);
    storeU8(to + x, lookUp256U8(plan.penalties, add(subSaturatedU8(u, v), subSaturatedU8(v, u))));
  }
  for (; x < count; ++x) to[x] = plan.penalties[a[x] < b[x] ? b[x] - a[x] : a[x] - b[x]];
}

/// Arranges the images of a tile row: census bytes by column, and P2.
template <bool kUp>
[[gnu::noinline]] void prepareTileRow(const GuidedPlan& plan, const GuidedFrame& frame, int32_t tileRow,
                                      const GuidedScratch& s) {
  const int32_t width = plan.width, last = plan.height - 1;
  const SgmImages& images = frame.images;
  int32_t y[8];  // rows below the image repeat the last one and are never used
  for (int32_t r = 0; r < 8; ++r) y[r] = lesser(tileRow * kTileSide + r, last);
  const auto spread = [&](const ImageView<const uint32_t>& image, uint8_t* planes, bool mirrored) {
    const ptrdiff_t plane = static_cast<ptrdiff_t>(mirrored ? plan.rightUnits : plan.rowBytes) * kUnitBytes;
    const uint8_t* rows[8];
    for (int32_t r = 0; r < 8; ++r) rows[r] = reinterpret_cast<const uint8_t*>(image.row(y[r]));
    eachColumn(rows, 4 * width, s.tail, [&](int32_t i, int32_t k, const uint8_t* unit) __attribute__((always_inline)) {
      const int32_t x = i / 4 + k / 4;
      uint8_t* to = planes + (k % 4) * plane + (mirrored ? width - 1 - x : x) * kUnitBytes;
      std::memcpy(to, unit, kUnitBytes);
    });
  };
  spread(images.censusLeft, s.left, false);
  spread(images.censusRight, s.right, true);
  if (plan.parameters.words == 2) {
    spread(images.moreLeft, s.left + static_cast<size_t>(4 * plan.rowBytes) * kUnitBytes, false);
    spread(images.moreRight, s.right + static_cast<size_t>(4 * plan.rightUnits) * kUnitBytes, true);
  }
  const uint8_t* rows[8];
  for (int32_t r = 0; r < 8; ++r) {
    const uint8_t* grey = images.greyLeft.row(y[r]);
    uint8_t* along = s.alongRows + r * plan.rowBytes;
    penaltiesBetween(plan, grey + 1, grey, width - 1, along + 1);
    rows[r] = along;
    const int32_t before = kUp ? lesser(y[r] + 1, last) : greater(y[r] - 1, 0);
    penaltiesBetween(plan, grey, images.greyLeft.row(before), width, s.down + r * plan.rowBytes);
  }
  eachColumn(rows, width, s.tail, [&](int32_t x, int32_t k, const uint8_t* unit) __attribute__((always_inline)) {
    std::memcpy(s.along + (x + k) * kUnitBytes, unit, kUnitBytes);
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
  int32_t number = 0;
  for (int32_t u = 0; u < units; ++u, ++number) {
    const int32_t d = blocks[u / 4] * kBlockDisparities + u % 4;
    if (u % 4 == 0 && u > 0 && blocks[u / 4 - 1] + 1 != blocks[u / 4]) ++number;
    set.disparities[number] = static_cast<int16_t>(d);
    const int32_t registers = u / (2 * kGroups), within = u % (2 * kGroups);
    uint16_t* numbers = set.numbers + (((registers * 2) + (within & 1)) * kGroups + within / 2) * 8;
    const uint64_t four = static_cast<uint64_t>(number) * 0x0001000100010001;
    std::memcpy(numbers, &four, sizeof four);
    std::memcpy(numbers + 4, &four, sizeof four);
    if (!set.hasExcluded) continue;
    for (int32_t c = 0; c < 8; ++c) {
      const bool mayWin = d < p.numDisparities && (!cutsOutside || x + c >= p.minDisparity + d);
      set.excluded[u * kUnitBytes + c] = mayWin ? 0 : 0xff;
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

  /// Selects the winners of a tile's row. @param excess sums of excesses of this sweep
  /// @param stored those of the first sweep, or null @param at the row's first pixel in `picked`
  template <bool kAdds>
  [[gnu::always_inline]] static inline void select(const GuidedPlan& plan, const TileSet& set, const uint8_t* cost,
                                                   const Bytes (&excess)[kCount], const uint8_t* stored,
                                                   uint16_t* picked, size_t at) {
    const size_t plane = static_cast<size_t>(8 * plan.rowBytes);
    const Halves none = splatHalves(0xffff);
    const Weights weights = pairWeights(plan.parameters.paths, 1);
    Halves keys[2 * kCount], best = none;
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
      const Bytes c = loadBytes(cost + v * kVector);
      Halves low = weighLow(c, excess[v], weights), high = weighHigh(c, excess[v], weights);
      if constexpr (kAdds) {
        const Bytes other = loadBytes(stored + v * kVector);
        low = addHalves(low, widenLow(other));
        high = addHalves(high, widenHigh(other));
      }
      const uint16_t* numbers = set.numbers + v * kVector;
      keys[2 * v] = addHalves(shiftLeftHalves(low, kNumberBits), loadHalves(numbers));
      keys[2 * v + 1] = addHalves(shiftLeftHalves(high, kNumberBits), loadHalves(numbers + kVector / 2));
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
      const Halves away = subHalves(loadHalves(set.numbers + i * (kVector / 2)), from);
      second = minHalves(second, chooseLessHalves(away, three, none, keys[i]));
      below = minHalves(below, chooseLessHalves(away, one, keys[i], none));
      above = minHalves(above, chooseLessHalves(subHalves(away, two), one, keys[i], none));
    });
    alignas(16) uint16_t numbers[8], seconds[8];
    storeFirstGroup(numbers, number);
    second = lowestGroupHalves(second);
    storeFirstGroup(picked + plane + at, shiftRightHalves(lowestGroupHalves(below), kNumberBits));
    storeFirstGroup(picked + 2 * plane + at, shiftRightHalves(best, kNumberBits));
    storeFirstGroup(picked + 4 * plane + at, shiftRightHalves(second, kNumberBits));
    for (int32_t c = 0; c < 8; ++c) picked[at + c] = static_cast<uint16_t>(set.disparities[numbers[c]]);
    if (plan.coarse) {  // the disparity of the second best, instead of the sum above the winner
      storeFirstGroup(seconds, andHalves(second, splatHalves((1 << kNumberBits) - 1)));
      for (int32_t c = 0; c < 8; ++c) picked[3 * plane + at + c] = static_cast<uint16_t>(set.disparities[seconds[c]]);
    } else {
      storeFirstGroup(picked + 3 * plane + at, shiftRightHalves(lowestGroupHalves(above), kNumberBits));
    }
  }
};

/// Writes a row's votes for the next finer level.
inline void finishVotes(const GuidedPlan& plan, const CoarseVotes& votes, const uint16_t* picked, size_t plane,
                        int32_t y) {
  const SgmParameters& p = plan.parameters;
  const int32_t holes = p.holeColumns(plan.width);
  int16_t* winner = votes.winner.row(y);
  int16_t* second = votes.second.row(y);
  for (int32_t x = 0; x < plan.width; ++x) {  // without branches: the conditions are unpredictable
    const int32_t d = p.minDisparity + picked[x], best = picked[2 * plane + x], other = picked[4 * plane + x];
    const int32_t d2 = p.minDisparity + picked[3 * plane + x];
    const int32_t exists = -static_cast<int32_t>((best < kInvalidGuidedSum) & (d <= x) & (x >= holes));
    const int32_t unsure =
        -static_cast<int32_t>((other < kInvalidGuidedSum) & (255 * (other - best) < kUncertain * greater(other, 1)));
    winner[x] = static_cast<int16_t>((exists & d) | (~exists & kInvalidDisparity));
    second[x] = static_cast<int16_t>((exists & unsure & d2) | (~(exists & unsure) & kInvalidDisparity));
  }
}

/// Stores the low bits of each element.
template <class To, class From>
inline void narrowRow(const From* from, int32_t count, To* to) {
  using Wide [[gnu::vector_size(kFinished * sizeof(From))]] = From;
  using Narrow [[gnu::vector_size(kFinished * sizeof(To))]] = To;
  int32_t x = 0;
  for (; x + kFinished <= count; x += kFinished) {
    Wide wide;
    std::memcpy(&wide, from + x, sizeof wide);
    const Narrow narrow = __builtin_convertvector(wide, Narrow);
    std::memcpy(to + x, &narrow, sizeof narrow);
  }
  for (; x < count; ++x) to[x] = static_cast<To>(from[x]);
}

/// Writes a row's results.
inline void finishResults(const GuidedPlan& plan, const SgmResult& result, const GuidedScratch& s, int32_t r,
                          int32_t y) {
  const SgmParameters& p = plan.parameters;
  const int32_t width = plan.width;
  const size_t plane = static_cast<size_t>(8 * plan.rowBytes);
  uint16_t* row = s.picked + r * plan.rowBytes;
  const bool wantsConfidence = result.confidence.data != nullptr;
  Picked picked;
  picked.winner = row;
  picked.below = row + plane;
  picked.best = row + 2 * plane;
  picked.above = row + 3 * plane;
  finishPixels(p, kInvalidGuidedSum, 0, picked, row + 4 * plane, wantsConfidence || p.uniqueness > 0, width);
  uint16_t* certainty = row + 4 * plane;
  Words32 lanes;
  for (int32_t i = 0; i < kFinished; ++i) lanes[i] = i;
  const int32_t holes = p.holeColumns(width), reach = lesser(p.minDisparity + p.numDisparities - 1, width);
  for (int32_t x = 0; p.outsideMayWin() && x < greater(reach, holes); x += kFinished) {
    const Words32 d = widened(row + x), isHole = (d > x + lanes) | (x + lanes < holes), zero = {};
    storeNarrowed(row + x, chosen(isHole, zero + kInvalidDisparity, d));
    storeNarrowed(picked.below + x, chosen(isHole, zero + kInvalidDisparity, widened(picked.below + x)));
    storeNarrowed(certainty + x, chosen(isHole, zero, widened(certainty + x)));
  }
  std::memcpy(result.disparity.row(y), row, static_cast<size_t>(width) * sizeof *row);
  std::memcpy(result.disparityQ4.row(y), picked.below, static_cast<size_t>(width) * sizeof *row);
  if (wantsConfidence) narrowRow<uint8_t>(certainty, width, result.confidence.row(y));
  if (result.rightDisparity.data == nullptr) return;
  // The disparity bits of a pixel without a winner are those of kInvalidDisparity.
  const Words32 nothing = Words32{} + static_cast<int32_t>(0xffff0000 | static_cast<uint16_t>(kInvalidDisparity));
  for (int32_t x = 0; x <= width; x += kFinished) std::memcpy(s.rightBest + x, &nothing, sizeof nothing);
  for (int32_t x = 0; x < width; ++x) {
    const int32_t d = row[x], to = d > x ? width : x - d;
    const uint32_t candidate = static_cast<uint32_t>(picked.best[x]) << 16 | static_cast<uint32_t>(d);
    s.rightBest[to] = lesser(s.rightBest[to], candidate);
  }
  narrowRow<int16_t>(s.rightBest, width, result.rightDisparity.row(y));
}

/// Waits until the tile row before has done `needed` tiles.
[[gnu::always_inline]] inline void awaitTiles(const std::atomic<int32_t>* progress, int32_t needed) {
  if (progress == nullptr) return;
  for (int32_t spins = 0; progress->load(std::memory_order_acquire) < needed; ++spins) {
    if (spins > 2000) sgmYield();
  }
}

template <int32_t kBlocks, int32_t kWords, GuidedPass kPass>
void sweepTileRow(const GuidedPlan& plan, const GuidedFrame& frame, int32_t tileRow, const GuidedScratch& scratch) {
  using Cells = GuidedCells<kBlocks, kWords>;
  constexpr bool kUp = kPass == GuidedPass::kAddsAndSelects, kSelects = kPass != GuidedPass::kStores;
  constexpr int32_t kCount = Cells::kCount, kUnrolled = Cells::kUnrolled, kVector = Cells::kVector,
                    kBytes = Cells::kBytes;
  const int32_t width = plan.width, tiles = plan.tilesAcross, y0 = tileRow * kTileSide;
  const int32_t rows = lesser(kTileSide, plan.height - y0);
  const int32_t before = kUp ? tileRow + 1 : tileRow - 1;
  const bool isFirst = before < 0 || before >= plan.tilesDown;
  const std::atomic<int32_t>* const ahead = isFirst ? nullptr : frame.progress + before;
  prepareTileRow<kUp>(plan, frame, tileRow, scratch);
  const Bytes p1 = splatBytes(static_cast<uint8_t>(plan.parameters.p1));
  const Bytes outsideCost = splatBytes(static_cast<uint8_t>(plan.parameters.outsideCost));
  TileSet& set = *scratch.set;
  set.isReusable = false;
  const auto blocksOfTile = [&](int32_t j, int32_t i) {
    return frame.blocks + (static_cast<size_t>(j) * tiles + i) * kBlocks;
  };
  typename Cells::State along;
  forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) { along.of[v] = splatBytes(0); });
  typename Cells::Neighbours n;
  const uint8_t* previous = nullptr;
  for (int32_t turn = 0; turn < tiles; ++turn) {
    const int32_t tile = kUp ? tiles - 1 - turn : turn;
    const uint8_t* blocks = blocksOfTile(tileRow, tile);
    const int32_t x0 = tile * kTileSide, columns = lesser(kTileSide, width - x0);
    describeTile(plan, blocks, x0, kSelects, set);
    for (int32_t i = 0; i < columns; ++i) {
      const int32_t c = kUp ? columns - 1 - i : i, x = x0 + c;
      Bytes cost[kCount], excess[kCount];
      Cells::costs(plan, scratch, blocks, set, x, outsideCost, cost);
      Cells::look(along, i == 0 && turn > 0, previous, blocks, set, scratch.field, n);
      const Bytes penalty = spreadUnit(scratch.along + static_cast<size_t>(kUp ? x + 1 : x) * kUnitBytes);
      Cells::advance(n, cost, penalty, p1, set, excess, along);
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        storeBytes(scratch.columns + c * kBytes + v * kVector, cost[v]);
        storeBytes(scratch.columns + (8 + c) * kBytes + v * kVector, excess[v]);
      });
    }
    previous = blocks;
    Cells::turn(scratch.columns, scratch.rows);
    Cells::turn(scratch.columns + 8 * kBytes, scratch.rows + 8 * kBytes);
    awaitTiles(ahead, turn + 1);
    typename Cells::State down;
    uint8_t* edge = frame.edge + static_cast<size_t>(tile) * kBytes;
    forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
      down.of[v] = isFirst ? splatBytes(0) : loadBytes(edge + v * kVector);
    });
    uint8_t* sums = nullptr;
    if (kPass != GuidedPass::kSelects) sums = frame.sums + (static_cast<size_t>(tileRow) * tiles + tile) * (8 * kBytes);
    for (int32_t i = 0; i < rows; ++i) {
      const int32_t r = kUp ? rows - 1 - i : i;
      Bytes cost[kCount], excess[kCount];
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        cost[v] = loadBytes(scratch.rows + r * kBytes + v * kVector);
      });
      Cells::look(down, i == 0 && !isFirst, isFirst ? blocks : blocksOfTile(before, tile), blocks, set, scratch.field,
                  n);
      Cells::advance(n, cost, spreadUnit(scratch.down + r * plan.rowBytes + x0), p1, set, excess, down);
      forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
        excess[v] = addBytes(excess[v], loadBytes(scratch.rows + (8 + r) * kBytes + v * kVector));
      });
      if constexpr (kSelects) {
        Cells::template select<kUp>(plan, set, scratch.rows + r * kBytes, excess, kUp ? sums + r * kBytes : nullptr,
                                    scratch.picked, static_cast<size_t>(r * plan.rowBytes + x0));
      } else {
        forEach<kUnrolled>(kCount, [&](int32_t v) __attribute__((always_inline)) {
          storePast(sums + r * kBytes + v * kVector, excess[v]);
        });
      }
    }
    forEach<kUnrolled>(kCount,
                       [&](int32_t v) __attribute__((always_inline)) { storeBytes(edge + v * kVector, down.of[v]); });
    frame.progress[tileRow].store(turn + 1, std::memory_order_release);
  }
  if constexpr (kSelects) {
    for (int32_t r = 0; r < rows; ++r) {
      if (plan.coarse) {
        finishVotes(plan, frame.votes, scratch.picked + r * plan.rowBytes, static_cast<size_t>(8 * plan.rowBytes),
                    y0 + r);
      } else {
        finishResults(plan, frame.result, scratch, r, y0 + r);
      }
    }
  }
}

template <int32_t kBlocks, int32_t kWords>
GuidedSweep chooseGuidedPass(GuidedPass pass) {
  switch (pass) {
    case GuidedPass::kStores: return sweepTileRow<kBlocks, kWords, GuidedPass::kStores>;
    case GuidedPass::kSelects: return sweepTileRow<kBlocks, kWords, GuidedPass::kSelects>;
    case GuidedPass::kAddsAndSelects: break;
  }
  return sweepTileRow<kBlocks, kWords, GuidedPass::kAddsAndSelects>;
}

GuidedSweep chooseGuidedSweep(const GuidedPlan& plan, GuidedPass pass) {
  const bool two = plan.parameters.words == 2;
  if (plan.tileBlocks == kGuidedBlocks) {
    return two ? chooseGuidedPass<kGuidedBlocks, 2>(pass) : chooseGuidedPass<kGuidedBlocks, 1>(pass);
  }
  return two ? chooseGuidedPass<kMaxTileBlocks, 2>(pass) : chooseGuidedPass<kMaxTileBlocks, 1>(pass);
}

}  // namespace

DEPTHWATT_VECTOR_CODE(GuidedKernels, chooseGuidedSweep)
