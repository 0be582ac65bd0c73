// SPDX-License-Identifier: Apache-2.0
// Fast form of doubling a disparity map; compiled once per instruction set.
//
// Each half row is widened once; an odd row is the mean of two widened ones, the lower of which becomes the next even row.

#include "upscale.h"

namespace {

constexpr int32_t kUpscaleWidest = 32768;

inline int32_t magnitude(int32_t value) { return value < 0 ? -value : value; }

/// Widens row y of the half map to full width.
inline void widenRow(int32_t thresholdQ4, ImageView<const uint8_t> grey, ImageView<const int16_t> half, int32_t y,
                     int32_t width, int16_t* out) {
  const int16_t* in = half.row(y);
  const uint8_t* values = grey.row(2 * y);
  const auto twice = [](int32_t d) { return static_cast<int16_t>(d == kInvalidDisparity ? d : 2 * d); };
  int32_t x = 0;
  for (; 2 * x + 2 < width; ++x) {
    const int32_t l = in[x], r = in[x + 1];
    out[2 * x] = twice(l);
    if (l == kInvalidDisparity || r == kInvalidDisparity) {
      out[2 * x + 1] = twice(l == kInvalidDisparity ? r : l);
    } else if (magnitude(l - r) <= thresholdQ4) {
      out[2 * x + 1] = static_cast<int16_t>(l + r);
    } else {
      const int32_t own = values[2 * x + 1];
      out[2 * x + 1] = twice(magnitude(values[2 * x] - own) <= magnitude(values[2 * x + 2] - own) ? l : r);
    }
  }
  for (int32_t last = 2 * x; last < width; ++last) out[last] = twice(in[x]);
}

inline void upscaleRows(int32_t thresholdQ4, ImageView<const uint8_t> grey, ImageView<const int16_t> half,
                        ImageView<int16_t> result, int32_t firstRow, int32_t endRow) {
  int16_t rows[2][kUpscaleWidest];
  int32_t held[2] = {-1, -1};
  const int32_t width = result.width;
  const auto widened = [&](int32_t y) -> const int16_t* {
    int16_t* row = rows[y % 2];
    if (held[y % 2] != y) widenRow(thresholdQ4, grey, half, y, width, row);
    held[y % 2] = y;
    return row;
  };
  for (int32_t y = firstRow; y < endRow; ++y) {
    int16_t* out = result.row(y);
    const int16_t* above = widened(y / 2);
    if (y % 2 == 0 || y / 2 + 1 >= half.height) {
      std::memcpy(out, above, static_cast<size_t>(width) * sizeof(int16_t));
      continue;
    }
    const int16_t* below = widened(y / 2 + 1);
    for (int32_t x = 0; x < width; ++x) {
      const int32_t a = above[x], b = below[x];
      const int32_t mean = (a + b + 1) >> 1;
      out[x] = static_cast<int16_t>(a == kInvalidDisparity ? b : (b == kInvalidDisparity ? a : mean));
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(UpscaleKernels, upscaleRows)
