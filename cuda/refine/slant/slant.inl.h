// SPDX-License-Identifier: Apache-2.0
// Vector form of local planes; compiled once per instruction set.
//
// A vector holds the pixels of kLanesI16 columns, and the sums over the 25 taps fit 16 bits. The plane of each pixel is then solved
// in float32.

#include "slant.h"

namespace {

constexpr int32_t kSlantSide = 2 * kSlantTaps + 1;

/// The rows of the taps, and those of them that are inside the image: [firstRow, endRow).
struct SlantWindow {
  const uint8_t* grey[kSlantSide];
  const int16_t* disparity[kSlantSide];
  int32_t firstRow, endRow;
};

/// The taps of kLanesI16 pixels, with invalid columns outside the image.
struct SlantMargin {
  static constexpr int32_t kColumns = kLanesI16 + 2 * kSlantReach;
  uint8_t grey[kSlantSide][kColumns];
  int16_t disparity[kSlantSide][kColumns];

  /// Pixel x is at kSlantReach.
  SlantWindow around(const SlantWindow& window, int32_t x, int32_t width) {
    SlantWindow result = window;
    const int32_t first = x - kSlantReach;
    const int32_t before = greater(-first, 0), end = lesser(width - first, kColumns);
    for (int32_t j = window.firstRow; j < window.endRow; ++j) {
      for (int32_t i = 0; i < kColumns; ++i) grey[j][i] = 0, disparity[j][i] = kInvalidDisparity;
      std::memcpy(grey[j] + before, window.grey[j] + first + before, static_cast<size_t>(end - before));
      std::memcpy(disparity[j] + before, window.disparity[j] + first + before,
                  static_cast<size_t>(end - before) * sizeof(int16_t));
      result.grey[j] = grey[j];
      result.disparity[j] = disparity[j];
    }
    return result;
  }
};

/// Added to a plane's value to make it positive. The slopes are at most 8 * 2 * kSlantStepQ4 * sqrt(2), because their matrix has no
/// eigenvalue below n^2; so the value is less than 1300 from the centre.
constexpr int16_t kSlantOffset = 2048;

/// The sums of slant.h for kLanesI16 pixels, and the smallest and largest delta.
struct SlantSums {
  enum Sum { kN, kX, kY, kXX, kXY, kYY, kD, kDX, kDY, kSums };
  alignas(64) int16_t of[kSums][kLanesI16];
  I16 lowest, highest;

  void add(const SlantWindow& window, int32_t x) {
    const I16 zero = splatI16(0), invalid = splatI16(kInvalidDisparity), step = splatI16(kSlantStepQ4),
              range = splatI16(kSlantGrey);
    const I16 centre = loadI16(window.disparity[kSlantTaps] + x), own = loadBytesAsI16(window.grey[kSlantTaps] + x);
    I16 sums[kSums];
    for (I16& sum : sums) sum = zero;
    lowest = highest = zero;
    for (int32_t j = window.firstRow; j < window.endRow; ++j) {
      // By column: whether the tap counts, as 0 or 1, and its difference.
      I16 ones[kSlantSide], deltas[kSlantSide];
      for (int32_t i = 0; i < kSlantSide; ++i) {
        const int32_t at = x + kSlantSpacing * (i - kSlantTaps);
        const I16 value = loadI16(window.disparity[j] + at);
        const I16 delta = subSaturatedI16(value, centre);
        const I16 unlike = lessI16(range, absoluteI16(subI16(loadBytesAsI16(window.grey[j] + at), own)));
        const I16 apart = lessI16(step, maxI16(delta, subSaturatedI16(zero, delta)));
        const I16 none = minI16(minI16(unlike, apart), equalI16(value, invalid));
        ones[i] = addI16(none, splatI16(1));
        deltas[i] = andNotI16(none, delta);
      }
      const auto total = [](const I16* v) { return addI16(addI16(addI16(v[0], v[4]), addI16(v[1], v[3])), v[2]); };
      const auto first = [](const I16* v) {
        const I16 outer = subI16(v[4], v[0]);
        return addI16(addI16(outer, outer), subI16(v[3], v[1]));
      };
      const I16 outer = addI16(ones[0], ones[4]), twice = addI16(outer, outer);
      const I16 n = total(ones), sx = first(ones), sd = total(deltas);
      const auto smallest = [](const I16* v) { return minI16(minI16(minI16(v[0], v[4]), minI16(v[1], v[3])), v[2]); };
      const auto largest = [](const I16* v) { return maxI16(maxI16(maxI16(v[0], v[4]), maxI16(v[1], v[3])), v[2]); };
      lowest = minI16(lowest, smallest(deltas));
      highest = maxI16(highest, largest(deltas));
      sums[kN] = addI16(sums[kN], n);
      sums[kX] = addI16(sums[kX], sx);
      sums[kXX] = addI16(sums[kXX], addI16(addI16(twice, twice), addI16(ones[1], ones[3])));
      sums[kD] = addI16(sums[kD], sd);
      sums[kDX] = addI16(sums[kDX], first(deltas));
      const I16 row = splatI16(static_cast<int16_t>(j - kSlantTaps));
      const I16 rowN = mulLowU16(row, n);
      sums[kY] = addI16(sums[kY], rowN);
      sums[kYY] = addI16(sums[kYY], mulLowU16(row, rowN));
      sums[kXY] = addI16(sums[kXY], mulLowU16(row, sx));
      sums[kDY] = addI16(sums[kDY], mulLowU16(row, sd));
    }
    sums[kN] = maxI16(sums[kN], splatI16(1));  // a hole has no taps
    for (int32_t k = 0; k < kSums; ++k) storeI16(of[k], sums[k]);
  }

  /// Returns the values of the planes of kLanesF32 pixels, rounded, plus kSlantOffset.
  F32 planes(int32_t at) const {
    const auto load = [&](Sum sum) { return loadI16AsF32(of[sum] + at); };
    const F32 n = load(kN), sx = load(kX), sy = load(kY), sd = load(kD), eight = splatF32(8);
    const auto moment = [&](F32 sum, F32 one, F32 other) {
      return mulF32(eight, subF32(mulF32(n, sum), mulF32(one, other)));
    };
    const F32 nn = mulF32(n, n);
    const F32 a = addF32(moment(load(kXX), sx, sx), nn), c = addF32(moment(load(kYY), sy, sy), nn);
    const F32 b = moment(load(kXY), sx, sy), p = moment(load(kDX), sx, sd), q = moment(load(kDY), sy, sd);
    const F32 det = subF32(mulF32(a, c), mulF32(b, b));
    const F32 tilt =
        addF32(mulF32(sx, subF32(mulF32(p, c), mulF32(q, b))), mulF32(sy, subF32(mulF32(q, a), mulF32(p, b))));
    const F32 v = divF32(subF32(mulF32(sd, det), tilt), mulF32(n, det));
    return addF32(floorF32(addF32(v, splatF32(0.5f))), splatF32(kSlantOffset));
  }
};

inline void slantVector(const SlantWindow& window, int32_t x, int16_t* out) {
  const I16 invalid = splatI16(kInvalidDisparity), centre = loadI16(window.disparity[kSlantTaps] + x);
  const I16 hole = equalI16(centre, invalid);
  SlantSums sums;
  sums.add(window, x);
  alignas(64) int16_t planes[kLanesI16];
  for (int32_t at = 0; at < kLanesI16; at += kLanesF32) {
    storeTruncatedU16(reinterpret_cast<uint16_t*>(planes) + at, sums.planes(at));
  }
  const I16 plane = minI16(maxI16(subI16(loadI16(planes), splatI16(kSlantOffset)), sums.lowest), sums.highest);
  storeI16(out, selectI16(hole, invalid, addI16(centre, plane)));
}

inline void slantRows(ImageView<const uint8_t> grey, ImageView<const int16_t> disparityQ4, ImageView<int16_t> result,
                      int32_t firstRow, int32_t endRow) {
  const int32_t width = grey.width, height = grey.height;
  for (int32_t y = firstRow; y < endRow; ++y) {
    SlantWindow window = {};
    window.firstRow = kSlantSide;
    for (int32_t j = 0; j < kSlantSide; ++j) {
      const int32_t row = y + kSlantSpacing * (j - kSlantTaps);
      if (row < 0 || row >= height) continue;
      window.grey[j] = grey.row(row);
      window.disparity[j] = disparityQ4.row(row);
      window.firstRow = lesser(window.firstRow, j);
      window.endRow = j + 1;
    }
    SlantMargin margin;
    alignas(64) int16_t narrow[kLanesI16];
    for (int32_t x = 0; x < width; x += kLanesI16) {
      const int32_t at = greater(lesser(x, width - kLanesI16), 0);
      const bool inside = at >= kSlantReach && at + kLanesI16 + kSlantReach <= width;
      int16_t* const out = width < kLanesI16 ? narrow : result.row(y) + at;
      if (inside) slantVector(window, at, out);
      else slantVector(margin.around(window, at, width), kSlantReach, out);
    }
    if (width < kLanesI16) std::memcpy(result.row(y), narrow, static_cast<size_t>(width) * sizeof(int16_t));
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(SlantKernels, slantRows)
