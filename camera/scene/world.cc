// SPDX-License-Identifier: Apache-2.0
// Where everything is, how it moves, and how a ray hits it. Adds, multiplies, divides and square roots only.
#include "world.h"

#include <cmath>

namespace depthwatt::scene {
namespace {

constexpr double kNearest = 0.05;
/// A surface does not shade itself: a hit nearer than this along the light is the surface.
constexpr double kClear = 1e-4;

/// sin(2 pi turn). Taylor to the 11th power on the quarter turn nearest to zero: error below 6e-8.
double sine(double turn) {
  turn -= std::floor(turn);
  if (turn > 0.75) turn -= 1;
  else if (turn > 0.25) turn = 0.5 - turn;
  const double x = turn * 6.283185307179586, x2 = x * x;
  return x * (1 - x2 / 6 * (1 - x2 / 20 * (1 - x2 / 42 * (1 - x2 / 72 * (1 - x2 / 110)))));
}
double cosine(double turn) { return sine(turn + 0.25); }
double phase(uint32_t frame, uint32_t period) { return static_cast<double>(frame % period) / period; }

/// Sets an object's colour by its paint. @param offset gives moving objects other colours than furniture of the same
/// paint
void dye(ObjectList* list, int offset) {
  // Red, green, blue: 77 R + 150 G + 29 B is about 256.
  constexpr double kTints[][3] = {{1.06, 0.99, 0.89}, {1.28, 0.93, 0.62}, {1.34, 0.93, 0.46}, {0.70, 1.06, 1.48},
                                  {1.75, 0.71, 0.51}, {0.60, 1.24, 0.82}, {1.55, 0.68, 1.20}, {0.93, 1.00, 1.19},
                                  {1.22, 0.96, 0.62}, {0.82, 1.02, 1.37}, {1.02, 1.00, 0.95}};
  constexpr int kTintCount = sizeof kTints / sizeof *kTints;
  for (int i = 0; i < list->count; ++i) {
    const double* tint = kTints[(static_cast<int>(list->items[i].paint) + offset) % kTintCount];
    for (int c = 0; c < 3; ++c) list->items[i].tint[c] = tint[c];
  }
}

Vec unturn(const Object& object, Vec v) {
  return {object.cosYaw * v.x - object.sinYaw * v.z, v.y, object.sinYaw * v.x + object.cosYaw * v.z};
}
Vec turn(const Object& object, Vec v) {
  return {object.cosYaw * v.x + object.sinYaw * v.z, v.y, -object.sinYaw * v.x + object.cosYaw * v.z};
}

Object plane(Paint paint, double tileMetres, Vec point, Vec normal, double brightness) {
  Object object{Shape::kPlane, paint, tileMetres, brightness, {1, 1, 1}, point, normal};
  return object;
}

Object box(Paint paint, double tileMetres, Vec centre, Vec half, double yawTurn, double brightness = 1) {
  Object object{Shape::kBox, paint, tileMetres, brightness, {1, 1, 1}, centre, half};
  object.cosYaw = cosine(yawTurn);
  object.sinYaw = sine(yawTurn);
  object.boundRadius = std::sqrt(dot(half, half));
  return object;
}

Object sphere(Paint paint, Vec centre, double radius, double yawTurn, double rollTurn, double brightness = 1) {
  Object object{Shape::kSphere, paint, 0, brightness, {1, 1, 1}, centre, {radius, radius, radius}};
  object.cosYaw = cosine(yawTurn);
  object.sinYaw = sine(yawTurn);
  object.cosRoll = cosine(rollTurn);
  object.sinRoll = sine(rollTurn);
  object.boundRadius = radius;
  return object;
}

/// Returns the first of `set` from bit `from` on, 0 to 63; kMaxObjects if there is none.
int next(ObjectSet set, int from) {
  const ObjectSet rest = set >> from;
  return rest == 0 ? kMaxObjects : from + __builtin_ctzll(rest);
}

double component(Vec v, int axis) { return axis == 0 ? v.x : axis == 1 ? v.y : v.z; }

/// Returns the depth at which the ray enters the object, or 0.
double enter(const Object& object, Vec origin, Vec direction, int16_t* face) {
  if (object.shape == Shape::kPlane) {
    const double speed = dot(object.half, direction);
    if (speed >= 0) return 0;
    *face = 0;
    return dot(object.half, object.centre - origin) / speed;
  }
  const Vec offset = origin - object.centre;
  const double a = dot(direction, direction), b = dot(direction, offset);
  const double c = dot(offset, offset) - object.boundRadius * object.boundRadius;
  const double discriminant = b * b - a * c;
  if (discriminant < 0) return 0;
  if (object.shape == Shape::kSphere) {
    *face = 0;
    return (-b - std::sqrt(discriminant)) / a;
  }
  const Vec o = unturn(object, offset), d = unturn(object, direction);
  double nearest = -1e30, farthest = 1e30;
  int16_t entered = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double speed = component(d, axis), place = component(o, axis), half = component(object.half, axis);
    if (speed == 0) {
      if (place < -half || place > half) return 0;
      continue;
    }
    double first = (-half - place) / speed, last = (half - place) / speed;
    const bool fromAbove = first > last;
    if (fromAbove) {
      const double swap = first;
      first = last;
      last = swap;
    }
    if (first > nearest) {
      nearest = first;
      entered = static_cast<int16_t>(2 * axis + (fromAbove ? 1 : 0));
    }
    if (last < farthest) farthest = last;
  }
  if (nearest > farthest) return 0;
  *face = entered;
  return nearest;
}

}  // namespace

// (-0.48, -0.80, -0.36): from the upper left, behind the cameras. Already of length 1.
const Vec kToLight{-0.48, -0.80, -0.36};

Hit ObjectList::trace(Vec origin, Vec direction, double limit, ObjectSet among) const {
  Hit hit;
  hit.depth = limit;
  for (int i = next(among, 0); i < count; i = next(among, i + 1)) {
    int16_t face = 0;
    const double depth = enter(items[i], origin, direction, &face);
    if (depth > kNearest && depth < hit.depth) hit = {depth, static_cast<int16_t>(i), face};
  }
  if (hit.object < 0) hit.depth = 0;
  return hit;
}

Hit ObjectList::traceOne(int object, Vec origin, Vec direction) const {
  Hit hit{0, static_cast<int16_t>(object), 0};
  hit.depth = enter(items[object], origin, direction, &hit.face);
  return hit;
}

bool ObjectList::shadowed(Vec point, Vec toLight, ObjectSet among) const {
  for (int i = next(among, 0); i < count; i = next(among, i + 1)) {
    if (items[i].shape == Shape::kPlane) continue;
    int16_t face = 0;
    if (enter(items[i], point, toLight, &face) > kClear) return true;
  }
  return false;
}

void furnish(RoomKind kind, ObjectList* room) {
  room->count = 0;
  const auto add = [room](const Object& object) { room->items[room->count++] = object; };
  const auto onFloor = [](double halfHeight) { return kFloorY - halfHeight; };
  if (kind == RoomKind::kStairs) {
    // A platform that ends 0.9 m to the left (0.45 m above the lower floor) and 2.6 m ahead, at three steps of 0.15 m.
    constexpr double kLow = kFloorY + 0.45;
    add(plane(Paint::kPatches, 1.3, {0, kLow, 0}, {0, -1, 0}, 1.0));
    add(plane(Paint::kPlaster, 2.2, {0, 0, 6.5}, {0, 0, -1}, 1.0));
    add(plane(Paint::kPlaster, 2.2, {-3.4, 0, 0}, {1, 0, 0}, 0.9));
    add(plane(Paint::kPlaster, 2.2, {2.2, 0, 0}, {-1, 0, 0}, 1.1));
    add(box(Paint::kPlanks, 1.6, {0.65, 0.5 * (kFloorY + kLow), 0.8}, {1.55, 0.225, 1.8}, 0, 1.15));
    for (int step = 1; step <= 2; ++step) {
      const double top = kFloorY + 0.15 * step;
      add(box(Paint::kCrate, 0.6, {0.65, 0.5 * (top + kLow), 2.45 + 0.3 * step}, {1.55, 0.5 * (kLow - top), 0.15}, 0));
    }
    add(box(Paint::kCrate, 0, {1.2, onFloor(0.2), 2.1}, {0.2, 0.2, 0.2}, 0.07));
    add(box(Paint::kBooks, 0, {-0.2, onFloor(0.06), 1.9}, {0.06, 0.06, 0.06}, 0.03));
    dye(room, 0);
    return;
  }
  if (kind == RoomKind::kBare) {
    add(plane(Paint::kPlanks, 1.6, {0, kFloorY, 0}, {0, -1, 0}, 1.15));
    add(plane(Paint::kBare, 1, {0, 0, 5.7}, {0, 0, -1}, 1.0));
    add(plane(Paint::kBare, 1, {-3.4, 0, 0}, {1, 0, 0}, 0.9));
    add(plane(Paint::kBare, 1, {2.75, 0, 0}, {-1, 0, 0}, 1.1));
    // A blind in front of the back wall, and a dark pane without texture in a frame.
    add(box(Paint::kSlats, 0, {-1.35, -0.05, 5.6}, {0.56, 0.62, 0.02}, 0));
    add(box(Paint::kBare, 1, {1.30, onFloor(0.95), 4.62}, {0.52, 0.78, 0.005}, 0, 0.35));
    for (int side = -1; side <= 1; side += 2) {
      add(box(Paint::kPlanks, 0.6, {1.30 + side * 0.57, onFloor(0.95), 4.6}, {0.05, 0.88, 0.03}, 0));
      add(box(Paint::kPlanks, 0.6, {1.30, onFloor(0.95) + side * 0.83, 4.6}, {0.52, 0.05, 0.03}, 0));
    }
    add(box(Paint::kCrate, 0, {-1.75, onFloor(0.36), 3.75}, {0.36, 0.36, 0.36}, 0.07));
    add(box(Paint::kCard, 0.3, {-0.32, onFloor(0.80), 4.55}, {0.014, 0.80, 0.014}, 0, 0.5));
    add(sphere(Paint::kDots, {0.35, onFloor(0.21), 4.75}, 0.21, 0.11, 0.07));
    dye(room, 0);
    return;
  }
  if (kind == RoomKind::kTiles) {
    add(plane(Paint::kTiles, 1.2, {0, kFloorY, 0}, {0, -1, 0}, 1.1));
    add(plane(Paint::kTiles, 0.8, {0, 0, 5.7}, {0, 0, -1}, 1.0));
    add(plane(Paint::kPlaster, 2.2, {-3.4, 0, 0}, {1, 0, 0}, 0.9));
    add(plane(Paint::kSlats, 1.5, {2.75, 0, 0}, {-1, 0, 0}, 1.1));
    add(box(Paint::kLinen, 0.4, {-1.1, onFloor(0.40), 4.9}, {0.5, 0.40, 0.3}, 0.03));
    add(box(Paint::kCrate, 0, {-1.75, onFloor(0.36), 3.35}, {0.36, 0.36, 0.36}, 0.07));
    dye(room, 0);
    return;
  }
  if (kind == RoomKind::kPoster) {
    add(plane(Paint::kPlanks, 1.6, {0, kFloorY, 0}, {0, -1, 0}, 1.15));
    add(plane(Paint::kBare, 1, {0, 0, 5.2}, {0, 0, -1}, 1.15));
    add(plane(Paint::kBare, 1, {-2.6, 0, 0}, {1, 0, 0}, 1.0));
    add(plane(Paint::kBare, 1, {2.6, 0, 0}, {-1, 0, 0}, 1.2));
    add(box(Paint::kPoster, 0, {-0.35, -0.10, 5.19}, {0.50, 0.36, 0.01}, 0));
    add(box(Paint::kBare, 1, {1.30, onFloor(0.42), 4.3}, {0.60, 0.42, 0.35}, 0.04, 0.8));
    add(box(Paint::kBooks, 0, {-1.5, onFloor(0.55), 4.9}, {0.45, 0.55, 0.18}, 0.01));
    dye(room, 0);
    return;
  }
  add(plane(Paint::kPlanks, 1.6, {0, kFloorY, 0}, {0, -1, 0}, 1.15));
  add(plane(Paint::kPlaster, 2.2, {0, 0, 5.7}, {0, 0, -1}, 1.0));
  add(plane(Paint::kPlaster, 2.2, {-3.4, 0, 0}, {1, 0, 0}, 0.9));
  add(plane(Paint::kPlaster, 2.2, {2.75, 0, 0}, {-1, 0, 0}, 1.1));
  if (kind == RoomKind::kGlossy) {
    room->items[0].gloss = 0.45;
    // A dark window in the back wall.
    Object window = box(Paint::kBare, 1, {-1.62, -0.10, 5.68}, {0.66, 0.60, 0.015}, 0, 0.2);
    window.gloss = 0.7;
    add(window);
  }
  add(box(Paint::kLinen, 0.5, {0, onFloor(0.05), 5.69}, {3.4, 0.05, 0.02}, 0, 0.9));
  add(box(Paint::kRug, 0, {-0.05, onFloor(0.006), 2.95}, {1.15, 0.006, 0.85}, 0.02, 1.1));
  // Crates on top of each other, and a cardboard box that has nearly no texture.
  add(box(Paint::kCrate, 0, {-1.55, onFloor(0.36), 3.75}, {0.36, 0.36, 0.36}, 0.07));
  add(box(Paint::kCrate, 0, {-1.50, onFloor(0.72 + 0.22), 3.70}, {0.22, 0.22, 0.22}, -0.045, 1.15));
  add(box(Paint::kCard, 0, {-2.05, onFloor(0.24), 2.95}, {0.30, 0.24, 0.22}, -0.06, 1.15));
  // Shelf full of books against the back wall.
  add(box(Paint::kBooks, 0, {1.35, onFloor(0.92), 5.45}, {0.78, 0.92, 0.20}, 0, 1.1));
  add(box(Paint::kCrate, 0, {1.35, onFloor(1.87), 5.45}, {0.84, 0.03, 0.24}, 0));
  add(sphere(Paint::kMarble, {0.95, onFloor(1.90 + 0.17), 5.42}, 0.17, 0.1, 0.2));
  // Table: a slab on four thin legs.
  add(box(Paint::kMarble, 0.9, {1.32, onFloor(0.72), 3.62}, {0.56, 0.022, 0.38}, 0.01));
  for (int leg = 0; leg < 4; ++leg) {
    add(box(Paint::kPlanks, 0.6, {1.32 + (leg & 1 ? 0.50 : -0.50), onFloor(0.35), 3.62 + (leg & 2 ? 0.32 : -0.32)},
            {0.022, 0.35, 0.022}, 0.01));
  }
  add(sphere(Paint::kPatches, {1.66, onFloor(0.742 + 0.15), 3.55}, 0.15, 0.3, 0.05));
  // Floor lamp: thin pole, foot, shade without texture.
  add(box(Paint::kCard, 0.3, {-0.62, onFloor(0.80), 4.55}, {0.014, 0.80, 0.014}, 0, 0.5));
  add(box(Paint::kCard, 0.3, {-0.62, onFloor(0.015), 4.55}, {0.16, 0.015, 0.16}, 0.05, 0.5));
  add(box(Paint::kLinen, 0.4, {-0.62, onFloor(1.74), 4.55}, {0.19, 0.17, 0.19}, 0.06, 1.2));
  // Pictures.
  if (kind != RoomKind::kGlossy) add(box(Paint::kPoster, 0, {-1.62, -0.10, 5.68}, {0.56, 0.40, 0.015}, 0));
  add(box(Paint::kPatches, 0, {0.05, -0.22, 5.68}, {0.34, 0.44, 0.015}, 0, 1.05));
  add(box(Paint::kDots, 0, {2.735, -0.05, 4.2}, {0.015, 0.42, 0.55}, 0));
  add(sphere(Paint::kDots, {0.35, onFloor(0.21), 4.75}, 0.21, 0.11, 0.07));
  dye(room, 0);
}

void moveTo(RoomKind kind, uint32_t frame, ObjectList* movers) {
  movers->count = kind == RoomKind::kStairs || kind == RoomKind::kGlossy ? 0 : kMoverCount;
  if (movers->count == 0) return;
  // A ball rolls around the rug: a circle of 0.75 m is 5 turns of a ball of 0.15 m.
  const double round = phase(frame, 240);
  const Vec rolling{-0.10 + 0.75 * sine(round), kFloorY - 0.012 - 0.15, 2.85 + 0.75 * cosine(round)};
  movers->items[0] = sphere(Paint::kPatches, rolling, 0.15, round + 0.25, -5 * round, 1.1);
  // A small ball bounces in front of the table.
  const double bounce = phase(frame, 27);
  movers->items[1] = sphere(Paint::kDots, {1.02, kFloorY - 0.085 - 2.4 * bounce * (1 - bounce), 2.45}, 0.085,
                            phase(frame, 130), phase(frame, 90), 1.25);
  // A cube turns on the table.
  movers->items[2] =
      box(Paint::kPoster, 0, {1.12, kFloorY - 0.742 - 0.13, 3.60}, {0.13, 0.13, 0.13}, phase(frame, 150), 1.1);
  // A ball swings close to the cameras.
  const double swing = phase(frame, 96);
  const double side = sine(swing), depth = cosine(swing);
  const Vec swinging{-0.42 + 0.26 * side, 0.06 - 0.06 * side * side, 1.52 + 0.24 * depth};
  movers->items[3] = sphere(Paint::kMarble, swinging, 0.065, phase(frame, 200), 0.1 * side, 1.2);
  dye(movers, 3);
}

Vec surfaceNormal(const Object& object, int face, Vec point) {
  if (object.shape == Shape::kPlane) return object.half;
  if (object.shape == Shape::kSphere) return (point - object.centre) * (1 / object.half.x);
  const double sign = face & 1 ? 1 : -1;
  return turn(object, {face / 2 == 0 ? sign : 0, face / 2 == 1 ? sign : 0, face / 2 == 2 ? sign : 0});
}

double surfaceGrey(const Textures& textures, const Object& object, int face, Vec point, Vec direction, double depth,
                   double pixelTangent, double shade) {
  const Vec normal = surfaceNormal(object, face, point);
  double u = 0, v = 0, sizeU = object.tileMetres, sizeV = object.tileMetres;
  if (object.shape == Shape::kPlane) {
    u = normal.x != 0 ? point.z : point.x;
    v = normal.y != 0 ? point.z : point.y;
  } else if (object.shape == Shape::kBox) {
    const Vec local = unturn(object, point - object.centre);
    const int axis = face / 2;
    u = axis == 0 ? local.z + object.half.z : local.x + object.half.x;
    v = axis == 1 ? local.z + object.half.z : local.y + object.half.y;
    if (object.tileMetres == 0) {
      sizeU = 2 * (axis == 0 ? object.half.z : object.half.x);
      sizeV = 2 * (axis == 1 ? object.half.z : object.half.y);
    }
  } else {
    // A cube around the ball: one tile per side.
    Vec n = unturn(object, normal);
    n = {n.x, object.cosRoll * n.y + object.sinRoll * n.z, object.cosRoll * n.z - object.sinRoll * n.y};
    const double ax = n.x < 0 ? -n.x : n.x, ay = n.y < 0 ? -n.y : n.y, az = n.z < 0 ? -n.z : n.z;
    const double major = ax >= ay && ax >= az ? ax : ay >= az ? ay : az;
    const double p = ax == major ? n.y : n.x, q = az == major ? n.y : n.z;
    u = 0.5 + 0.5 * p / major;
    v = 0.5 + 0.5 * q / major;
    sizeU = sizeV = 1;
  }
  const double length = std::sqrt(dot(direction, direction));
  double facing = -dot(normal, direction) / length;
  if (facing < 0.08) facing = 0.08;
  // Between the width and the height of the pixel's print on the surface.
  double print = depth * pixelTangent / std::sqrt(facing);
  if (object.shape == Shape::kSphere) print *= 0.5 / object.half.x;
  const double size = sizeU < sizeV ? sizeU : sizeV;
  const double albedo = textures.sample(object.paint, u / sizeU, v / sizeV, print / size);
  const double slope = dot(normal, kToLight);
  const double sun = slope > 0 ? slope * shade : 0;
  // Ambient light: more from above than from below.
  const double room = 0.56 - 0.12 * normal.y - 0.05 * normal.x;
  const double grey = albedo * object.brightness * (room + 0.78 * sun);
  return grey > 255 ? 255 : grey;
}

}  // namespace depthwatt::scene
