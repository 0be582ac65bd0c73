// SPDX-License-Identifier: Apache-2.0
// The definition of cross-based aggregation; see cross.h.
#include <vector>

#include "cross.h"

namespace depthwatt {
namespace {

// 127 (1 - exp(-1 / 76.5)) = 1.65, 127 (1 - exp(-255 / 76.5)) = 122.47, 127 (1 - exp(-1 / 2.3)) = 44.77, 127 (1 - exp(-6 / 2.3)) = 117.65.
constexpr CrossCosts kPaper = makeCrossCosts(kLambdaDifference, kFullScale, kLambdaCensus);
static_assert(kPaper.difference[0] == 0 && kPaper.difference[1] == 2 && kPaper.difference[255] == 122, "eq. 4");
static_assert(kPaper.census[0] == 0 && kPaper.census[1] == 45 && kPaper.census[6] == 118, "eq. 5");

int32_t clamped(int32_t value, int32_t last) { return value < 0 ? 0 : (value > last ? last : value); }
int32_t absolute(int32_t value) { return value < 0 ? -value : value; }

int32_t miniCensus(ImageView<const uint8_t> image, int32_t x, int32_t y) {
  int32_t bits = 0;
  for (int32_t i = -1; i <= 1; i += 2) {
    for (int32_t j = -1; j <= 1; ++j) {
      const int32_t value = image.row(clamped(y + j, image.height - 1))[clamped(x + i, image.width - 1)];
      bits = 2 * bits + (value >= image.row(y)[x] ? 1 : 0);
    }
  }
  return bits;
}

int32_t cost(const CrossCosts& costs, const CrossImages& images, int32_t x, int32_t y, int32_t xr) {
  if (x < 0 || x >= images.left.width || xr < 0 || xr >= images.left.width) return kMaxCrossCost;
  int32_t differing = miniCensus(images.left, x, y) ^ miniCensus(images.right, xr, y), distance = 0;
  for (; differing != 0; differing /= 2) distance += differing % 2;
  return costs.difference[absolute(images.left.row(y)[x] - images.right.row(y)[xr])] + costs.census[distance];
}

/// Returns the number of similar pixels in direction (dx, dy) from (x, y).
int32_t arm(ImageView<const uint8_t> image, int32_t x, int32_t y, int32_t dx, int32_t dy, int32_t maxLength,
            int32_t similarity) {
  int32_t length = 0;
  while (length < maxLength) {
    const int32_t nx = x + (length + 1) * dx, ny = y + (length + 1) * dy;
    if (nx < 0 || nx >= image.width || ny < 0 || ny >= image.height) break;
    if (absolute(image.row(ny)[nx] - image.row(y)[x]) >= similarity) break;
    ++length;
  }
  return length;
}

/// Finds the winners of one image. partner(x, d) is the other image's column.
template <class Cost>
void winners(const CrossParameters& p, ImageView<const uint8_t> own, ImageView<int16_t> disparity, int32_t direction,
             Cost&& costAt) {
  const int side = direction < 0 ? 0 : 1;
  const int32_t width = own.width, height = own.height;
  std::vector<int64_t> along(static_cast<size_t>(width) * height), best(along.size(), -1);
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) disparity.row(y)[x] = kInvalidDisparity;
  }
  for (int32_t d = p.minDisparity; d < p.minDisparity + p.numDisparities; ++d) {
    for (int32_t y = 0; y < height; ++y) {
      for (int32_t x = 0; x < width; ++x) {
        const int32_t from = x - arm(own, x, y, -1, 0, p.sideArmX(side), p.similarity);
        const int32_t to = x + arm(own, x, y, 1, 0, p.sideArmX(side), p.similarity);
        int64_t sum = 0;
        for (int32_t i = from; i <= to; ++i) sum += costAt(i, y, d);
        along[static_cast<size_t>(y) * width + x] = sum;
      }
    }
    for (int32_t y = 0; y < height; ++y) {
      for (int32_t x = 0; x < width; ++x) {
        const int32_t partner = x + direction * d;
        if (partner < 0 || partner >= width) continue;
        const int32_t from = y - arm(own, x, y, 0, -1, p.sideArmY(side), p.similarity);
        const int32_t to = y + arm(own, x, y, 0, 1, p.sideArmY(side), p.similarity);
        int64_t sum = 0;
        for (int32_t j = from; j <= to; ++j) sum += along[static_cast<size_t>(j) * width + x];
        int64_t& least = best[static_cast<size_t>(y) * width + x];
        if (least >= 0 && sum >= least) continue;
        least = sum;
        disparity.row(y)[x] = static_cast<int16_t>(d);
      }
    }
  }
}

}  // namespace

void crossReference(const CrossParameters& parameters, const CrossImages& images) {
  const CrossCosts costs =
      makeCrossCosts(parameters.lambdaDifference, parameters.differenceScale, parameters.lambdaCensus);
  winners(parameters, images.left, images.disparity, -1,
          [&](int32_t x, int32_t y, int32_t d) { return cost(costs, images, x, y, x - d); });
  winners(parameters, images.right, images.rightDisparity, 1,
          [&](int32_t x, int32_t y, int32_t d) { return cost(costs, images, x + d, y, x); });
}

}  // namespace depthwatt
