// SPDX-License-Identifier: Apache-2.0
// The room: walls, floor, furniture that stands still, and four things that move. Metres; x right, y down, z forward,
// origin between floor and ceiling where the left camera is; the cameras look down a little.
#pragma once

#include <cstdint>

#include "texture.h"

namespace depthwatt::scene {

struct Vec {
  double x = 0, y = 0, z = 0;
};
inline Vec operator+(Vec a, Vec b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
inline Vec operator-(Vec a, Vec b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }
inline Vec operator*(Vec a, double k) { return {a.x * k, a.y * k, a.z * k}; }
inline double dot(Vec a, Vec b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

/// Direction of the ray through normalised image point (u, v) of an unrotated camera, scaled so that the ray parameter of
/// a point is its depth Z along the optical axis.
Vec rayOf(double u, double v);

enum class Shape : uint8_t { kPlane, kBox, kSphere };

struct Object {
  Shape shape = Shape::kBox;
  Paint paint = Paint::kPlaster;
  double tileMetres = 1;  ///< size of a texture tile; 0 = one tile fills each face
  double brightness = 1;
  double tint[3] = {1, 1, 1};       ///< of its red, green and blue; BT.601's luma of it is about 1
  Vec centre;                       ///< plane: a point of it
  Vec half;                         ///< box: half sizes; sphere: x is the radius; plane: unit normal (along one axis)
  double cosYaw = 1, sinYaw = 0;    ///< turned about the vertical axis
  double cosRoll = 1, sinRoll = 0;  ///< sphere: then rolled about its own x axis
  double boundRadius = 0;           ///< of the sphere around it
};

constexpr int kMaxObjects = 40;
constexpr int kMoverCount = 4;

struct Hit {
  double depth = 0;  ///< ray parameter = Z; 0 when nothing was hit
  int16_t object = -1;
  int16_t face = 0;  ///< 0 to 5 for a box, -x +x -y +y -z +z
};

/// Objects of a list: bit i is items[i].
using ObjectSet = uint64_t;
constexpr ObjectSet kAllObjects = ~ObjectSet{0};
static_assert(kMaxObjects <= 64, "a bit for each object");

/// A list of objects without heap memory.
struct ObjectList {
  Object items[kMaxObjects];
  int count = 0;

  /// Nearest intersection in front of `origin`, at a depth below `limit`; of two at one depth the earlier object.
  /// `among`: the others are known not to be met (culling.h).
  Hit trace(Vec origin, Vec direction, double limit, ObjectSet among = kAllObjects) const;
  /// The same where `object` is known to be the nearest.
  Hit traceOne(int object, Vec origin, Vec direction) const;
  /// True when something of `among` lies between `point` and the light.
  bool shadowed(Vec point, Vec toLight, ObjectSet among) const;
};

/// Which room: with texture wherever one looks, or one whose walls, pane and blind say nothing about where they are.
enum class RoomKind : uint8_t { kFurnished, kBare };
/// Everything that stands still.
void furnish(RoomKind kind, ObjectList* room);
/// The moving objects at a frame; 30 frames are one second, every motion repeats by itself.
void moveTo(uint32_t frame, ObjectList* movers);

/// Light and paint at a hit. `pixelTangent`: size of a pixel at depth 1. `shade`: 0 in full shadow, 1 in full light.
/// Returns grey 0 to 255.
double shadeOf(const Textures& textures, const Object& object, int face, Vec point, Vec direction, double depth,
               double pixelTangent, double shade);

/// Outward unit normal at a point of an object.
Vec normalOf(const Object& object, int face, Vec point);

extern const Vec kToLight;

}  // namespace depthwatt::scene
