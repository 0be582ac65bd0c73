// SPDX-License-Identifier: Apache-2.0
// Vector form of the temporal filter; compiled once per instruction set.
//
// All values fit 16-bit lanes: z - mean is clamped to 17/16 px before it is converted to 1/256 px, and the division by 2 to 9 is a
// multiplication by ceil(65536 / n), which is exact for differences within the gate. The code walks down stripes of columns. Arrays of
// one stripe hold the reset flags and the column sums of three grey levels.

#include "temporal.h"

namespace {

constexpr int32_t kTemporalColumns = 512;  // of a stripe
static_assert(kTemporalColumns % kLanesI16 == 0 && kTemporalColumns % kTemporalTile == 0, "whole vectors, whole tiles");

template <int32_t kBits>
inline I16 upI16(I16 v) {
  return mulLowU16(v, splatI16(static_cast<int16_t>(1 << kBits)));
}
template <int32_t kBits>
inline I16 downU16(I16 v) {
  return mulHighU16(v, splatI16(static_cast<int16_t>(1 << (16 - kBits))));
}

/// Computes the grey levels b of one row of a stripe.
struct TemporalGreys {
  alignas(
      64) int16_t columns[kTemporalColumns + 2 + kLanesI16];  // sums of three rows; [0] is the column before the stripe

  TemporalGreys(ImageView<const uint8_t> grey, int32_t first, int32_t count, int32_t y) {
    const uint8_t* rows[3] = {grey.row(greater(y - 1, 0)), grey.row(y), grey.row(lesser(y + 1, grey.height - 1))};
    const auto sum = [&](int32_t x) { return static_cast<int16_t>(rows[0][x] + rows[1][x] + rows[2][x]); };
    columns[0] = sum(greater(first - 1, 0));
    int32_t x = 0;
    for (; x + kLanesI16 <= count; x += kLanesI16) {
      const int32_t at = first + x;
      storeI16(columns + 1 + x, addI16(addI16(loadBytesAsI16(rows[0] + at), loadBytesAsI16(rows[1] + at)),
                                       loadBytesAsI16(rows[2] + at)));
    }
    for (; x < count; ++x) columns[1 + x] = sum(first + x);
    const int16_t replicated = sum(lesser(first + count, grey.width - 1));
    for (; x < count + 1 + kLanesI16; ++x) columns[1 + x] = replicated;
  }

  I16 at(int32_t x) const {
    const I16 sum = addI16(addI16(loadI16(columns + x), loadI16(columns + x + 1)), loadI16(columns + x + 2));
    // floor(v / 9) = v * 0xe38f >> 19 for every v of 16 bits.
    const I16 v = addI16(upI16<4>(sum), splatI16(4));
    return downU16<3>(mulHighU16(v, splatI16(static_cast<int16_t>(0xe38f))));
  }
};

/// The state of a vector of pixels.
struct RememberedPixels {
  I16 mean, fraction, frames, misses, reference;

  static RememberedPixels load(const int16_t* mean, const uint8_t* weight, const int16_t* reference) {
    const I16 weights = loadBytesAsI16(weight), references = loadI16(reference);
    const I16 frames = downU16<4>(weights), misses = downU16<12>(references);
    return {loadI16(mean), subI16(weights, upI16<4>(frames)), frames, misses, subI16(references, upI16<12>(misses))};
  }
  void store(int16_t* meanOut, uint8_t* weight, int16_t* referenceOut) const {
    storeI16(meanOut, mean);
    storeBytesI16(weight, addI16(upI16<4>(frames), fraction));
    storeI16(referenceOut, addI16(upI16<12>(misses), reference));
  }
  I16 known() const { return lessI16(splatI16(0), frames); }
};

/// Returns e / (frames + 1), halves rounded away from 0, for frames from 1 to kTemporalFrames and |e| up to kGateQ8.
inline I16 newShare(I16 e, I16 frames) {
  const I16 parts = addI16(frames, splatI16(1));
  I16 inverse = splatI16(static_cast<int16_t>(65536 / 2));
#pragma GCC unroll 7
  for (int32_t n = 3; n <= kTemporalFrames + 1; ++n) {
    inverse = selectI16(equalI16(parts, splatI16(static_cast<int16_t>(n))),
                        splatI16(static_cast<int16_t>((65536 + n - 1) / n)), inverse);
  }
  const I16 share = mulHighU16(addI16(absoluteI16(e), downU16<1>(parts)), inverse);
  return selectI16(lessI16(e, splatI16(0)), subI16(splatI16(0), share), share);
}

/// Updates the state of a vector of pixels and replaces its disparities by the result.
inline void bringOn(I16 grey, const int16_t* resets, int16_t* disparities, int16_t* means, uint8_t* weights,
                    int16_t* references) {
  static_assert(kGateQ8 == 16 * 16, "the difference is cut at 17 sixteenths of a pixel");
  const I16 zero = splatI16(0), one = splatI16(1);
  const I16 disparity = loadI16(disparities), reset = loadI16(resets);
  RememberedPixels s = RememberedPixels::load(means, weights, references);
  const I16 valid = equalI16(equalI16(disparity, splatI16(kInvalidDisparity)), zero);
  const I16 cut = maxI16(minI16(subSaturatedI16(disparity, s.mean), splatI16(17)), splatI16(-17));
  const I16 e = subI16(upI16<4>(cut), s.fraction);
  const I16 near = andI16(valid, lessI16(absoluteI16(e), splatI16(kGateQ8 + 1)));
  const I16 far = andNotI16(near, valid);
  const I16 last = equalI16(s.misses, splatI16(kTemporalMisses - 1));
  const I16 goesOn = andNotI16(reset, s.known());
  const I16 fresh = selectI16(goesOn, andI16(far, last), splatI16(-1));

  const I16 sum = addI16(s.fraction, newShare(e, s.frames));  // -128 to 143
  const I16 carry = subI16(downU16<4>(addI16(sum, splatI16(256))), splatI16(16));
  const I16 change = subI16(grey, s.reference), quarter = downU16<2>(absoluteI16(change));
  const I16 drift = selectI16(lessI16(change, zero), subI16(zero, quarter), quarter);

  s.mean = selectI16(fresh, disparity, addI16(s.mean, andI16(near, carry)));
  s.fraction = andNotI16(fresh, selectI16(near, subI16(sum, upI16<4>(carry)), s.fraction));
  const I16 more = minI16(addI16(s.frames, one), splatI16(kTemporalFrames));
  s.frames = selectI16(fresh, andI16(valid, one), selectI16(near, more, s.frames));
  s.misses = andNotI16(fresh, andNotI16(near, addI16(s.misses, andI16(far, one))));
  s.reference = selectI16(fresh, grey, addI16(s.reference, andI16(near, drift)));
  // A pixel without a disparity has fraction 0 and mean kInvalidDisparity, so the sum is invalid too.
  storeI16(disparities, subI16(s.mean, lessI16(splatI16(7), s.fraction)));
  s.store(means, weights, references);
}

/// Increments the count of each column whose pixel has moved.
inline void countMoved(int16_t* counts, I16 grey, const uint8_t* weight, const int16_t* reference) {
  const I16 known = lessI16(splatI16(15), loadBytesAsI16(weight));
  const I16 stored = loadI16(reference), before = subI16(stored, upI16<12>(downU16<12>(stored)));
  const I16 moved = andI16(known, lessI16(splatI16(kMovedQ4), absoluteI16(subI16(grey, before))));
  storeI16(counts, subI16(loadI16(counts), moved));
}

void temporalMoved(ImageView<const uint8_t> grey, const TemporalState& state, ImageView<uint8_t> moved,
                   int32_t firstTileRow, int32_t endTileRow) {
  for (int32_t tileRow = firstTileRow; tileRow < endTileRow; ++tileRow) {
    const int32_t end = lesser((tileRow + 1) * kTemporalTile, grey.height);
    for (int32_t first = 0; first < grey.width; first += kTemporalColumns) {
      const int32_t count = lesser(kTemporalColumns, grey.width - first);
      alignas(64) int16_t counts[kTemporalColumns] = {};
      for (int32_t y = tileRow * kTemporalTile; y < end; ++y) {
        const TemporalGreys greys(grey, first, count, y);
        const uint8_t* const weights = state.weight.row(y) + first;
        const int16_t* const references = state.reference.row(y) + first;
        int32_t x = 0;
        for (; x + kLanesI16 <= count; x += kLanesI16) countMoved(counts + x, greys.at(x), weights + x, references + x);
        if (x < count) {
          uint8_t lastWeights[kLanesI16] = {};
          int16_t lastReferences[kLanesI16] = {};
          std::memcpy(lastWeights, weights + x, static_cast<size_t>(count - x));
          std::memcpy(lastReferences, references + x, static_cast<size_t>(count - x) * sizeof(int16_t));
          countMoved(counts + x, greys.at(x), lastWeights, lastReferences);
        }
      }
      for (int32_t tile = 0; tile < (count + kTemporalTile - 1) / kTemporalTile; ++tile) {
        int32_t sum = 0;
        for (int32_t i = 0; i < kTemporalTile; ++i) sum += counts[tile * kTemporalTile + i];
        moved.row(tileRow)[first / kTemporalTile + tile] = static_cast<uint8_t>(sum);
      }
    }
  }
}

void temporalMean(ImageView<const uint8_t> grey, ImageView<int16_t> disparityQ4, const TemporalState& state,
                  ImageView<const uint8_t> moved, bool resetAll, int32_t firstRow, int32_t endRow) {
  alignas(64) int16_t reset[kTemporalColumns];
  for (int32_t first = 0; first < grey.width; first += kTemporalColumns) {
    const int32_t count = lesser(kTemporalColumns, grey.width - first);
    for (int32_t y = firstRow; y < endRow; ++y) {
      if (y % kTemporalTile == 0 || y == firstRow) {
        for (int32_t x = 0; x < kTemporalColumns; x += kTemporalTile) {
          const bool is = resetAll || resetsTile(moved, (first + x) / kTemporalTile, y / kTemporalTile);
          for (int32_t i = 0; i < kTemporalTile; ++i) reset[x + i] = is ? -1 : 0;
        }
      }
      const TemporalGreys greys(grey, first, count, y);
      int16_t* const disparities = disparityQ4.row(y) + first;
      int16_t* const means = state.mean.row(y) + first;
      uint8_t* const weights = state.weight.row(y) + first;
      int16_t* const references = state.reference.row(y) + first;
      int32_t x = 0;
      for (; x + kLanesI16 <= count; x += kLanesI16)
        bringOn(greys.at(x), reset + x, disparities + x, means + x, weights + x, references + x);
      if (x < count) {
        int16_t lastDisparities[kLanesI16] = {}, lastMeans[kLanesI16] = {}, lastReferences[kLanesI16] = {};
        uint8_t lastWeights[kLanesI16] = {};
        const auto bytes = static_cast<size_t>(count - x);
        std::memcpy(lastDisparities, disparities + x, 2 * bytes);
        std::memcpy(lastMeans, means + x, 2 * bytes);
        std::memcpy(lastWeights, weights + x, bytes);
        std::memcpy(lastReferences, references + x, 2 * bytes);
        bringOn(greys.at(x), reset + x, lastDisparities, lastMeans, lastWeights, lastReferences);
        std::memcpy(disparities + x, lastDisparities, 2 * bytes);
        std::memcpy(means + x, lastMeans, 2 * bytes);
        std::memcpy(weights + x, lastWeights, bytes);
        std::memcpy(references + x, lastReferences, 2 * bytes);
      }
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(TemporalKernels, temporalMoved, temporalMean)
