// SPDX-License-Identifier: Apache-2.0
// The definition of the confidence limit; see ambiguity.h.
#include "ambiguity.h"

#include <algorithm>
#include <cstdlib>

namespace depthwatt {
namespace {

struct Pair {
  const AmbiguityImages& images;
  int32_t width, height, columns, rows;

  explicit Pair(const AmbiguityImages& of)
      : images(of), width(of.left.width), height(of.left.height), columns((width + 7) / 8), rows((height + 3) / 4) {}

  int32_t seenRow(int32_t k) const { return std::min(4 * k + 2, height - 1); }

  int32_t unlike(int32_t b, int32_t k, int32_t s) const {
    b = std::min(std::max(b, 0), columns - 1);
    k = std::min(std::max(k, 0), rows - 1);
    if (8 * b < s) return 128;
    const uint8_t* row = images.left.row(seenRow(k));
    int32_t sum = 0;
    for (int32_t x = 8 * b; x < 8 * b + 8; ++x) {
      sum += std::min(16, std::abs(row[std::min(x, width - 1)] - row[std::min(x - s, width - 1)]));
    }
    return sum;
  }

  int32_t repeats(int32_t b, int32_t k) const {
    int32_t least = 255, largest = 0;
    for (int32_t s = 1; s <= 32; ++s) {
      int32_t sum = 0;
      for (int32_t j = -1; j <= 1; ++j) {
        for (int32_t i = -1; i <= 1; ++i) sum += unlike(b + i, k + j, s);
      }
      if (s >= 4 && largest > 0) least = std::min(least, 255 * (10 * sum - 2 * largest) / largest);
      largest = std::max(largest, sum);
    }
    return least;
  }

  static int32_t change(const uint8_t* row, int32_t x) {
    return x == 0 ? 0 : std::min(std::max(row[x] - row[x - 1], -16), 16);
  }

  int32_t changeAcross(int32_t x, int32_t y) const {
    const int32_t d = images.disparityQ4.row(y)[x];
    if (d == kInvalidDisparity) return 0;
    const int32_t whole = (d + 8) >= 0 ? (d + 8) / 16 : -((7 - d) / 16);  // rounded down
    return change(images.right.row(y), std::min(std::max(x - whole, 0), width - 1));
  }

  int32_t window(int32_t b, int32_t k) const {
    int32_t n = 0, shared = 0, own = 0, energy = 0;
    for (int32_t row = std::max(k - 6, 0); row <= std::min(k + 6, rows - 1); ++row) {
      const int32_t y = seenRow(row);
      for (int32_t x = 8 * std::max(b - 3, 0); x < std::min(8 * (b + 4), width); x += 2) {
        const int32_t l = change(images.left.row(y), x), r = changeAcross(x, y);
        ++n;
        shared += l * r;
        own += l * l;
        energy += l * l + r * r;
      }
    }
    if (energy == 0) return 255;
    return std::max(255 * (24 * shared - energy) / energy, 255 * (own - 5 * n) / n);
  }

  int32_t signal(int32_t b, int32_t k) const {
    int32_t least = 255;
    for (int32_t row = std::max(k - 5, 0); row <= std::min(k + 5, rows - 1); ++row) {
      for (int32_t column = std::max(b - 2, 0); column <= std::min(b + 2, columns - 1); ++column) {
        least = std::min(least, window(column, row));
      }
    }
    return least;
  }
};

}  // namespace

void ambiguityReference(const AmbiguityImages& images, ImageView<uint8_t> limit) {
  const Pair pair(images);
  for (int32_t k = 0; k < pair.rows; ++k) {
    for (int32_t b = 0; b < pair.columns; ++b) {
      limit.row(k)[b] =
          static_cast<uint8_t>(std::min(std::max(std::min(pair.repeats(b, k), pair.signal(b, k)), 1), 255));
    }
  }
}

}  // namespace depthwatt
