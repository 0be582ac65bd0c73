// SPDX-License-Identifier: Apache-2.0
// Finds corners row by row; see corners.h.
#include "corners.h"

#include <algorithm>
#include <cstdlib>

namespace depthwatt {
namespace {

constexpr int32_t kWindow = 5;

/// Computes the products of the gradients of row y, pixels 1 to width - 2.
void gradientProducts(ImageView<const uint8_t> image, int32_t y, int32_t* __restrict xx, int32_t* __restrict yy,
                      int32_t* __restrict xy) {
  const uint8_t* above = image.row(y - 1);
  const uint8_t* here = image.row(y);
  const uint8_t* below = image.row(y + 1);
  for (int32_t x = 1; x < image.width - 1; ++x) {
    const int32_t gx = here[x + 1] - here[x - 1], gy = below[x] - above[x];
    xx[x] = gx * gx;
    yy[x] = gy * gy;
    xy[x] = gx * gy;
  }
}

void addRow(int32_t* __restrict sums, const int32_t* __restrict row, int32_t count) {
  for (int32_t i = 0; i < count; ++i) sums[i] += row[i];
}

void takeRow(int32_t* __restrict sums, const int32_t* __restrict row, int32_t count) {
  for (int32_t i = 0; i < count; ++i) sums[i] -= row[i];
}

void cornerResponses(const int32_t* __restrict xx, const int32_t* __restrict yy, const int32_t* __restrict xy,
                     float* __restrict responses, int32_t first, int32_t end) {
  for (int32_t x = first; x < end; ++x) {
    const auto a = static_cast<float>(xx[x - 2] + xx[x - 1] + xx[x] + xx[x + 1] + xx[x + 2]);
    const auto b = static_cast<float>(yy[x - 2] + yy[x - 1] + yy[x] + yy[x + 1] + yy[x + 2]);
    const auto c = static_cast<float>(xy[x - 2] + xy[x - 1] + xy[x] + xy[x + 1] + xy[x + 2]);
    responses[x] = (a * b - c * c) / (a + b + 1);
  }
}

}  // namespace

CornerFinder::CornerFinder(int32_t width)
    : width_(width), products_(static_cast<size_t>(3 * kWindow * width)), sums_(static_cast<size_t>(3 * width)),
      responses_(static_cast<size_t>(width)), best_(static_cast<size_t>(width)) {}

int32_t CornerFinder::find(ImageView<const uint8_t> image, int32_t tile, Corner* corners, int32_t capacity) {
  const int32_t row = 3 * width_, first = kCornerMargin, end = image.width - kCornerMargin;
  const int32_t bottom = image.height - kCornerMargin;
  if (end <= first || bottom <= first) return 0;
  std::fill(products_.begin(), products_.end(), 0);
  std::fill(sums_.begin(), sums_.end(), 0);
  const int32_t tiles = (end - first + tile - 1) / tile;
  const auto forget = [&] { std::fill_n(best_.begin(), tiles, Corner{0, 0, kLeastResponse}); };
  int32_t count = 0;
  const auto keep = [&] {
    for (int32_t t = 0; t < tiles && count < capacity; ++t) {
      if (best_[t].x > 0) corners[count++] = best_[t];
    }
    forget();
  };
  forget();
  for (int32_t y = first - 2; y < bottom + 2; ++y) {
    int32_t* slot = products_.data() + (y % kWindow) * row;
    takeRow(sums_.data(), slot, row);
    gradientProducts(image, y, slot, slot + width_, slot + 2 * width_);
    addRow(sums_.data(), slot, row);
    const int32_t centre = y - 2;
    if (centre < first) continue;
    cornerResponses(sums_.data(), sums_.data() + width_, sums_.data() + 2 * width_, responses_.data(), first, end);
    for (int32_t t = 0, x = first; t < tiles; ++t) {
      Corner& best = best_[t];
      for (const int32_t stop = std::min(x + tile, end); x < stop; ++x) {
        if (responses_[x] > best.response) best = {x, centre, responses_[x]};
      }
    }
    if ((centre - first) % tile == tile - 1) keep();
  }
  keep();
  return count;
}

double edgeSharpness(ImageView<const uint8_t> image) {
  constexpr int32_t kTile = 16, kContrast = 48, kSteps = 256, kFewest = 12;
  int32_t histogram[kSteps + 1] = {}, counted = 0;
  for (int32_t top = 0; top + kTile <= image.height; top += kTile) {
    for (int32_t left = 1; left + kTile < image.width; left += kTile) {
      int32_t lowest = 255, highest = 0, steepest = 0;
      for (int32_t y = top; y < top + kTile; y += 2) {
        const uint8_t* row = image.row(y) + left;
        for (int32_t x = 0; x < kTile; ++x) {
          const int32_t grey = row[x], step = std::abs(row[x + 1] - row[x - 1]);
          lowest = std::min(lowest, grey);
          highest = std::max(highest, grey);
          steepest = std::max(steepest, step);
        }
      }
      if (highest - lowest < kContrast) continue;
      ++histogram[std::min(kSteps, kSteps * steepest / (highest - lowest))];
      ++counted;
    }
  }
  if (counted < kFewest) return 0;
  int32_t at = 0;
  for (int32_t cumulative = histogram[0]; 2 * cumulative < counted; cumulative += histogram[at]) ++at;
  return static_cast<double>(at) / kSteps;
}

}  // namespace depthwatt
