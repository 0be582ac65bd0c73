// SPDX-License-Identifier: Apache-2.0
// Vector form of the 3 x 3 median; compiled once per instruction set.
//
// Each column of three is sorted; the median of nine is the median of (largest of the lows, median of the middles,
// smallest of the highs). Pixels cannot share columns, because an invalid neighbour counts as the centre's value.

#include "median.h"

namespace {

/// One pixel with the vectors' functions, for the two border columns of each row.
struct LonePixel {
  int16_t value;
};
inline LonePixel minI16(LonePixel a, LonePixel b) { return {lesser(a.value, b.value)}; }
inline LonePixel maxI16(LonePixel a, LonePixel b) { return {greater(a.value, b.value)}; }
inline LonePixel replaceInvalid(LonePixel a, LonePixel by) { return a.value == kInvalidDisparity ? by : a; }

inline I16 replaceInvalid(I16 a, I16 by) { return selectI16(equalI16(a, splatI16(kInvalidDisparity)), by, a); }

/// Swaps a and b so that a <= b.
template <class V>
void sortPair(V& a, V& b) {
  const V low = minI16(a, b);
  b = maxI16(a, b);
  a = low;
}

template <class V>
V medianOfThree(V a, V b, V c) {
  return maxI16(minI16(a, b), minI16(maxI16(a, b), c));
}

/// @param nine three columns of three, the centre in the middle of the second
template <class V>
V medianOfNine(V (&nine)[3][3]) {
  const V centre = nine[1][1];
#pragma GCC unroll 3
  for (int32_t column = 0; column < 3; ++column) {
#pragma GCC unroll 3
    for (int32_t row = 0; row < 3; ++row) nine[column][row] = replaceInvalid(nine[column][row], centre);
    sortPair(nine[column][0], nine[column][1]);
    sortPair(nine[column][1], nine[column][2]);
    sortPair(nine[column][0], nine[column][1]);
  }
  const V lows = maxI16(maxI16(nine[0][0], nine[1][0]), nine[2][0]);
  const V highs = minI16(minI16(nine[0][2], nine[1][2]), nine[2][2]);
  return medianOfThree(lows, medianOfThree(nine[0][1], nine[1][1], nine[2][1]), highs);
}

struct MedianRowWindow {
  const int16_t* rows[3];
  int32_t width;

  MedianRowWindow(ImageView<const int16_t> in, int32_t y)
      : rows{in.row(greater(y - 1, 0)), in.row(y), in.row(lesser(y + 1, in.height - 1))}, width(in.width) {}

  int16_t pixel(int32_t x) const {
    const int32_t columns[3] = {greater(x - 1, 0), x, lesser(x + 1, width - 1)};
    LonePixel nine[3][3];
    for (int32_t column = 0; column < 3; ++column) {
      for (int32_t row = 0; row < 3; ++row) nine[column][row] = {rows[row][columns[column]]};
    }
    // With an invalid centre the valid neighbours would still take part.
    return rows[1][x] == kInvalidDisparity ? kInvalidDisparity : medianOfNine(nine).value;
  }

  /// Computes kLanesI16 pixels from x on, whose neighbours are inside the image.
  void inside(int32_t x, int16_t* out) const {
    I16 nine[3][3];
#pragma GCC unroll 3
    for (int32_t column = 0; column < 3; ++column) {
#pragma GCC unroll 3
      for (int32_t row = 0; row < 3; ++row) nine[column][row] = loadI16(rows[row] + x + column - 1);
    }
    const I16 centre = nine[1][1], invalid = splatI16(kInvalidDisparity);
    storeI16(out + x, selectI16(equalI16(centre, invalid), invalid, medianOfNine(nine)));
  }
};

inline void medianRows(ImageView<const int16_t> in, ImageView<int16_t> out, int32_t firstRow, int32_t endRow) {
  const int32_t width = in.width;
  const int32_t insideEnd = width - 1;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const MedianRowWindow window(in, y);
    int16_t* result = out.row(y);
    result[0] = window.pixel(0);
    int32_t x = 1;
    if (insideEnd - x >= kLanesI16) {
      for (; x + kLanesI16 <= insideEnd; x += kLanesI16) window.inside(x, result);
      if (x < insideEnd) window.inside(insideEnd - kLanesI16, result);  // overlaps the previous vector
      x = insideEnd;
    }
    for (; x < width; ++x) result[x] = window.pixel(x);
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(MedianKernels, medianRows)
