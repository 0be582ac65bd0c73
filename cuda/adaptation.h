// SPDX-License-Identifier: Apache-2.0
// How frames are adapted to the observed pairs: row offset and denoising, changed between frames. Plain C++14: the
// plugin reads it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace depthwatt {

/// The largest row offset that a caller may set. The search of the pairs is narrower.
constexpr int32_t kMaxQuarterRows = 64;

enum class Denoise { kOff, kOn, kAuto };

struct AdaptationParameters {
  bool watchesRows = false;  ///< estimates the row offset from pairs; else quarterRows holds
  int32_t quarterRows = 0;   ///< -kMaxQuarterRows to kMaxQuarterRows
  Denoise denoise = Denoise::kOff;

  bool movesRows() const { return watchesRows || quarterRows != 0; }
  bool watches() const { return watchesRows || denoise != Denoise::kOff; }
};

struct Adaptation {
  /// Vertical offset of the right image in the middle of its columns, and how much it grows from the left border to the
  /// right one.
  int32_t quarterRows = 0, quarterRowsOverWidth = 0;
  int32_t smoothRange = 0;  ///< range of the filter before matching (prepare/denoise), grey values; 0: no filter
};

inline bool operator==(const Adaptation& a, const Adaptation& b) {
  return a.quarterRows == b.quarterRows && a.quarterRowsOverWidth == b.quarterRowsOverWidth &&
         a.smoothRange == b.smoothRange;
}

/// Direction in the captured image that is down in the rectified one: cameras may be turned (rig.orientation).
struct Down {
  int32_t axis = 1, sign = 1;  ///< axis 0: x, 1: y
};

/// Compares the ends of the middle column.
inline Down downOf(const std::vector<int32_t>& map, int32_t width, int32_t height) {
  if (map.empty()) return {};
  const size_t first = 2 * static_cast<size_t>(width / 2), last = first + 2 * static_cast<size_t>(width) * (height - 1);
  const int32_t dx = map[last] - map[first], dy = map[last + 1] - map[first + 1];
  const bool isSideways = dx<0 ? -dx > (dy < 0 ? -dy : dy) : dx>(dy < 0 ? -dy : dy);
  if (isSideways) return {0, dx < 0 ? -1 : 1};
  return {1, dy < 0 ? -1 : 1};
}

/// Returns a rectification map that reads further down. An empty map counts as the identity. Units are 1/32 px:
/// rectify.h. Column x reads 8 quarterRows + floor(8 quarterRowsOverWidth (2 x + 1 - width) / (2 width) + 1/2) of these
/// further down.
inline std::vector<int32_t> mapFurtherDown(const std::vector<int32_t>& map, int32_t width, int32_t height,
                                           int32_t quarterRows, int32_t quarterRowsOverWidth = 0) {
  std::vector<int32_t> moved(map);
  const Down direction = downOf(map, width, height);
  if (map.empty()) {
    moved.resize(2 * static_cast<size_t>(width) * height);
    for (int32_t y = 0; y < height; ++y) {
      int32_t* row = moved.data() + 2 * static_cast<size_t>(width) * y;
      for (int32_t x = 0; x < width; ++x) row[2 * x] = 32 * x, row[2 * x + 1] = 32 * y;
    }
  }
  for (int32_t x = 0; x < width; ++x) {
    const int64_t rise = int64_t{8} * quarterRowsOverWidth * (2 * int64_t{x} + 1 - width) + width,
                  twice = 2 * int64_t{width};
    const int64_t down = 8 * quarterRows + (rise >= 0 ? rise / twice : -((twice - 1 - rise) / twice));
    for (int32_t y = 0; y < height; ++y) {
      moved[2 * (static_cast<size_t>(y) * width + x) + direction.axis] += direction.sign * static_cast<int32_t>(down);
    }
  }
  return moved;
}

/// Returns whether a place, in 1/32 px, is more than half a pixel outside the captured image along an axis of `side`
/// pixels.
inline bool outside(int32_t place, int32_t side) { return place < -16 || place > 32 * (side - 1) + 16; }

/// Maps that replace those given at open.
struct MovedMaps {
  std::vector<int32_t> left, right;  ///< empty: as opened
};

/// Returns the right map moved down and the left map that this requires. Where the right map leaves its captured image,
/// the border row would replace content that the left image still shows, and rows would be matched with false content.
/// There both images repeat, column by column, the nearest row that both have. Places that were outside before do not
/// change.
inline MovedMaps mapsFurtherDown(const std::vector<int32_t>& left, const std::vector<int32_t>& right, int32_t width,
                                 int32_t height, int32_t capturedWidth, int32_t capturedHeight, int32_t quarterRows,
                                 int32_t quarterRowsOverWidth = 0) {
  MovedMaps moved;
  const int32_t axis = downOf(right, width, height).axis, side = axis == 0 ? capturedWidth : capturedHeight;
  moved.right = mapFurtherDown(right, width, height, quarterRows, quarterRowsOverWidth);
  const auto at = [&](int32_t x, int32_t y) { return 2 * (static_cast<size_t>(y) * width + x); };
  const auto isOutside = [&](const std::vector<int32_t>& map, int32_t x, int32_t y) {
    return outside(map[at(x, y) + axis], side);
  };
  /// Returns -1 if there is none, and the upper one of two.
  const auto nearestInside = [&](int32_t x, int32_t y) {
    for (int32_t away = 1; away < height; ++away) {
      if (y - away >= 0 && !isOutside(moved.right, x, y - away)) return y - away;
      if (y + away < height && !isOutside(moved.right, x, y + away)) return y + away;
    }
    return -1;
  };
  struct Repeated {
    size_t to, from;
  };
  std::vector<Repeated> repeated;
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      if (!isOutside(moved.right, x, y) || (!right.empty() && isOutside(right, x, y))) continue;
      const int32_t from = nearestInside(x, y);
      if (from >= 0) repeated.push_back({at(x, y), at(x, from)});
    }
  }
  if (repeated.empty()) return moved;
  moved.left = left.empty() ? mapFurtherDown(left, width, height, 0) : left;
  for (std::vector<int32_t>* map : {&moved.left, &moved.right}) {
    for (const Repeated& one : repeated) {
      (*map)[one.to] = (*map)[one.from], (*map)[one.to + 1] = (*map)[one.from + 1];
    }
  }
  return moved;
}

}  // namespace depthwatt
