// SPDX-License-Identifier: Apache-2.0
// The definition of the speckle filter: floods each region from its first pixel; see speckle.h.
#include <vector>

#include "speckle.h"

namespace depthwatt {

void speckleReference(const SpeckleParameters& parameters, ImageView<int16_t> disparityQ4,
                      ImageView<uint8_t> confidence) {
  struct Place {
    int32_t x, y;
  };
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  std::vector<bool> visited(static_cast<size_t>(width) * height);
  std::vector<Place> region;
  // Removal waits until all regions are known, because removed pixels would change other regions.
  std::vector<Place> removed;
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const auto visit = [&](int32_t px, int32_t py, int32_t from) {
        if (px < 0 || px >= width || py < 0 || py >= height) return;
        const int32_t value = disparityQ4.row(py)[px];
        const int32_t step = value > from ? value - from : from - value;
        const size_t index = static_cast<size_t>(py) * width + px;
        if (visited[index] || value == kInvalidDisparity || step > parameters.rangeQ4) return;
        visited[index] = true;
        region.push_back({px, py});
      };
      region.clear();
      visit(x, y, disparityQ4.row(y)[x]);
      for (size_t next = 0; next < region.size(); ++next) {
        const Place p = region[next];
        const int32_t value = disparityQ4.row(p.y)[p.x];
        visit(p.x - 1, p.y, value);
        visit(p.x + 1, p.y, value);
        visit(p.x, p.y - 1, value);
        visit(p.x, p.y + 1, value);
      }
      if (region.size() < static_cast<size_t>(parameters.minPixels)) {
        removed.insert(removed.end(), region.begin(), region.end());
      }
    }
  }
  for (const Place p : removed) {
    disparityQ4.row(p.y)[p.x] = kInvalidDisparity;
    if (confidence.data != nullptr) confidence.row(p.y)[p.x] = 0;
  }
}

}  // namespace depthwatt
