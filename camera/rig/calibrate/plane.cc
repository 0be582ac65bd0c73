// SPDX-License-Identifier: Apache-2.0
// Float images; see plane.h.
#include "plane.h"

#include <algorithm>
#include <cmath>

#include "exponential.h"

namespace depthwatt::calibrate {

float Plane::at(double x, double y) const {
  x = std::min(std::max(x, 0.0), static_cast<double>(width - 1));
  y = std::min(std::max(y, 0.0), static_cast<double>(height - 1));
  const int32_t x0 = std::min(static_cast<int32_t>(x), std::max(width - 2, 0));
  const int32_t y0 = std::min(static_cast<int32_t>(y), std::max(height - 2, 0));
  const auto fx = static_cast<float>(x - x0), fy = static_cast<float>(y - y0);
  const float* a = row(y0) + x0;
  const float* b = row(std::min(y0 + 1, height - 1)) + x0;
  const int right = width > 1 ? 1 : 0;
  const float top = a[0] + fx * (a[right] - a[0]), bottom = b[0] + fx * (b[right] - b[0]);
  return top + fy * (bottom - top);
}

Plane fitPlane(const ImageView<const uint8_t>& image) {
  Plane out(image.width, image.height);
  for (int32_t y = 0; y < image.height; ++y) std::copy_n(image.row(y), image.width, out.row(y));
  return out;
}

Plane blurred(const Plane& in, double sigma) {
  const int radius = std::max(1, static_cast<int>(std::ceil(3 * sigma)));
  std::vector<float> kernel(static_cast<size_t>(2 * radius + 1));
  double sum = 0;
  for (int i = -radius; i <= radius; ++i) sum += exponential(-i * i / (2 * sigma * sigma));
  for (int i = -radius; i <= radius; ++i) {
    kernel[static_cast<size_t>(i + radius)] = static_cast<float>(exponential(-i * i / (2 * sigma * sigma)) / sum);
  }
  const int32_t w = in.width, h = in.height;
  Plane across(w, h), out(w, h);
  std::vector<float> line(static_cast<size_t>(w + 2 * radius));
  for (int32_t y = 0; y < h; ++y) {
    const float* from = in.row(y);
    std::fill_n(line.begin(), radius, from[0]);
    std::copy_n(from, w, line.begin() + radius);
    std::fill_n(line.begin() + radius + w, radius, from[w - 1]);
    float* to = across.row(y);
    std::fill_n(to, w, 0.0f);
    for (int i = 0; i <= 2 * radius; ++i) {
      const float k = kernel[static_cast<size_t>(i)];
      const float* shifted = line.data() + i;
      for (int32_t x = 0; x < w; ++x) to[x] += k * shifted[x];
    }
  }
  for (int32_t y = 0; y < h; ++y) {
    float* to = out.row(y);
    for (int i = -radius; i <= radius; ++i) {
      const float k = kernel[static_cast<size_t>(i + radius)];
      const float* from = across.row(std::min(std::max(y + i, 0), h - 1));
      for (int32_t x = 0; x < w; ++x) to[x] += k * from[x];
    }
  }
  return out;
}

Plane halved(const Plane& in) {
  Plane out(std::max(in.width / 2, 1), std::max(in.height / 2, 1));
  for (int32_t y = 0; y < out.height; ++y) {
    const float* a = in.row(std::min(2 * y, in.height - 1));
    const float* b = in.row(std::min(2 * y + 1, in.height - 1));
    float* to = out.row(y);
    for (int32_t x = 0; x < out.width; ++x) {
      const int32_t x0 = std::min(2 * x, in.width - 1), x1 = std::min(2 * x + 1, in.width - 1);
      to[x] = (a[x0] + a[x1] + b[x0] + b[x1]) / 4;
    }
  }
  return out;
}

Plane doubled(const Plane& in) {
  Plane out(in.width * 2, in.height * 2);
  for (int32_t y = 0; y < out.height; ++y) {
    float* to = out.row(y);
    for (int32_t x = 0; x < out.width; ++x) to[x] = in.at((x - 0.5) / 2, (y - 0.5) / 2);
  }
  return out;
}

}  // namespace depthwatt::calibrate
