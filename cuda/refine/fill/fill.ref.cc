// SPDX-License-Identifier: Apache-2.0
// The definition of hole filling: each pixel looks for its neighbours by itself; see fill.h.
#include <vector>

#include "fill.h"

namespace depthwatt {
namespace {

int32_t absolute(int32_t value) { return value < 0 ? -value : value; }

int32_t floorDivided(int64_t numerator, int64_t denominator) {
  int64_t quotient = numerator / denominator;
  if (numerator % denominator != 0 && numerator < 0) --quotient;
  return static_cast<int32_t>(quotient);
}

int16_t extrapolated(const FillParameters& p, const std::vector<int16_t>& row, int32_t e, int32_t x) {
  const auto width = static_cast<int32_t>(row.size());
  int32_t n = 1;
  while (n < 32 && e + n < width && row[e + n] != kInvalidDisparity && absolute(row[e + n] - row[e + n - 1]) <= 16) ++n;
  n -= n % 2;
  int32_t value = row[e];
  if (n >= 16) {
    const int32_t h = n / 2;
    int32_t a = 0, b = 0;
    for (int32_t k = 0; k < h; ++k) a += row[e + k];
    for (int32_t k = h; k < n; ++k) b += row[e + k];
    int32_t c = b - a;
    if (c > 2 * h * h) c = 2 * h * h;
    if (c < -2 * h * h) c = -2 * h * h;
    value = row[e] - floorDivided(2 * int64_t{e - x} * c + h * h, 2 * h * h);
  }
  if (value < p.lowestQ4) value = p.lowestQ4;
  if (value > p.highestQ4) value = p.highestQ4;
  return static_cast<int16_t>(value);
}

int16_t filled(const FillParameters& p, const std::vector<int16_t>& row, const uint8_t* grey, int32_t x) {
  const auto width = static_cast<int32_t>(row.size());
  int32_t left = x, right = x;
  while (left >= 0 && row[left] == kInvalidDisparity) --left;
  while (right < width && row[right] == kInvalidDisparity) ++right;
  const bool hasLeft = left >= 0, hasRight = right < width;
  if (!hasLeft && !hasRight) return kInvalidDisparity;
  if (!hasRight) return row[left];
  if (!hasLeft) return p.method == FillMethod::kBackground ? extrapolated(p, row, right, x) : row[right];

  const int32_t l = row[left], r = row[right], i = x - left, j = right - x, k = right - left - 1;
  const int32_t step = absolute(l - r);
  const bool background = p.method == FillMethod::kBackground;
  if (step <= p.thresholdQ4 && (!background || 4 * k > step)) {
    return static_cast<int16_t>(l + floorDivided(2 * int64_t{i} * (r - l) + i + j, 2 * (i + j)));
  }
  if (background) return static_cast<int16_t>(l < r ? l : r);
  const bool likeLeft = absolute(grey[left] - grey[x]) <= absolute(grey[right] - grey[x]);
  return static_cast<int16_t>(likeLeft ? l : r);
}

}  // namespace

void fillReference(const FillParameters& parameters, ImageView<const uint8_t> grey, ImageView<int16_t> disparityQ4,
                   ImageView<uint8_t> confidence) {
  if (parameters.method == FillMethod::kOff) return;
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  if (parameters.method == FillMethod::kBackground) {
    for (int32_t y = 0; y < height; ++y) {
      for (int32_t x = 0; x < width / 8 && x < parameters.lowestQ4 / 16 + kFewestCandidates; ++x) {
        disparityQ4.row(y)[x] = kInvalidDisparity;
        if (confidence.data != nullptr) confidence.row(y)[x] = 0;
      }
    }
  }
  std::vector<bool> empty(static_cast<size_t>(height), true);
  for (int32_t y = 0; y < height; ++y) {
    int16_t* out = disparityQ4.row(y);
    const std::vector<int16_t> row(out, out + width);
    for (int32_t x = 0; x < width; ++x) {
      if (row[x] == kInvalidDisparity) out[x] = filled(parameters, row, grey.row(y), x);
      else empty[y] = false;
    }
  }
  for (int32_t y = 0; y < height; ++y) {
    if (!empty[y]) continue;
    int32_t source = y;
    while (source >= 0 && empty[source]) --source;
    if (source < 0) {
      source = y;
      while (source < height && empty[source]) ++source;
    }
    if (source == height) return;
    for (int32_t x = 0; x < width; ++x) disparityQ4.row(y)[x] = disparityQ4.row(source)[x];
  }
}

}  // namespace depthwatt
