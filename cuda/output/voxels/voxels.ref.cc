// SPDX-License-Identifier: Apache-2.0
// The definition of voxels; see voxels.h.
#include <set>
#include <tuple>

#include "voxels.h"

namespace depthwatt {
namespace {

/// Returns n / 2^bits rounded down.
int64_t divided(int64_t n, int bits) {
  const int64_t d = int64_t{1} << bits;
  return n >= 0 ? n / d : -((-n + d - 1) / d);
}

bool fits(int64_t cell) { return cell >= -32768 && cell <= 32767; }

}  // namespace

int32_t voxelsReference(const VoxelsParameters& p, ImageView<const int16_t> disparityQ4, Voxel* voxels) {
  std::set<std::tuple<int64_t, int64_t, int64_t, int32_t>> there;
  int32_t count = 0;
  for (int32_t y = 0; y < disparityQ4.height; ++y) {
    for (int32_t x = 0; x < disparityQ4.width; ++x) {
      const VoxelDepth depth = voxelDepth(p, disparityQ4.row(y)[x]);
      if (depth.q == 0) continue;
      const int64_t q = depth.q, right = voxelRay(x - p.cx, p.focalPixels) * q;
      int64_t cell[3] = {divided(right, 28), divided(voxelRay(y - p.cy, p.focalPixels) * q, 28), divided(q, 12)};
      if (p.frame == PointFrame::kRobot) {
        cell[0] = divided(q, 12);
        cell[1] = divided(voxelHalfBaseline(p, depth.level) - divided(right, 16), 12);
        cell[2] = divided(voxelRay(p.cy - y, p.focalPixels) * q, 28);
      }
      if (!fits(cell[0]) || !fits(cell[1]) || !fits(cell[2])) continue;
      if (!there.insert({cell[0], cell[1], cell[2], depth.level}).second) continue;
      voxels[++count] = {static_cast<int16_t>(cell[0]), static_cast<int16_t>(cell[1]), static_cast<int16_t>(cell[2]),
                         static_cast<int16_t>(depth.level)};
    }
  }
  const int32_t head[2] = {count, 0};
  std::memcpy(voxels, head, sizeof head);
  return count;
}

}  // namespace depthwatt
