// SPDX-License-Identifier: Apache-2.0
// Work of coarse-to-fine search on whole tile rows: arranging the images, and writing results. Compiled once per
// instruction set.

namespace {

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
[[gnu::noinline]] inline void prepareTileRow(const GuidedPlan& plan, const GuidedFrame& frame, int32_t tileRow,
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
  }
  for (int32_t r = 0; r <= 8; ++r) {
    const int32_t below = tileRow * kTileSide + r;
    penaltiesBetween(plan, images.greyLeft.row(lesser(below, last)),
                     images.greyLeft.row(lesser(greater(below - 1, 0), last)), width, s.down + r * plan.rowBytes);
  }
  eachColumn(rows, width, s.tail, [&](int32_t x, int32_t k, const uint8_t* unit) __attribute__((always_inline)) {
    std::memcpy(s.along + (x + k) * kUnitBytes, unit, kUnitBytes);
  });
}

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
    const int32_t exists = -static_cast<int32_t>((best < plan.invalidSum) & (d <= x) & (x >= holes));
    const int32_t unsure =
        -static_cast<int32_t>((other < plan.invalidSum) & (255 * (other - best) < kUncertain * greater(other, 1)));
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
  finishPixels(p, plan.invalidSum, 0, picked, row + 4 * plane, wantsConfidence || p.uniqueness > 0, width);
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

}  // namespace
