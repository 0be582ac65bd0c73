// SPDX-License-Identifier: Apache-2.0
// Measures the sharpness of a board: the blur of its edges along and across, and their contrast; see board.h.
#include <algorithm>
#include <cmath>

#include "board.h"

namespace depthwatt::calibrate {
namespace {

double takeMedian(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

void measureBlur(const Plane& image, const Lattice& lattice, Detection& detection) {
  std::vector<double> sigmas[2], steps;
  for (const auto& [place, corner] : lattice.corners) {
    for (int along = 0; along < 2; ++along) {
      const Corner* next =
          along == 0 ? lattice.find(place.first + 1, place.second) : lattice.find(place.first, place.second + 1);
      if (next == nullptr) continue;
      const double dx = next->x - corner.x, dy = next->y - corner.y, side = std::hypot(dx, dy);
      if (side < 6) continue;
      // Across the edge between the two corners, in quarters of a pixel.
      const double nx = -dy / side, ny = dx / side, reach = std::min(0.4 * side, 12.0);
      for (const double share : {0.35, 0.5, 0.65}) {
        const double cx = corner.x + share * dx, cy = corner.y + share * dy;
        if (!image.holds(cx, cy, reach + 1)) continue;
        const auto at = [&](double t) { return static_cast<double>(image.at(cx + t * nx, cy + t * ny)); };
        const double low = (at(-reach) + at(-reach + 1)) / 2, high = (at(reach) + at(reach - 1)) / 2;
        const double step = std::fabs(high - low);
        double slope = 0;
        for (double t = -reach / 2; t <= reach / 2; t += 0.25)
          slope = std::max(slope, std::fabs(at(t + 0.5) - at(t - 0.5)));
        steps.push_back(step);
        if (step > 8 && slope > 0) sigmas[along].push_back(step / (2.50662827463 * slope));
      }
    }
  }
  detection.contrast = takeMedian(steps);
  detection.blurAlongRows = takeMedian(sigmas[0]);
  detection.blurAlongColumns = takeMedian(sigmas[1]);
}

}  // namespace depthwatt::calibrate
