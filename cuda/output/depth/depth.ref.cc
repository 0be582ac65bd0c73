// SPDX-License-Identifier: Apache-2.0
// The definition of depth from disparity; see depth.h.
#include <cmath>
#include <limits>

#include "depth.h"

namespace depthwatt {
namespace {

struct Constants {
  float numerator;
  float offsetQ4;

  explicit Constants(const DepthGeometry& geometry)
      : numerator(static_cast<float>(geometry.focalPixels * geometry.baselineMetres * 16.0 * 1000.0)),
        offsetQ4(static_cast<float>(16.0 * geometry.disparityOffsetPixels)) {}
};

}  // namespace

void depthMillimetresReference(const DepthGeometry& geometry, ImageView<const int16_t> disparityQ4,
                               ImageView<uint16_t> millimetres) {
  const Constants constants(geometry);
  for (int32_t y = 0; y < disparityQ4.height; ++y) {
    for (int32_t x = 0; x < disparityQ4.width; ++x) {
      const int16_t disparity = disparityQ4.row(y)[x];
      const float denominator = static_cast<float>(disparity) + constants.offsetQ4;
      uint16_t result = 0;
      if (disparity != kInvalidDisparity && denominator > 0) {
        const float zMillimetres = constants.numerator / denominator;
        const float rounded = std::floor(zMillimetres + 0.5f);
        if (rounded <= 65535.0f) result = static_cast<uint16_t>(rounded);
      }
      millimetres.row(y)[x] = result;
    }
  }
}

void depthMetresReference(const DepthGeometry& geometry, ImageView<const int16_t> disparityQ4,
                          ImageView<float> metres) {
  const Constants constants(geometry);
  for (int32_t y = 0; y < disparityQ4.height; ++y) {
    for (int32_t x = 0; x < disparityQ4.width; ++x) {
      const int16_t disparity = disparityQ4.row(y)[x];
      const float denominator = static_cast<float>(disparity) + constants.offsetQ4;
      float result = std::numeric_limits<float>::quiet_NaN();
      if (disparity != kInvalidDisparity && denominator > 0) {
        const float zMillimetres = constants.numerator / denominator;
        result = zMillimetres / 1000.0f;
      }
      metres.row(y)[x] = result;
    }
  }
}

}  // namespace depthwatt
