// SPDX-License-Identifier: Apache-2.0
// The room: walls, floor, static furniture, and four moving objects. Metres; x right, y down, z forward; the floor is
// kFloorY below the origin.
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

constexpr double kFloorY = 1.3;

/// Where the pair is: the left camera is `heightMetres` above the floor at x = z = 0, and x_room = rotation x_pair. By
/// default both look down by 11.3 degrees: tan = 1/5, so sin = 1/sqrt(26) and cos = 5/sqrt(26).
struct Pose {
  double heightMetres = kFloorY;
  double rotation[9] = {
      1, 0, 0, 0, 0.98058067569092022, 0.19611613513818404, 0, -0.19611613513818404, 0.98058067569092022};

  /// Returns the direction of the ray through normalised image point (u, v) of an unrotated camera, scaled so that the
  /// ray parameter of a point is its depth Z along the optical axis.
  Vec ray(double u, double v) const {
    const double* r = rotation;
    return {r[0] * u + r[1] * v + r[2], r[3] * u + r[4] * v + r[5], r[6] * u + r[7] * v + r[8]};
  }
  /// Returns the place of a camera `offset` metres to the right of the left one.
  Vec origin(double offset) const {
    return {rotation[0] * offset, kFloorY - heightMetres + rotation[3] * offset, rotation[6] * offset};
  }
};

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
  double gloss = 0;                 ///< share of its light that mirrors the static room, 0 to 1
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

/// Which room. Textured everywhere; walls, pane and blind without a depth cue; a platform with stairs down and an edge;
/// a floor and a window that mirror the room; tiles that repeat; or white walls with a poster. In the stairs and the
/// glossy room nothing moves.
enum class RoomKind : uint8_t { kFurnished, kBare, kStairs, kGlossy, kTiles, kPoster };
/// Adds everything static.
void furnish(RoomKind kind, ObjectList* room);
/// Places the moving objects of a frame. 30 frames are one second, and every motion repeats.
void moveTo(RoomKind kind, uint32_t frame, ObjectList* movers);

/// Returns the light and paint at a hit, grey 0 to 255. @param pixelTangent size of a pixel at depth 1. @param shade 0
/// in full shadow, 1 in full light
double surfaceGrey(const Textures& textures, const Object& object, int face, Vec point, Vec direction, double depth,
                   double pixelTangent, double shade);

/// Returns the outward unit normal at a point of an object.
Vec surfaceNormal(const Object& object, int face, Vec point);

extern const Vec kToLight;

}  // namespace depthwatt::scene
