// SPDX-License-Identifier: Apache-2.0
// Tests spheres around the objects against cones of rays, and against the columns of light above the cells of a grid.
#include "culling.h"

#include <cmath>

namespace depthwatt::scene {
namespace {

/// Far above the rounding of a sum of squares, far below anything in the room.
constexpr double kSlack = 1e-6;
/// The largest distance along the light from a point of the room to an object, metres.
constexpr double kFarthest = 8;

}  // namespace

ObjectSet seenThrough(const Cone& cone, Vec origin, const ObjectList& objects) {
  ObjectSet visible = 0;
  for (int i = 0; i < objects.count; ++i) {
    const Object& object = objects.items[i];
    bool meets = object.shape == Shape::kPlane;
    if (!meets) {
      const Vec to = object.centre - origin;
      const double squared = dot(to, to), radius = object.boundRadius;
      const double outside = squared - radius * radius;
      if (outside <= 0) {
        meets = true;
      } else {
        const double distance = std::sqrt(squared);
        const Vec off = cone.axis - to * (1 / distance);
        // A ray that touches the sphere has an angle with this cosine to its middle: the chord of it.
        const double touching = std::sqrt(2 - 2 * std::sqrt(outside) / distance);
        const double reach = cone.spread + touching + kSlack;
        meets = dot(off, off) <= reach * reach;
      }
    }
    if (meets) visible |= ObjectSet{1} << i;
  }
  return visible;
}

// kToLight is (-0.48, -0.80, -0.36).
const Vec LightGrid::kAcross{0.6, 0, -0.8};
const Vec LightGrid::kAlong{0.64, -0.6, 0.48};

LightGrid::LightGrid(const ObjectList& objects, double softness)
    : left_(-0.5 * kCells / kCellsAMetre), top_(-0.5 * kCells / kCellsAMetre),
      cells_(static_cast<size_t>(kCells) * kCells, 0) {
  const double halfCell = 0.5 / kCellsAMetre;
  for (int i = 0; i < objects.count; ++i) {
    const Object& object = objects.items[i];
    if (object.shape == Shape::kPlane) continue;
    const double x = dot(object.centre, kAcross), y = dot(object.centre, kAlong);
    // A ray may deviate from the light's direction by `softness` of the way, and its point may be in a corner of its
    // cell.
    const double reach = object.boundRadius + softness * kFarthest + 1.4143 * halfCell + kSlack;
    for (int32_t row = 0; row < kCells; ++row) {
      const double dy = top_ + (row + 0.5) / kCellsAMetre - y;
      for (int32_t column = 0; column < kCells; ++column) {
        const double dx = left_ + (column + 0.5) / kCellsAMetre - x;
        if (dx * dx + dy * dy <= reach * reach) cells_[static_cast<size_t>(row) * kCells + column] |= ObjectSet{1} << i;
      }
    }
  }
}

}  // namespace depthwatt::scene
