// SPDX-License-Identifier: Apache-2.0
// Fast form of halving; compiled once per instruction set.
//
// Columns of three are summed once and shared by the two windows that overlap in every odd column. The division by nine
// is a multiplication: floor(s / 9) = (s * 7282) >> 16 for every s up to 9 * 255 + 4.

#include "half.h"

namespace {

inline void halfRows(ImageView<const uint8_t> in, ImageView<uint8_t> out, int32_t firstRow, int32_t endRow) {
  const int32_t lastX = in.width - 1, lastY = in.height - 1;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const uint8_t* above = in.row(greater(2 * y - 1, 0));
    const uint8_t* here = in.row(2 * y);
    const uint8_t* below = in.row(lesser(2 * y + 1, lastY));
    const auto column = [&](int32_t x) -> uint32_t { return uint32_t{above[x]} + here[x] + below[x]; };
    uint8_t* result = out.row(y);
    uint32_t before = column(0);
    for (int32_t x = 0; x < out.width; ++x) {
      const uint32_t after = column(lesser(2 * x + 1, lastX));
      result[x] = static_cast<uint8_t>(((before + column(2 * x) + after + 4) * 7282) >> 16);
      before = after;
    }
  }
}

inline void halfRgbRows(ImageView<const Rgb8> in, ImageView<Rgb8> out, int32_t firstRow, int32_t endRow) {
  const int32_t lastX = in.width - 1, lastY = in.height - 1;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const Rgb8* rows[3] = {in.row(greater(2 * y - 1, 0)), in.row(2 * y), in.row(lesser(2 * y + 1, lastY))};
    for (int32_t x = 0; x < out.width; ++x) {
      const int32_t columns[3] = {greater(2 * x - 1, 0), 2 * x, lesser(2 * x + 1, lastX)};
      uint32_t red = 4, green = 4, blue = 4;
      for (const Rgb8* row : rows) {
        for (const int32_t column : columns)
          red += row[column].red, green += row[column].green, blue += row[column].blue;
      }
      const auto ninth = [](uint32_t sum) { return static_cast<uint8_t>((sum * 7282) >> 16); };
      out.row(y)[x] = {ninth(red), ninth(green), ninth(blue)};
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(HalfKernels, halfRows, halfRgbRows)
