// SPDX-License-Identifier: Apache-2.0
// Vector form of pyramid SAD; compiled once per instruction set.
//
// Every pixel has its own candidates, so nothing carries over from pixel to pixel: a vector is a row of the window,
// whose differences the CPU adds up, and the four candidates share the reads of their image. The four pixels below
// one have the same guess, and two rows of them share all rows of their windows but the first and the last. Where a
// register keeps pixels apart, two adjacent pixels share columns too: common columns are summed once. A block's sums
// are stored by candidate; the decision processes a vector of pixels at a time.

#include "pyramid_row.h"

namespace {

constexpr int32_t kPyramidVector = kGroups * 16;
/// Pixels whose sums are computed before a decision: whole vectors, and even.
constexpr int32_t kPyramidBlock = 64;

constexpr int32_t kPyramidLanes = kGroups * 4;
using PyramidInts [[gnu::vector_size(kPyramidLanes * 4)]] = int32_t;
using PyramidFloats [[gnu::vector_size(kPyramidLanes * 4)]] = float;
using PyramidShorts [[gnu::vector_size(kPyramidLanes * 2)]] = int16_t;
using PyramidBytes [[gnu::vector_size(kPyramidLanes)]] = uint8_t;

/// Above every sum, and small enough for what it is multiplied by: 15 x 15 pixels of 8 x 255 units are below 2^19.
constexpr int32_t kPyramidNone = 1 << 20;

[[gnu::always_inline]] inline PyramidInts pyramidLoaded(const int32_t* p) {
  PyramidInts v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
[[gnu::always_inline]] inline PyramidInts pyramidChosen(PyramidInts mask, PyramidInts yes, PyramidInts no) {
  return (mask & yes) | (~mask & no);
}
[[gnu::always_inline]] inline PyramidInts pyramidLesser(PyramidInts a, PyramidInts b) {
  return pyramidChosen(a < b, a, b);
}
/// Returns floor(a / b) for a of 0 to 2^30, b of 1 on, quotients below 512. Single precision is off by at most one,
/// which the remainder corrects.
[[gnu::always_inline]] inline PyramidInts pyramidDivided(PyramidInts a, PyramidInts b) {
  const PyramidInts near = __builtin_convertvector(
      __builtin_convertvector(a, PyramidFloats) / __builtin_convertvector(b, PyramidFloats), PyramidInts);
  const PyramidInts rest = a - near * b;
  // A true comparison is -1.
  return near - (rest >= b) + (rest < 0);
}

/// The vectors that this many pixels take; the last vector's bytes beyond them are masked.
struct PyramidSpan {
  int32_t vectors;
  Bytes lastMask;

  explicit PyramidSpan(int32_t pixels)
      : vectors((pixels * static_cast<int32_t>(sizeof(HsvPixel)) + kPyramidVector - 1) / kPyramidVector) {
    uint8_t mask[kPyramidVector];
    const int32_t rest = pixels * static_cast<int32_t>(sizeof(HsvPixel)) - (vectors - 1) * kPyramidVector;
    for (int32_t i = 0; i < kPyramidVector; ++i) mask[i] = i < rest ? uint8_t{0xff} : uint8_t{0};
    readFromMemory(mask);
    lastMask = loadBytes(mask);
  }
};

/// The data of a block's pixels before the decision.
struct PyramidBlock {
  int32_t first[kPyramidBlock];  ///< candidates
  int32_t of[kPyramidRows][kPyramidCandidates][kPyramidBlock];
};

/// Returns the first candidate below one pixel of the level above.
inline int32_t firstCandidate(const PyramidRows& rows, int32_t x) { return 2 * rows.coarse[x >> 1] - 1; }

/// Loads as many of them as a vector has, or `count`.
template <class Narrow, class Element>
void storePyramid(Element* to, PyramidInts values, int32_t count) {
  const Narrow narrow = __builtin_convertvector(values, Narrow);
  if (count >= kPyramidLanes) std::memcpy(to, &narrow, sizeof narrow);
  else std::memcpy(to, &narrow, static_cast<size_t>(count) * sizeof(Element));
}

/// Writes the first `pixels` results of row r from a block that starts at x.
inline void decideRow(const PyramidRows& rows, const PyramidBlock& block, int32_t r, int32_t x, int32_t pixels) {
  const PyramidInts zero = {};
  for (int32_t at = 0; at < pixels; at += kPyramidLanes) {
    const PyramidInts first = pyramidLoaded(block.first + at);
    PyramidInts of[kPyramidCandidates];
#pragma GCC unroll 4
    for (int32_t c = 0; c < kPyramidCandidates; ++c) {
      const PyramidInts d = first + c;
      of[c] = pyramidChosen((d >= rows.lowest) & (d <= rows.highest), pyramidLoaded(block.of[r][c] + at),
                            zero + kPyramidNone);
    }
    PyramidInts least = of[0], best = zero, second = zero + kPyramidNone, secondPlace = zero;
#pragma GCC unroll 4
    for (int32_t c = 1; c < kPyramidCandidates; ++c) {
      const PyramidInts there = of[c] < kPyramidNone, leads = there & (of[c] <= least);
      const PyramidInts follows = there & (of[c] <= second);
      second = pyramidChosen(leads, least, pyramidChosen(follows, of[c], second));
      secondPlace = pyramidChosen(leads, best, pyramidChosen(follows, zero + c, secondPlace));
      least = pyramidChosen(leads, of[c], least);
      best = pyramidChosen(leads, zero + c, best);
    }
    const PyramidInts ahead = best - secondPlace, apart = pyramidChosen(ahead < 0, zero - ahead, ahead);
    const PyramidInts stays =
        (of[1] < kPyramidNone) & (second < kPyramidNone) & (100 * (second - least) < rows.peakRatio * apart * second);
    best = pyramidChosen(stays, zero + 1, best);
    least = pyramidChosen(stays, of[1], least);
    const PyramidInts d = first + best;
    storePyramid<PyramidShorts>(rows.whole[r] + x + at, d, pixels - at);
    if (rows.q4[r] == nullptr) continue;
    PyramidInts fine = zero;
    if (rows.subpixel) {
      const PyramidInts middle = (best == 1) | (best == 2);
      const PyramidInts below = pyramidChosen(best == 1, of[0], of[1]), above = pyramidChosen(best == 1, of[2], of[3]);
      const PyramidInts q = below + above - 2 * least;
      const PyramidInts between =
          middle & (below < kPyramidNone) & (above < kPyramidNone) & (q > 0) & (least <= below) & (least <= above);
      // Add 8 and subtract it again: for a positive quotient, truncation is the floor.
      const PyramidInts eighths =
          pyramidDivided(between & (16 * (below - above) + 17 * q), pyramidChosen(between, 2 * q, zero + 1));
      fine = between & (eighths - 8);
    }
    storePyramid<PyramidShorts>(rows.q4[r] + x + at, 16 * d + fine, pixels - at);
    const PyramidInts secondBest =
        pyramidChosen(best == 0, pyramidLesser(of[2], of[3]),
                      pyramidChosen(best == 1, of[3], pyramidChosen(best == 2, of[0], pyramidLesser(of[0], of[1]))));
    const PyramidInts sure = (secondBest < kPyramidNone) & (secondBest > least);
    const PyramidInts confidence =
        pyramidDivided(sure & (255 * (secondBest - least)), pyramidChosen(sure, secondBest, zero + 1));
    storePyramid<PyramidBytes>(rows.confidence[r] + x + at, confidence, pixels - at);
  }
}

inline void decide(const PyramidRows& rows, PyramidBlock& block, int32_t x, int32_t pixels) {
  readFromMemory(block);
  for (int32_t r = 0; r < rows.count; ++r) decideRow(rows, block, r, x, pixels);
}

/// Both windows of two adjacent pixels, in kVectors.
template <int32_t kVectors>
struct PyramidPair {
  const PyramidRows& rows;
  Bytes
      kept[kVectors];  ///< per column, low and high half: whether it is in the first, and in the second pixel's window

  explicit PyramidPair(const PyramidRows& r) : rows(r) {
    uint32_t halves[kVectors * kPyramidVector / 4];
    for (int32_t column = 0; column < kVectors * kPyramidVector / 8; ++column) {
      halves[2 * column] = column < r.windowWidth ? ~0u : 0;
      halves[2 * column + 1] = column > 0 && column <= r.windowWidth ? ~0u : 0;
    }
    readFromMemory(halves);
    for (int32_t v = 0; v < kVectors; ++v) kept[v] = loadBytes(halves + v * kPyramidVector / 4);
  }

  /// Sums pixel x and the next one, which are at `at` of the block.
  void sums(int32_t x, int32_t first, PyramidBlock& block, int32_t at) const {
    const int32_t start = x - rows.windowWidth / 2;
    const ptrdiff_t step = rows.towards * static_cast<ptrdiff_t>(sizeof(HsvPixel));
    const auto addRow = [&](int32_t j, const Differences(*from)[kVectors], Differences(*to)[kVectors]) {
      const auto* own = reinterpret_cast<const uint8_t*>(rows.own[j] + start);
      const auto* partner = reinterpret_cast<const uint8_t*>(rows.partner[j] + start) + first * step;
#pragma GCC unroll 2
      for (int32_t v = 0; v < kVectors; ++v) {
        const Bytes a = loadBytes(own + v * kPyramidVector);
#pragma GCC unroll 4
        for (int32_t c = 0; c < kPyramidCandidates; ++c)
          to[c][v] = addDifferences(from[c][v], a, loadBytes(partner + c * step + v * kPyramidVector));
      }
    };
    Differences shared[kPyramidCandidates][kVectors];
#pragma GCC unroll 4
    for (int32_t c = 0; c < kPyramidCandidates; ++c) {
#pragma GCC unroll 2
      for (int32_t v = 0; v < kVectors; ++v) shared[c][v] = noDifferences();
    }
    for (int32_t j = 1; j < rows.windowHeight; ++j) addRow(j, shared, shared);
    for (int32_t r = 0; r < rows.count; ++r) {
      Differences columns[kPyramidCandidates][kVectors], joined[kPyramidCandidates];
      addRow(r * rows.windowHeight, shared, columns);
#pragma GCC unroll 4
      for (int32_t c = 0; c < kPyramidCandidates; ++c) {
        joined[c] = andBytes(doubledDifferences(columns[c][0]), kept[0]);
        if constexpr (kVectors > 1)
          joined[c] = addDifferenceHalves(joined[c], andBytes(doubledDifferences(columns[c][1]), kept[1]));
      }
      storePairTotals(block.of[r][0] + at, kPyramidBlock, joined[0], joined[1], joined[2], joined[3]);
    }
  }
};

/// kVectors of a window's row; 0: as many as needed.
template <int32_t kVectors>
struct PyramidWindow {
  const PyramidRows& rows;
  const PyramidSpan span;

  explicit PyramidWindow(const PyramidRows& r) : rows(r), span(r.windowWidth) {}

  /// Adds row j's differences of four disparities from `first` on.
  void addRow(int32_t x, int32_t first, int32_t j, Differences* totals) const {
    const int32_t start = x - rows.windowWidth / 2;
    const ptrdiff_t step = rows.towards * static_cast<ptrdiff_t>(sizeof(HsvPixel));
    const auto* own = reinterpret_cast<const uint8_t*>(rows.own[j] + start);
    const auto* partner = reinterpret_cast<const uint8_t*>(rows.partner[j] + start) + first * step;
    forEach<kVectors>(span.vectors, [&](int32_t v) {
      const bool last = kVectors == 1 || v == span.vectors - 1;
      const Bytes plain = loadBytes(own + v * kPyramidVector);
      const Bytes a = last ? andBytes(plain, span.lastMask) : plain;
#pragma GCC unroll 4
      for (int32_t c = 0; c < kPyramidCandidates; ++c) {
        const Bytes b = loadBytes(partner + c * step + v * kPyramidVector);
        totals[c] = addDifferences(totals[c], a, last ? andBytes(b, span.lastMask) : b);
      }
    });
  }

  /// Adds the rows of the windows without the first, and for a second window without its last.
  void addShared(int32_t x, int32_t first, Differences* totals) const {
#pragma GCC unroll 4
    for (int32_t c = 0; c < kPyramidCandidates; ++c) totals[c] = noDifferences();
    for (int32_t j = 1; j < rows.windowHeight; ++j) addRow(x, first, j, totals);
  }

  void coarsest(int32_t x) const {
    uint32_t least = 0;
    int32_t best = rows.lowest - 1;
    for (int32_t d = rows.lowest; d <= rows.highest; d += kPyramidCandidates) {
      Differences totals[kPyramidCandidates];
      addShared(x, d, totals);
      addRow(x, d, 0, totals);
#pragma GCC unroll 4
      for (int32_t c = 0; c < kPyramidCandidates; ++c) {
        const uint32_t sum = totalSum(totals[c]);
        if (d + c > rows.highest || (best >= rows.lowest && sum > least)) continue;
        least = sum, best = d + c;
      }
    }
    rows.whole[0][x] = static_cast<int16_t>(best);
  }

  /// Sums a pixel that is at `at` of the block.
  void sums(int32_t x, int32_t first, PyramidBlock& block, int32_t at) const {
    Differences shared[kPyramidCandidates];
    addShared(x, first, shared);
    for (int32_t r = 0; r < rows.count; ++r) {
      Differences totals[kPyramidCandidates];
#pragma GCC unroll 4
      for (int32_t c = 0; c < kPyramidCandidates; ++c) totals[c] = shared[c];
      addRow(x, first, r * rows.windowHeight, totals);
#pragma GCC unroll 4
      for (int32_t c = 0; c < kPyramidCandidates; ++c) block.of[r][c][at] = static_cast<int32_t>(totalSum(totals[c]));
    }
  }

  void run() const {
    if (rows.coarse == nullptr) {
      for (int32_t x = 0; x < rows.width; ++x) coarsest(x);
      return;
    }
    PyramidBlock block = {};
    for (int32_t from = 0; from < rows.width; from += kPyramidBlock) {
      const int32_t pixels = lesser(kPyramidBlock, rows.width - from);
      for (int32_t at = 0; at < pixels; ++at) {
        block.first[at] = firstCandidate(rows, from + at);
        sums(from + at, block.first[at], block, at);
      }
      decide(rows, block, from, pixels);
    }
  }
};

template <int32_t kVectors>
void pyramidPairs(const PyramidRows& rows) {
  const PyramidPair<kVectors> pair(rows);
  PyramidBlock block = {};
  for (int32_t from = 0; from < rows.width; from += kPyramidBlock) {
    const int32_t pixels = lesser(kPyramidBlock, rows.width - from);
    int32_t at = 0;
    for (; at + 2 <= pixels; at += 2) {
      block.first[at] = block.first[at + 1] = firstCandidate(rows, from + at);
      pair.sums(from + at, block.first[at], block, at);
    }
    if (at < pixels) {
      block.first[at] = firstCandidate(rows, from + at);
      PyramidWindow<0>(rows).sums(from + at, block.first[at], block, at);
    }
    decide(rows, block, from, pixels);
  }
}

inline void pyramidRows(const PyramidRows& rows) {
  if constexpr (kDifferencesApart > 0) {
    const int32_t pair = rows.windowWidth + 1;
    if (rows.coarse != nullptr && pair <= kDifferencesApart) return pyramidPairs<1>(rows);
    if (rows.coarse != nullptr && pair <= 2 * kDifferencesApart) return pyramidPairs<2>(rows);
  }
  const int32_t bytes = rows.windowWidth * static_cast<int32_t>(sizeof(HsvPixel));
  if (bytes <= kPyramidVector) return PyramidWindow<1>(rows).run();
  if (bytes <= 2 * kPyramidVector) return PyramidWindow<2>(rows).run();
  PyramidWindow<0>(rows).run();
}

using CopyBytes [[gnu::vector_size(8)]] = uint8_t;
using CopySums [[gnu::vector_size(16)]] = uint16_t;

inline CopySums copySumsAt(const HsvPixel* pixel) {
  CopyBytes bytes;
  std::memcpy(&bytes, pixel, sizeof bytes);
  return __builtin_convertvector(bytes, CopySums);
}

inline void pyramidHalve(const PyramidHalving& rows) {
  const auto factor = static_cast<uint16_t>(rows.fromImage ? 3 : 2);
  // Hue bytes stay; each other byte is combined with the other two of its channel.
  const CopySums others = {0, 0, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff, 0xffff};
  const CopySums before = {0, 0, 0, 255, 0, 255, 510, 510};
  for (int32_t x = 0; x < rows.width; ++x) {
    const CopySums sum = copySumsAt(rows.above + 2 * x) + copySumsAt(rows.above + 2 * x + 1) +
                         copySumsAt(rows.below + 2 * x) + copySumsAt(rows.below + 2 * x + 1);
#if defined(__clang__)
    const CopySums second = __builtin_shufflevector(sum, sum, 0, 1, 3, 2, 5, 4, 2, 4);
    const CopySums third = __builtin_shufflevector(sum, sum, 0, 1, 6, 6, 7, 7, 3, 5);
#else  // g++ has the alternative from version 12 on
    const CopySums second = __builtin_shuffle(sum, CopySums{0, 1, 3, 2, 5, 4, 2, 4});
    const CopySums third = __builtin_shuffle(sum, CopySums{0, 1, 6, 6, 7, 7, 3, 5});
#endif
    const CopySums total = ((sum + ((second + third) & others)) * factor + 4) >> 3;
    CopySums rest = total > before ? total - before : CopySums{};
    rest = rest < 255 ? rest : CopySums{} + 255;
    const CopyBytes bytes = __builtin_convertvector(rest, CopyBytes);
    std::memcpy(static_cast<void*>(rows.out + x), &bytes, sizeof bytes);
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(PyramidKernels, pyramidHalve, pyramidRows)
