// SPDX-License-Identifier: Apache-2.0
// Corners of a grey image: the strongest of each square tile, by the response of the structure tensor.
//   a = sum gx^2, b = sum gy^2, c = sum gx gy over 5x5,  gx = I(x + 1, y) - I(x - 1, y), gy = I(x, y + 1) - I(x, y - 1)
//   response = (a b - c^2) / (a + b + 1)       float; of equal ones in a tile the first in reading order wins
// in   grey u8 [height][width]     out  at most one corner a tile, in the order of the tiles; border: kCornerMargin pixels free
#pragma once

#include <vector>

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kCornerMargin = 8;
/// A smaller response is noise: noise with a sigma of 4 grey values responds by about 400.
constexpr float kLeastResponse = 800;

struct Corner {
  int32_t x = 0, y = 0;
  float response = 0;
};

/// Finds corners without allocating, for one image width.
class CornerFinder {
 public:
  explicit CornerFinder(int32_t width);
  /// Writes up to `capacity` corners. Returns how many.
  int32_t find(ImageView<const uint8_t> image, int32_t tile, Corner* corners, int32_t capacity);

 private:
  int32_t width_;
  std::vector<int32_t> products_;  ///< five rows of xx, yy and xy
  std::vector<int32_t> sums_;      ///< sums of the columns over five rows
  std::vector<float> responses_;
  std::vector<Corner> best_;  ///< per tile of one row of tiles
};

/// Returns the sharpness of edges: the median over 16x16 tiles with a contrast of at least 48 of max |I(x + 1) - I(x -
/// 1)| / (max I - min I); 1 for a step from one pixel to the next, 2 / w for an edge w pixels wide. Returns 0 with
/// fewer than 12 such tiles.
double edgeSharpness(ImageView<const uint8_t> image);

}  // namespace depthwatt
