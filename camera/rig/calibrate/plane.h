// SPDX-License-Identifier: Apache-2.0
// A grey picture in float32 as detection works on it, and what it needs of one.
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
  /// Bilinear; outside, the border's value.
  float at(double x, double y) const;
  bool holds(double x, double y, double margin) const {
    return x >= margin && y >= margin && x <= width - 1 - margin && y <= height - 1 - margin;
  }
};

Plane planeOf(const ImageView<const uint8_t>& image);
/// Gauss's filter; borders repeat.
Plane blurred(const Plane& in, double sigma);
/// Half the size, from means of 2 x 2: pixel x of the result has its centre at 2 x + 0.5.
Plane halved(const Plane& in);
/// Twice the size, bilinear: pixel x of `in` lies at 2 x + 0.5.
Plane doubled(const Plane& in);

}  // namespace depthwatt::calibrate
