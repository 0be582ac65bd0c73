// SPDX-License-Identifier: Apache-2.0
// Finds the objects that many rays can hit, so that each ray tests few of them. It never omits an object that a ray
// hits: images are the same with and without it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "world.h"

namespace depthwatt::scene {

/// Rays from one point whose unit directions are within `spread` of the unit direction `axis`.
struct Cone {
  Vec axis;
  double spread = 0;
};
ObjectSet seenThrough(const Cone& cone, Vec origin, const ObjectList& objects);

/// The objects between a point and the sun, by the point's place across the light.
class LightGrid {
 public:
  /// @param softness largest length by which a ray's direction differs from kToLight, per unit of kToLight
  LightGrid(const ObjectList& objects, double softness);

  ObjectSet at(Vec point) const {
    const double column = (dot(point, kAcross) - left_) * kCellsAMetre,
                 row = (dot(point, kAlong) - top_) * kCellsAMetre;
    if (!(column >= 0 && column < kCells && row >= 0 && row < kCells)) return kAllObjects;
    return cells_[static_cast<size_t>(row) * kCells + static_cast<size_t>(column)];
  }

 private:
  /// Unit vectors perpendicular to the light and to each other.
  static const Vec kAcross, kAlong;
  static constexpr int32_t kCells = 128;
  static constexpr double kCellsAMetre = 12;
  double left_, top_;
  std::vector<ObjectSet> cells_;
};

}  // namespace depthwatt::scene
