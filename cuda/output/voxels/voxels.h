// SPDX-License-Identifier: Apache-2.0
// Lists the voxels (cubes of a grid in space) that the points of a disparity map are in, each once.
//   d = disparityQ4 / 16 + disparityOffsetPixels,  Z = f B / d metres
//   level  the first l of 0..7 with s 2^l >= uncertaintyPixels Z^2 / (f B), the depth error of so many pixels; none: 7
//          s = sizeMillimetres / 1000. The edge of the voxel is S = s 2^l.
//   q = floor(4096 Z / S + 0.5), all before it in double and in this order
//   u = floor(65536 (x - cx) / f + 0.5),  v = floor(65536 (y - cy) / f + 0.5),  w = floor(65536 (cy - y) / f + 0.5)
//   kCamera  (u q >> 28, v q >> 28, q >> 12)
//   kRobot   (q >> 12, (h - (u q >> 16)) >> 12, w q >> 28)          h = floor(4096 (B / 2) / S + 0.5)
//            The axes and origins are those of points/points.h. Shifts round down; u, v and w are at most 2^30.
// A point of voxel c is at (c + 1/2) S: at most S / 2 from its pixel's place along each axis, plus roundings of Z / 2^17 and
// S / 2^13 times the ray's slope.
// in   disparityQ4 [height][width] int16
// out  the number of voxels in a Voxel's place, then the voxels in the order of their first pixel, row by row
// none A pixel without disparity, with d <= 0, or whose cell does not fit int16 has no voxel.
// ties none: a voxel is there or not.   Integers after the plan.   same bits on every backend.
#pragma once

#include <cmath>
#include <cstring>
#include <vector>

#include "../../../core/image.h"
#include "../../../core/workers.h"
#include "../../geometry.h"

namespace depthwatt {

constexpr int32_t kVoxelLevels = 8;

/// A voxel by its cells along x, y and z and its level.
struct Voxel {
  int16_t x, y, z, level;
};

/// Returns the bytes of the list of an image's voxels.
inline size_t voxelBytes(int32_t width, int32_t height) {
  return (static_cast<size_t>(width) * static_cast<size_t>(height) + 1) * sizeof(Voxel);
}

/// The depth of a disparity in its own voxels.
struct VoxelDepth {
  int32_t q = 0;  ///< 1/4096 voxel; 0: none
  int32_t level = 0;
};

inline VoxelDepth voxelDepth(const VoxelsParameters& p, int32_t disparityQ4) {
  const double d = disparityQ4 / 16.0 + p.disparityOffsetPixels;
  if (disparityQ4 == kInvalidDisparity || !(d > 0)) return {};
  const double fb = p.focalPixels * p.baselineMetres, z = fb / d, error = p.uncertaintyPixels * z * z / fb;
  VoxelDepth depth;
  double edge = p.sizeMillimetres / 1000.0;
  for (; depth.level < kVoxelLevels - 1 && edge < error; ++depth.level) edge *= 2;
  const double q = std::floor(4096.0 * z / edge + 0.5);
  if (q >= 4096.0 * 32768.0) return {};
  depth.q = static_cast<int32_t>(q);
  return depth;
}

/// Returns the slope of a ray, 1/65536.
inline int32_t voxelRay(double pixels, double focalPixels) {
  const double slope = std::floor(65536.0 * pixels / focalPixels + 0.5), limit = 1 << 30;
  return static_cast<int32_t>(slope < -limit ? -limit : slope > limit ? limit : slope);
}

/// Returns half the baseline in voxels of a level, 1/4096.
inline int64_t voxelHalfBaseline(const VoxelsParameters& p, int32_t level) {
  const double edge = p.sizeMillimetres / 1000.0 * (1 << level);
  const double half = std::floor(4096.0 * (p.baselineMetres / 2) / edge + 0.5), limit = 1e15;
  return static_cast<int64_t>(half > limit ? limit : half);
}

/// The definition. @param voxels voxelBytes(). Returns the number of voxels.
int32_t voxelsReference(const VoxelsParameters& parameters, ImageView<const int16_t> disparityQ4, Voxel* voxels);

/// Whole numbers of all frames of one size.
struct VoxelsPlan {
  bool robot = false;
  std::vector<int32_t> columns, rows;  ///< u by x; v or w by y
  std::vector<uint32_t> depths;        ///< q << 3 | level, by disparityQ4 as uint16; 0: none
  int64_t halfBaseline[kVoxelLevels] = {};
};

inline VoxelsPlan makeVoxelsPlan(const VoxelsParameters& p, int32_t width, int32_t height) {
  VoxelsPlan plan;
  plan.robot = p.frame == PointFrame::kRobot;
  for (int32_t x = 0; x < width; ++x) plan.columns.push_back(voxelRay(x - p.cx, p.focalPixels));
  for (int32_t y = 0; y < height; ++y) plan.rows.push_back(voxelRay(plan.robot ? p.cy - y : y - p.cy, p.focalPixels));
  plan.depths.resize(65536);
  for (int32_t disparity = -32768; disparity < 32768; ++disparity) {
    const VoxelDepth depth = voxelDepth(p, disparity);
    plan.depths[static_cast<uint16_t>(disparity)] =
        depth.q == 0 ? 0 : static_cast<uint32_t>(depth.q) << 3 | static_cast<uint32_t>(depth.level);
  }
  for (int32_t level = 0; level < kVoxelLevels; ++level) plan.halfBaseline[level] = voxelHalfBaseline(p, level);
  return plan;
}

/// The fast form: each worker lists the voxels of its rows, then one joins the lists.
class VoxelLister {
 public:
  VoxelLister(VoxelsPlan plan, int32_t width, int32_t height, Workers& workers);
  /// As voxelsReference().
  int32_t list(ImageView<const int16_t> disparityQ4, Voxel* voxels);
  size_t bytes() const;

 private:
  /// A set of voxels that remembers their order: a hash table of places in a list.
  struct Table {
    std::vector<uint32_t> places;
    int shift = 0;
    void open(size_t max);
    /// Appends a voxel to a list of `count` if it is not there yet. Returns the new count.
    uint32_t add(uint64_t voxel, uint64_t* list, uint32_t count);
    void clear(const uint64_t* list, uint32_t count);
    size_t start(uint64_t voxel) const { return static_cast<size_t>(voxel * 0x9e3779b97f4a7c15u >> shift); }
  };
  uint32_t listRows(ImageView<const int16_t> disparityQ4, Table& table, uint64_t* list, int32_t first,
                    int32_t end) const;

  const VoxelsPlan plan_;
  Workers& workers_;
  std::vector<Table> tables_;    ///< of each worker, then of all
  std::vector<uint64_t> lists_;  ///< one after the other; empty with one worker
  std::vector<uint32_t> counts_;
};

}  // namespace depthwatt
