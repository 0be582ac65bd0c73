// SPDX-License-Identifier: Apache-2.0
// A grey image in float32, and the filters that detection needs.
#pragma once

#include <cstdint>
#include <vector>

#include "../../../core/image.h"

namespace depthwatt::calibrate {

struct Plane {
  int32_t width = 0, height = 0;
  std::vector<float> data;

  Plane() = default;
  Plane(int32_t w, int32_t h) : width(w), height(h), data(static_cast<size_t>(w) * static_cast<size_t>(h)) {}
  float* row(int32_t y) { return data.data() + static_cast<size_t>(y) * static_cast<size_t>(width); }
  const float* row(int32_t y) const { return data.data() + static_cast<size_t>(y) * static_cast<size_t>(width); }
  /// Returns the bilinear value; outside, the border's.
  float at(double x, double y) const;
  bool holds(double x, double y, double margin) const {
    return x >= margin && y >= margin && x <= width - 1 - margin && y <= height - 1 - margin;
  }
};

Plane fitPlane(const ImageView<const uint8_t>& image);
/// Applies Gauss's filter; borders repeat.
Plane blurred(const Plane& in, double sigma);
/// Halves the size, by means of 2 x 2: pixel x of the result has its centre at 2 x + 0.5.
Plane halved(const Plane& in);
/// Doubles the size, bilinear: pixel x of `in` is at 2 x + 0.5.
Plane doubled(const Plane& in);

}  // namespace depthwatt::calibrate
