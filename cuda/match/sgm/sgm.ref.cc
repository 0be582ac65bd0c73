// SPDX-License-Identifier: Apache-2.0
// The definition of semi-global matching's sums; see sgm.h.
#include <cstdlib>
#include <vector>

#include "../cost/hamming.h"
#include "sgm.h"

namespace depthwatt {
namespace {

struct Direction {
  int32_t x, y;
};

// The first `paths` of these are the path set.
constexpr Direction kTwo[] = {{1, 0}, {0, 1}};
constexpr Direction kFour[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
constexpr Direction kEight[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};

const Direction* pathDirections(int32_t paths) {
  if (paths == 2) return kTwo;
  return paths == 4 ? kFour : kEight;
}

int32_t matchingCost(const SgmParameters& parameters, const SgmImages& images, int32_t x, int32_t y,
                     int32_t disparity) {
  const int32_t rightX = x - disparity;
  if (rightX < 0 || rightX >= images.censusRight.width) return parameters.outsideCost;
  const int32_t distance = hammingDistance(images.censusLeft.row(y)[x], images.censusRight.row(y)[rightX]);
  if (parameters.words == 1) return distance;
  return distance + hammingDistance(images.moreLeft.row(y)[x], images.moreRight.row(y)[rightX]);
}

int32_t penalty2(const SgmParameters& parameters, const SgmImages& images, int32_t px, int32_t py, int32_t qx,
                 int32_t qy) {
  if (parameters.adaptiveP2 == 0) return parameters.p2;
  const int32_t step = std::abs(int32_t{images.greyLeft.row(py)[px]} - int32_t{images.greyLeft.row(qy)[qx]});
  const int32_t lowered = parameters.p2 - ((parameters.adaptiveP2 * step) >> 4);
  return lowered > parameters.p1 ? lowered : parameters.p1;
}

/// Follows one path from its first pixel to the border and adds L to the sums.
constexpr int32_t kNoPath = 1 << 20;  // the path cost of a disparity that is not searched

/// Returns whether pixel (x, y) searches disparity minDisparity + k.
bool isSearched(const uint8_t* blocks, int32_t width, int32_t x, int32_t y, int32_t k) {
  if (blocks == nullptr) return true;
  const uint8_t* own = blocks + (y / kTileSide * tilesAlong(width) + x / kTileSide) * kGuidedBlocks;
  for (int32_t i = 0; i < kGuidedBlocks; ++i) {
    if (own[i] == k / kBlockDisparities) return true;
  }
  return false;
}

void addPath(const SgmParameters& parameters, const SgmImages& images, const uint8_t* blocks, Direction r, int32_t x,
             int32_t y, uint16_t* sums) {
  const int32_t width = images.censusLeft.width, height = images.censusLeft.height;
  const int32_t num = parameters.numDisparities;
  std::vector<int32_t> before(static_cast<size_t>(num)), now(static_cast<size_t>(num));
  bool first = true;
  for (; x >= 0 && x < width && y >= 0 && y < height; x += r.x, y += r.y) {
    int32_t m = 0;
    if (!first) {
      m = before[0];
      for (int32_t k = 1; k < num; ++k) {
        if (before[k] < m) m = before[k];
      }
    }
    for (int32_t k = 0; k < num; ++k) {
      uint16_t& sum = sums[(static_cast<size_t>(y) * width + x) * num + k];
      if (!isSearched(blocks, width, x, y, k)) {
        now[k] = kNoPath;
        sum = kNotSearched;
        continue;
      }
      const int32_t cost = matchingCost(parameters, images, x, y, parameters.minDisparity + k);
      if (first) {
        now[k] = cost;
      } else {
        int32_t best = m + penalty2(parameters, images, x, y, x - r.x, y - r.y);
        if (before[k] < best) best = before[k];
        if (k > 0 && before[k - 1] + parameters.p1 < best) best = before[k - 1] + parameters.p1;
        if (k + 1 < num && before[k + 1] + parameters.p1 < best) best = before[k + 1] + parameters.p1;
        now[k] = cost + best - m;
      }
      sum = static_cast<uint16_t>(sum + now[k]);
    }
    before.swap(now);
    first = false;
  }
}

}  // namespace

void sgmSumsReference(const SgmParameters& parameters, const SgmImages& images, uint16_t* sums, const uint8_t* blocks) {
  const int32_t width = images.censusLeft.width, height = images.censusLeft.height;
  const size_t cells = static_cast<size_t>(width) * height * parameters.numDisparities;
  for (size_t i = 0; i < cells; ++i) sums[i] = 0;
  const Direction* directions = pathDirections(parameters.paths);
  for (int32_t i = 0; i < parameters.paths; ++i) {
    const Direction r = directions[i];
    for (int32_t y = 0; y < height; ++y) {
      for (int32_t x = 0; x < width; ++x) {
        const int32_t qx = x - r.x, qy = y - r.y;
        const bool startsHere = qx < 0 || qx >= width || qy < 0 || qy >= height;
        if (startsHere) addPath(parameters, images, blocks, r, x, y, sums);
      }
    }
  }
}

}  // namespace depthwatt
