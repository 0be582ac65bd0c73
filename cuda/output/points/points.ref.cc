// SPDX-License-Identifier: Apache-2.0
// The definition of points; see points.h.
#include <cmath>
#include <cstring>
#include <limits>

#include "points.h"

namespace depthwatt {
namespace {

struct Point {
  float x, y, z;
};

Point pointAt(const PointsParameters& p, int32_t x, int32_t y, float zMillimetres) {
  const bool metres = p.element == PointElement::kF32;
  const float z = metres ? zMillimetres / 1000.0f : zMillimetres;
  const auto u = static_cast<float>((x - p.cx) / p.focalPixels);
  if (p.frame == PointFrame::kCamera) {
    const auto v = static_cast<float>((y - p.cy) / p.focalPixels);
    return {u * z, v * z, z};
  }
  const auto half = static_cast<float>(p.baselineMetres * (metres ? 0.5 : 500.0));
  const auto w = static_cast<float>((p.cy - y) / p.focalPixels);
  const float aside = u * z;
  return {z, half - aside, w * z};
}

bool fits(float millimetres) { return millimetres >= -32767.0f && millimetres <= 32767.0f; }

}  // namespace

void pointsReference(const PointsParameters& p, const PointsImages& images, uint8_t* points) {
  const auto numerator = static_cast<float>(p.focalPixels * p.baselineMetres * 16.0 * 1000.0);
  const auto offsetQ4 = static_cast<float>(16.0 * p.disparityOffsetPixels);
  const float none = std::numeric_limits<float>::quiet_NaN();
  for (int32_t y = 0; y < images.disparityQ4.height; ++y) {
    for (int32_t x = 0; x < images.disparityQ4.width; ++x) {
      const int16_t disparity = images.disparityQ4.row(y)[x];
      const float denominator = static_cast<float>(disparity) + offsetQ4;
      const bool valid = disparity != kInvalidDisparity && denominator > 0;
      const Point point = valid ? pointAt(p, x, y, numerator / denominator) : Point{none, none, none};
      const uint8_t grey = images.grey.row(y)[x];
      const Rgb8 colour = p.colours ? images.rgb.row(y)[x] : Rgb8{grey, grey, grey};
      const uint8_t bytes[4] = {colour.blue, colour.green, colour.red, 255};
      if (p.element == PointElement::kF32) {
        const float values[3] = {point.x, point.y, point.z};
        std::memcpy(points, values, 12);
        std::memcpy(points + 12, bytes, 4);
      } else {
        const float rounded[3] = {std::floor(point.x + 0.5f), std::floor(point.y + 0.5f), std::floor(point.z + 0.5f)};
        const bool inside = valid && fits(rounded[0]) && fits(rounded[1]) && fits(rounded[2]);
        int16_t values[3] = {kNoPoint, kNoPoint, kNoPoint};
        for (int32_t i = 0; inside && i < 3; ++i) values[i] = static_cast<int16_t>(rounded[i]);
        std::memcpy(points, values, 6);
        if (p.colours) std::memcpy(points + 6, bytes, 4);
        else points[6] = grey, points[7] = 0;
      }
      points += pointBytes(p);
    }
  }
}

}  // namespace depthwatt
