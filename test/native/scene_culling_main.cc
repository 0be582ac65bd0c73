// SPDX-License-Identifier: Apache-2.0
// Checks that rays which test only culled objects find the same as rays that test all. Prints how many rays differ, of
// cones and of light; with the argument "blind" one object of each set is left out, and some rays must differ.
#include <cmath>
#include <cstdio>
#include <cstring>

#include "../../camera/scene/culling.h"
#include "../../camera/scene/noise.h"

using namespace depthwatt::scene;

namespace {

uint32_t drawn = 0;
double between(double low, double high) { return low + (high - low) * unit(hash(drawn++, 5, 7)); }
Vec unitVector(Vec v) { return v * (1 / std::sqrt(dot(v, v))); }

}  // namespace

int main(int count, char** words) {
  const bool blind = count > 1 && std::strcmp(words[1], "blind") == 0;
  const auto visible = [blind](ObjectSet set) { return blind ? set & (set - 1) : set; };
  ObjectList room;
  furnish(RoomKind::kFurnished, &room);
  const LightGrid light(room, 0.03);
  int rays = 0, differentRays = 0, shadows = 0, differentShadows = 0;
  for (int k = 0; k < 4000; ++k) {
    const Vec origin{between(-0.1, 0.3), between(-0.1, 0.1), between(-0.1, 0.1)};
    const double u = between(-1.5, 1.5), v = between(-1, 1), size = between(0.001, 0.2);
    const Vec corners[] = {Pose{}.ray(u, v), Pose{}.ray(u + size, v), Pose{}.ray(u, v + size),
                           Pose{}.ray(u + size, v + size)};
    Cone cone{unitVector(Pose{}.ray(u + 0.5 * size, v + 0.5 * size))};
    for (const Vec& corner : corners) {
      const Vec off = unitVector(corner) - cone.axis;
      cone.spread = std::fmax(cone.spread, std::sqrt(dot(off, off)));
    }
    const ObjectSet seen = visible(seenThrough(cone, origin, room));
    for (int i = 0; i < 16; ++i) {
      const Vec ray = Pose{}.ray(u + between(0, size), v + between(0, size));
      const Hit all = room.trace(origin, ray, 1e9), some = room.trace(origin, ray, 1e9, seen);
      ++rays;
      if (all.depth != some.depth || all.object != some.object || all.face != some.face) ++differentRays;
      if (all.object < 0) continue;
      const Vec point = origin + ray * all.depth;
      const Vec toLight{kToLight.x + between(-0.02, 0.02), kToLight.y, kToLight.z + between(-0.02, 0.02)};
      ++shadows;
      if (room.shadowed(point, toLight, kAllObjects) != room.shadowed(point, toLight, visible(light.at(point))))
        ++differentShadows;
    }
  }
  std::printf("%d of %d rays, %d of %d shadows\n", differentRays, rays, differentShadows, shadows);
  return differentRays + differentShadows == 0 ? 0 : 1;
}
