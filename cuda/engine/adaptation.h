// SPDX-License-Identifier: Apache-2.0
// What the computation of frames is adjusted by, between frames, to what the pairs look like. Plain C++14: the plugin reads it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace depthwatt {

/// The row offset that a caller may ask for: further than pairs are searched for one.
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
  /// The right image is read so many quarter rows further down in its middle, and how many more at its right border than at its left.
  int32_t quarterRows = 0, quarterRowsOverWidth = 0;
  int32_t smoothRange = 0;  ///< matched after a filter of this range, grey values (match/denoise); 0: as they are
};

inline bool operator==(const Adaptation& a, const Adaptation& b) {
  return a.quarterRows == b.quarterRows && a.quarterRowsOverWidth == b.quarterRowsOverWidth &&
         a.smoothRange == b.smoothRange;
}

/// A rectification map that reads further down; of a map that is empty, the map that changes nothing else. 1/32 px: rectify.h.
/// Column x reads 8 quarterRows + floor(8 quarterRowsOverWidth (2 x + 1 - width) / (2 width) + 1/2) of these further down.
inline std::vector<int32_t> mapFurtherDown(const std::vector<int32_t>& map, int32_t width, int32_t height,
                                           int32_t quarterRows, int32_t quarterRowsOverWidth = 0) {
  std::vector<int32_t> moved(map);
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
      moved[2 * (static_cast<size_t>(y) * width + x) + 1] += static_cast<int32_t>(down);
    }
  }
  return moved;
}

/// Whether a place, 1/32 px, lies more than half a row above or below a captured picture: nothing was seen there.
inline bool outsideRows(int32_t place, int32_t capturedHeight) {
  return place < -16 || place > 32 * (capturedHeight - 1) + 16;
}

/// Maps that the images are read by in place of those that were opened.
struct MovedMaps {
  std::vector<int32_t> left, right;  ///< empty: as opened
};

/// The right map further down, and what follows for the left one. Where the right image is moved out of its captured picture the border
/// row would stand in for what the left image goes on to show, and rows would be matched with what they never saw. There both images
/// repeat, column by column, the nearest row that both have. What lay outside before stays as it is.
inline MovedMaps mapsFurtherDown(const std::vector<int32_t>& left, const std::vector<int32_t>& right, int32_t width,
                                 int32_t height, int32_t capturedHeight, int32_t quarterRows,
                                 int32_t quarterRowsOverWidth = 0) {
  MovedMaps moved;
  moved.right = mapFurtherDown(right, width, height, quarterRows, quarterRowsOverWidth);
  const auto at = [&](int32_t x, int32_t y) { return 2 * (static_cast<size_t>(y) * width + x); };
  const auto outside = [&](const std::vector<int32_t>& map, int32_t x, int32_t y) {
    return outsideRows(map[at(x, y) + 1], capturedHeight);
  };
  /// -1: none. Of two, the upper one.
  const auto nearestInside = [&](int32_t x, int32_t y) {
    for (int32_t away = 1; away < height; ++away) {
      if (y - away >= 0 && !outside(moved.right, x, y - away)) return y - away;
      if (y + away < height && !outside(moved.right, x, y + away)) return y + away;
    }
    return -1;
  };
  struct Repeated {
    size_t to, from;
  };
  std::vector<Repeated> repeated;
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      if (!outside(moved.right, x, y) || (!right.empty() && outside(right, x, y))) continue;
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
