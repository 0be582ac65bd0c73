// SPDX-License-Identifier: Apache-2.0
// Vector form of pyramid SAD; compiled once per instruction set. No include guard on purpose.
//
// Every pixel has disparities of its own, so nothing runs on from pixel to pixel: a vector is a row of the window, whose
// differences the CPU adds up, and the four candidates share what is read of their own image. But two pixels below one have the
// same guess: where a register keeps pixels apart, the columns of both windows are summed once, and each leaves out one of them.

namespace {

constexpr int32_t kPyramidVector = kGroups * 16;

/// Vectors that so many pixels take, the last one's bytes beyond them masked.
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

/// Both windows of two pixels beside each other, in kVectors.
template <int32_t kVectors>
struct PyramidPair {
  const PyramidRow& row;
  const PyramidSpan span;

  explicit PyramidPair(const PyramidRow& r) : row(r), span(r.windowWidth + 1) {}

  /// Of pixel x and of the one behind it.
  void sums(int32_t x, int32_t first, uint32_t* of, uint32_t* ofNext) const {
    Differences totals[kPyramidCandidates][kVectors];
#pragma GCC unroll 4
    for (int32_t c = 0; c < kPyramidCandidates; ++c) {
#pragma GCC unroll 2
      for (int32_t v = 0; v < kVectors; ++v) totals[c][v] = noDifferences();
    }
    const int32_t start = x - row.windowWidth / 2;
    const ptrdiff_t step = row.towards * static_cast<ptrdiff_t>(sizeof(HsvPixel));
    for (int32_t j = 0; j < row.windowHeight; ++j) {
      const auto* own = reinterpret_cast<const uint8_t*>(row.own[j] + start);
      const auto* partner = reinterpret_cast<const uint8_t*>(row.partner[j] + start) + first * step;
#pragma GCC unroll 2
      for (int32_t v = 0; v < kVectors; ++v) {
        const Bytes plain = loadBytes(own + v * kPyramidVector);
        const Bytes a = v == kVectors - 1 ? andBytes(plain, span.lastMask) : plain;
#pragma GCC unroll 4
        for (int32_t c = 0; c < kPyramidCandidates; ++c) {
          const Bytes b = loadBytes(partner + c * step + v * kPyramidVector);
          totals[c][v] = addDifferences(totals[c][v], a, v == kVectors - 1 ? andBytes(b, span.lastMask) : b);
        }
      }
    }
#pragma GCC unroll 4
    for (int32_t c = 0; c < kPyramidCandidates; ++c) {
      uint64_t columns[kVectors * kPyramidVector / 8];
      uint32_t total = 0;
#pragma GCC unroll 2
      for (int32_t v = 0; v < kVectors; ++v) {
        storeDifferences(columns + v * kPyramidVector / 8, totals[c][v]);
        total += totalOf(totals[c][v]);
      }
      of[c] = total - static_cast<uint32_t>(columns[row.windowWidth]);
      ofNext[c] = total - static_cast<uint32_t>(columns[0]);
    }
  }
};

/// kVectors of a window's row; 0: as many as it takes.
template <int32_t kVectors>
struct PyramidWindow {
  const PyramidRow& row;
  const PyramidSpan span;

  explicit PyramidWindow(const PyramidRow& r) : row(r), span(r.windowWidth) {}

  /// Sums of kCount disparities from `first` on.
  template <int32_t kCount>
  void sums(int32_t x, int32_t first, uint32_t* out) const {
    Differences totals[kCount];
#pragma GCC unroll 4
    for (int32_t c = 0; c < kCount; ++c) totals[c] = noDifferences();
    const int32_t start = x - row.windowWidth / 2;
    const ptrdiff_t step = row.towards * static_cast<ptrdiff_t>(sizeof(HsvPixel));
    for (int32_t j = 0; j < row.windowHeight; ++j) {
      const auto* own = reinterpret_cast<const uint8_t*>(row.own[j] + start);
      const auto* partner = reinterpret_cast<const uint8_t*>(row.partner[j] + start) + first * step;
      forEach<kVectors>(span.vectors, [&](int32_t v) {
        const bool last = kVectors == 1 || v == span.vectors - 1;
        const Bytes plain = loadBytes(own + v * kPyramidVector);
        const Bytes a = last ? andBytes(plain, span.lastMask) : plain;
#pragma GCC unroll 4
        for (int32_t c = 0; c < kCount; ++c) {
          const Bytes b = loadBytes(partner + c * step + v * kPyramidVector);
          totals[c] = addDifferences(totals[c], a, last ? andBytes(b, span.lastMask) : b);
        }
      });
    }
#pragma GCC unroll 4
    for (int32_t c = 0; c < kCount; ++c) out[c] = totalOf(totals[c]);
  }

  void coarsest(int32_t x) const {
    uint32_t least = 0;
    int32_t best = row.lowest - 1;
    for (int32_t d = row.lowest; d <= row.highest; d += kPyramidCandidates) {
      uint32_t some[kPyramidCandidates];
      sums<kPyramidCandidates>(x, d, some);
      for (int32_t c = 0; c < kPyramidCandidates && d + c <= row.highest; ++c) {
        if (best >= row.lowest && some[c] > least) continue;
        least = some[c], best = d + c;
      }
    }
    row.whole[x] = static_cast<int16_t>(best);
  }

  int32_t firstCandidate(int32_t x) const { return 2 * row.coarse[x >> 1] - 1; }

  void finer(int32_t x) const {
    uint32_t of[kPyramidCandidates];
    sums<kPyramidCandidates>(x, firstCandidate(x), of);
    decide(x, firstCandidate(x), of);
  }

  template <class Pair>
  void finerPairs() const {
    const Pair pair(row);
    int32_t x = 0;
    for (; x + 2 <= row.width; x += 2) {
      uint32_t of[2][kPyramidCandidates];
      pair.sums(x, firstCandidate(x), of[0], of[1]);
      decide(x, firstCandidate(x), of[0]);
      decide(x + 1, firstCandidate(x), of[1]);
    }
    if (x < row.width) finer(x);
  }

  void decide(int32_t x, int32_t first, uint32_t* of) const {
    constexpr uint32_t kNone = 0x7fffffff;
    uint32_t least = kNone, second = kNone;
    int32_t best = 0, secondPlace = 0;
#pragma GCC unroll 4
    for (int32_t c = 0; c < kPyramidCandidates; ++c) {
      if (first + c < row.lowest || first + c > row.highest) of[c] = kNone;
      if (of[c] == kNone) continue;
      if (of[c] <= least) {
        second = least, secondPlace = best;
        least = of[c], best = c;
      } else if (of[c] <= second) {
        second = of[c], secondPlace = c;
      }
    }
    if (best != 1 && of[1] != kNone && second != kNone) {
      const int32_t apart = secondPlace < best ? best - secondPlace : secondPlace - best;
      if (100 * (second - least) < static_cast<uint32_t>(row.peakRatio * apart) * second) best = 1, least = of[1];
    }
    const int32_t d = first + best;
    row.whole[x] = static_cast<int16_t>(d);
    if (row.q4 == nullptr) return;
    int32_t fine = 0;
    if (row.subpixel && best > 0 && best < kPyramidCandidates - 1 && of[best - 1] != kNone && of[best + 1] != kNone) {
      const auto below = static_cast<int32_t>(of[best - 1]), centre = static_cast<int32_t>(least),
                 above = static_cast<int32_t>(of[best + 1]);
      const int32_t q = below + above - 2 * centre;
      // 8 is added and taken off again: of a positive quotient, truncation is the floor.
      if (q > 0 && centre <= below && centre <= above) fine = (16 * (below - above) + 17 * q) / (2 * q) - 8;
    }
    row.q4[x] = static_cast<int16_t>(16 * d + fine);
    uint32_t rival = kNone;
#pragma GCC unroll 4
    for (int32_t c = 0; c < kPyramidCandidates; ++c) {
      if ((c < best - 1 || c > best + 1) && of[c] < rival) rival = of[c];
    }
    row.confidence[x] =
        rival == kNone || rival <= least ? uint8_t{0} : static_cast<uint8_t>(255 * (rival - least) / rival);
  }

  void run() const {
    if constexpr (kDifferencesApart > 0) {
      const int32_t pair = row.windowWidth + 1;
      if (row.coarse != nullptr && pair <= kDifferencesApart) return finerPairs<PyramidPair<1>>();
      if (row.coarse != nullptr && pair <= 2 * kDifferencesApart) return finerPairs<PyramidPair<2>>();
    }
    for (int32_t x = 0; x < row.width; ++x) {
      if (row.coarse == nullptr) coarsest(x);
      else finer(x);
    }
  }
};

inline void pyramidRow(const PyramidRow& row) {
  const int32_t bytes = row.windowWidth * static_cast<int32_t>(sizeof(HsvPixel));
  if (bytes <= kPyramidVector) return PyramidWindow<1>(row).run();
  if (bytes <= 2 * kPyramidVector) return PyramidWindow<2>(row).run();
  PyramidWindow<0>(row).run();
}

constexpr PyramidKernels kPyramidKernels = {pyramidRow};

}  // namespace
