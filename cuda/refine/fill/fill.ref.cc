// SPDX-License-Identifier: Apache-2.0
// The definition of hole filling: finds every pixel's neighbours separately; see fill.h.
#include <algorithm>
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

/// Disparities before filling, without the first columns.
struct Unfilled {
  const FillParameters& parameters;
  ImageView<const uint8_t> grey;
  ImageView<const int16_t> disparityQ4;

  bool background() const { return parameters.method == FillMethod::kBackground; }
  bool takenOut(int32_t x) const { return background() && x < grey.width / 8 && x < parameters.lowestQ4 / 16 + 8; }
  int32_t at(int32_t x, int32_t y) const {
    if (x < 0 || x >= grey.width || y < 0 || y >= grey.height) return kInvalidDisparity;
    if (takenOut(x)) return kInvalidDisparity;
    return disparityQ4.row(y)[x];
  }
  /// Returns the value of the hole's end at (e, y). @param away -1 at a left end, 1 at a right end
  int32_t end(int32_t e, int32_t y, int32_t away) const {
    if (!background()) return at(e, y);
    std::vector<int32_t> values;
    for (int32_t j = y - 2; j <= y + 2; ++j) {
      for (int32_t k = 0; k < 5; ++k) {
        const int32_t i = e + away * k;
        if (at(i, j) == kInvalidDisparity || absolute(grey.row(j)[i] - grey.row(y)[e]) > 16) continue;
        values.push_back(at(i, j));
      }
    }
    if (values.size() < 3) return at(e, y);
    std::sort(values.begin(), values.end());
    return values[(values.size() - 1) / 2];
  }
};

int16_t extrapolated(const Unfilled& image, int32_t e, int32_t x, int32_t y) {
  const FillParameters& p = image.parameters;
  int32_t n = 1;
  while (n < 32 && image.at(e + n, y) != kInvalidDisparity &&
         absolute(image.at(e + n, y) - image.at(e + n - 1, y)) <= 16)
    ++n;
  n -= n % 2;
  int32_t value = image.end(e, y, 1);
  if (n >= 16) {
    const int32_t h = n / 2;
    int32_t a = 0, b = 0;
    for (int32_t k = 0; k < h; ++k) a += image.at(e + k, y);
    for (int32_t k = h; k < n; ++k) b += image.at(e + k, y);
    int32_t c = b - a;
    if (c > 2 * h * h) c = 2 * h * h;
    if (c < -2 * h * h) c = -2 * h * h;
    value -= floorDivided(2 * int64_t{e - x} * c + h * h, 2 * h * h);
  }
  if (value < p.lowestQ4) value = p.lowestQ4;
  if (value > p.highestQ4) value = p.highestQ4;
  return static_cast<int16_t>(value);
}

/// Returns the first pixel between the valid pixels `left` and `right` of row y that takes the right one's value, or
/// -1.
int32_t edgeBetween(const Unfilled& image, int32_t left, int32_t right, int32_t y) {
  const auto grey = [&](int32_t x) { return static_cast<int32_t>(image.grey.row(y)[std::clamp(x, left, right)]); };
  int32_t largest = 31, split = -1;
  for (int32_t x = left + 1; x <= right; ++x) {
    const int32_t edge = absolute(grey(x) + grey(x + 1) - grey(x - 1) - grey(x - 2));
    if (edge > largest) largest = edge, split = x;
  }
  return split;
}

int16_t filledAt(const Unfilled& image, int32_t x, int32_t y) {
  const FillParameters& p = image.parameters;
  int32_t left = x, right = x;
  while (left >= 0 && image.at(left, y) == kInvalidDisparity) --left;
  while (right < image.grey.width && image.at(right, y) == kInvalidDisparity) ++right;
  const bool hasLeft = left >= 0, hasRight = right < image.grey.width;
  if (!hasLeft && !hasRight) return kInvalidDisparity;
  if (!hasRight) return static_cast<int16_t>(image.end(left, y, -1));
  if (!hasLeft) return image.background() ? extrapolated(image, right, x, y) : static_cast<int16_t>(image.at(right, y));

  const int32_t l = image.end(left, y, -1), r = image.end(right, y, 1), i = x - left, j = right - x,
                k = right - left - 1;
  const int32_t step = absolute(l - r);
  if (step <= p.thresholdQ4 && (!image.background() || 4 * k > step)) {
    return static_cast<int16_t>(l + floorDivided(2 * int64_t{i} * (r - l) + i + j, 2 * (i + j)));
  }
  if (image.background()) {
    const bool mayBeSplit = l > r || 32 * k >= 3 * step;
    const int32_t split = mayBeSplit ? edgeBetween(image, left, right, y) : -1;
    if (split == -1) return static_cast<int16_t>(std::min(l, r));
    return static_cast<int16_t>(x < split ? l : r);
  }
  const uint8_t* grey = image.grey.row(y);
  return static_cast<int16_t>(absolute(grey[left] - grey[x]) <= absolute(grey[right] - grey[x]) ? l : r);
}

}  // namespace

void fillReference(const FillParameters& parameters, ImageView<const uint8_t> grey,
                   ImageView<const int16_t> disparityQ4, ImageView<int16_t> filled, ImageView<uint8_t> confidence) {
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  std::vector<int16_t> copy(static_cast<size_t>(width) * height);
  const ImageView<int16_t> before = packedView(copy.data(), width, height);
  for (int32_t y = 0; y < height; ++y) std::copy_n(disparityQ4.row(y), width, before.row(y));
  const Unfilled image{parameters, grey, before.asConst()};
  std::vector<bool> empty(static_cast<size_t>(height), true);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const int32_t own = image.at(x, y);
      if (image.takenOut(x) && confidence.data != nullptr) confidence.row(y)[x] = 0;
      if (own != kInvalidDisparity) empty[y] = false;
      const bool fills = parameters.method != FillMethod::kOff && own == kInvalidDisparity;
      filled.row(y)[x] = fills ? filledAt(image, x, y) : static_cast<int16_t>(own);
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
    if (parameters.method == FillMethod::kOff) continue;
    for (int32_t x = 0; x < width; ++x) filled.row(y)[x] = filled.row(source)[x];
  }
}

}  // namespace depthwatt
