// SPDX-License-Identifier: Apache-2.0
// Lattices of an image at a scale, their corners' final places, and the choice of the board type; see board.h.
#include "board.h"

#include <algorithm>
#include <cmath>

namespace depthwatt::calibrate {

std::vector<Lattice> findLattices(const Plane& image, int scale, size_t least) {
  Plane scaled;
  const Plane* at = &image;
  double factor = 1, shift = 0;  // x of the image = factor * x of the scaled one + shift
  for (int k = 0; k < scale; ++k) {
    scaled = halved(*at);
    at = &scaled;
    shift += 0.5 * factor;
    factor *= 2;
  }
  if (scale < 0) {
    scaled = doubled(image);
    at = &scaled;
    factor = 0.5;
    shift = -0.25;
  }
  const std::vector<Corner> candidates = findCorners(*at);
  std::vector<Lattice> lattices = linkCorners(candidates, least);
  if (lattices.size() > 4) lattices.resize(4);
  if (lattices.empty()) return lattices;
  const Plane soft = blurred(*at, 0.8);
  for (Lattice& lattice : lattices) {
    completeLattice(soft, candidates, lattice);
    for (auto& [place, corner] : lattice.corners) {
      corner.x = factor * corner.x + shift;
      corner.y = factor * corner.y + shift;
    }
  }
  return lattices;
}

/// Edges of a sharp lens are narrower than pixels, and gradients then depend on the sub-pixel position: corners of
/// rendered boards are off by 0.055 px rms (11x8 corners in 640x480), with this blur by 0.025. In a window smaller than
/// its reach, as with small fields and the gaps next to markers, the blur mixes in other content; there the image
/// itself is used.
constexpr double kRefineBlur = 1.0;
constexpr int kLeastBlurredWindow = 4;

void refineLattice(const Plane& sharp, Lattice& lattice, double windowShare) {
  const Plane soft = blurred(sharp, kRefineBlur);
  std::map<Place, Corner> refined;
  for (const auto& [place, corner] : lattice.corners) {
    const double spacing = lattice.spacing(place);
    const double largest = windowShare * spacing;
    // 5 pixels, as is usual with OpenCV; wider if the fields are large.
    const double wanted = std::min(std::max(std::round(0.17 * spacing), 5.0), 10.0);
    const int window = std::max(static_cast<int>(std::min(wanted, largest)), 2);
    Corner moved = corner;
    if (!refineCorner(window < kLeastBlurredWindow ? sharp : soft, window, moved.x, moved.y)) continue;
    if (std::hypot(moved.x - corner.x, moved.y - corner.y) > std::max(3.0, 0.3 * spacing)) continue;
    refined[place] = moved;
  }
  lattice.corners = std::move(refined);
}

Detection detectBoard(const ImageView<const uint8_t>& image, const BoardSpec& spec) {
  const Plane plane = fitPlane(image);
  if (spec.pattern == Pattern::kCircles) return detectCircles(plane, spec);
  if (spec.pattern == Pattern::kCharuco) return detectCharuco(plane, spec);
  return detectChessboard(plane, spec);
}

}  // namespace depthwatt::calibrate
