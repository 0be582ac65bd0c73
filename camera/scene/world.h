// SPDX-License-Identifier: Apache-2.0
// The room: walls, floor, static furniture, and four moving objects. Metres; x right, y down, z forward, origin between
// floor and ceiling at the left camera; the cameras look slightly down.
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

/// Returns the direction of the ray through normalised image point (u, v) of an unrotated camera, scaled so that the
/// ray parameter of a point is its depth Z along the optical axis.
Vec pixelRay(double u, double v);

enum class Shape : uint8_t { kPlane, kBox, kSphere };

struct Object {
  Shape shape = Shape::kBox;
  Paint paint = Paint::kPlaster;
  double tileMetres = 1;  ///< size of a texture tile; 0 = one tile fills each face
  double brightness = 1;
  double tint[3] = {1, 1, 1};       ///< of its red, green and blue; their BT.601 luma is about 1
  Vec centre;                       ///< plane: a point of it
  Vec half;                         ///< box: half sizes; sphere: x is the radius; plane: unit normal (along one axis)
  double cosYaw = 1, sinYaw = 0;    ///< rotated about the vertical axis
  double cosRoll = 1, sinRoll = 0;  ///< sphere: then rolled about its own x axis
  double boundRadius = 0;           ///< of a sphere around it
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

  /// Finds the nearest intersection in front of `origin`, at a depth below `limit`; at equal depth the earlier object.
  /// @param among objects that can be hit (culling.h)
  Hit trace(Vec origin, Vec direction, double limit, ObjectSet among = kAllObjects) const;
  /// Returns the same if `object` is known to be the nearest.
  Hit traceOne(int object, Vec origin, Vec direction) const;
  /// Returns whether an object of `among` is between `point` and the light.
  bool shadowed(Vec point, Vec toLight, ObjectSet among) const;
};

/// Which room: textured everywhere, or one whose walls, pane and blind give no depth cue.
enum class RoomKind : uint8_t { kFurnished, kBare };
/// Adds everything static.
void furnish(RoomKind kind, ObjectList* room);
/// Places the moving objects of a frame. 30 frames are one second, and every motion repeats.
void moveTo(uint32_t frame, ObjectList* movers);

/// Returns the light and paint at a hit, grey 0 to 255. @param pixelTangent size of a pixel at depth 1. @param shade 0
/// in full shadow, 1 in full light
double surfaceGrey(const Textures& textures, const Object& object, int face, Vec point, Vec direction, double depth,
                   double pixelTangent, double shade);

/// Returns the outward unit normal at a point of an object.
Vec surfaceNormal(const Object& object, int face, Vec point);

extern const Vec kToLight;

}  // namespace depthwatt::scene
