// SPDX-License-Identifier: Apache-2.0
// Chessboards at several scales; see board.h.
#include "board.h"

#include <algorithm>
#include <cmath>

namespace depthwatt::calibrate {
namespace {

struct Rectangle {
  int i = 0, j = 0, columns = 0, rows = 0;  ///< columns along i
  int missing = 0;
  double strength = 0;
};

struct Bounds {
  int i0 = 0, i1 = -1, j0 = 0, j1 = -1;  ///< i1 and j1 included
  int columns() const { return i1 - i0 + 1; }
  int rows() const { return j1 - j0 + 1; }
};

Bounds boundsOf(const Lattice& lattice) {
  Bounds b;
  bool first = true;
  for (const auto& [place, corner] : lattice.corners) {
    b.i0 = first ? place.first : std::min(b.i0, place.first);
    b.i1 = first ? place.first : std::max(b.i1, place.first);
    b.j0 = first ? place.second : std::min(b.j0, place.second);
    b.j1 = first ? place.second : std::max(b.j1, place.second);
    first = false;
  }
  return b;
}

Rectangle countIn(const Lattice& lattice, int i, int j, int columns, int rows) {
  Rectangle out{i, j, columns, rows, 0, 0};
  for (int dj = 0; dj < rows; ++dj) {
    for (int di = 0; di < columns; ++di) {
      const Corner* corner = lattice.find(i + di, j + dj);
      if (corner == nullptr) ++out.missing;
      else out.strength += corner->strength;
    }
  }
  return out;
}

/// The placement of the wanted board with the fewest missing corners, of equals the strongest one.
Rectangle bestPlacement(const Lattice& lattice, int columns, int rows) {
  const Bounds b = boundsOf(lattice);
  Rectangle best;
  best.missing = columns * rows + 1;
  for (const bool turned : {false, true}) {
    const int c = turned ? rows : columns, r = turned ? columns : rows;
    if (turned && columns == rows) break;
    for (int i = std::min(b.i0, b.i1 - c + 1); i <= std::max(b.i0, b.i1 - c + 1); ++i) {
      for (int j = std::min(b.j0, b.j1 - r + 1); j <= std::max(b.j0, b.j1 - r + 1); ++j) {
        const Rectangle here = countIn(lattice, i, j, c, r);
        if (here.missing < best.missing || (here.missing == best.missing && here.strength > best.strength)) best = here;
      }
    }
  }
  return best;
}

/// The board of unknown size: the largest rectangle without a gap.
Rectangle largestFull(const Lattice& lattice) {
  const Bounds b = boundsOf(lattice);
  Rectangle best;
  // heights[i]: corners in a row downwards that end at the row at hand.
  std::vector<int> heights(static_cast<size_t>(std::max(b.columns(), 0)));
  for (int j = b.j0; j <= b.j1; ++j) {
    for (int i = b.i0; i <= b.i1; ++i) {
      int& height = heights[static_cast<size_t>(i - b.i0)];
      height = lattice.find(i, j) == nullptr ? 0 : height + 1;
    }
    for (int first = b.i0; first <= b.i1; ++first) {
      int least = 1 << 20;
      for (int last = first; last <= b.i1; ++last) {
        least = std::min(least, heights[static_cast<size_t>(last - b.i0)]);
        if ((last - first + 1) * least > best.columns * best.rows) {
          best = {first, j - least + 1, last - first + 1, least, 0, 0};
        }
      }
    }
  }
  return best;
}

/// Whether the field between the corners (i, j) and (i + 1, j + 1) is the dark one of its surroundings.
bool isDark(const Plane& image, const Lattice& lattice, int i, int j) {
  const auto middle = [&](int a, int b) -> double {
    double x = 0, y = 0;
    for (int k = 0; k < 4; ++k) {
      const Corner* corner = lattice.find(a + k % 2, b + k / 2);
      if (corner == nullptr) return -1;
      x += corner->x / 4;
      y += corner->y / 4;
    }
    return image.at(x, y);
  };
  double same = 0, other = 0;
  int sames = 0, others = 0;
  const Bounds b = boundsOf(lattice);
  for (int a = b.i0; a < b.i1; ++a) {
    for (int c = b.j0; c < b.j1; ++c) {
      const double value = middle(a, c);
      if (value < 0) continue;
      if ((a + c - i - j) % 2 == 0) {
        same += value;
        ++sames;
      } else {
        other += value;
        ++others;
      }
    }
  }
  return sames > 0 && others > 0 && same / sames < other / others;
}

/// Corners of the rectangle in the board's order: the first row begins where the first field is dark if the board tells, else
/// at the upper left of the picture.
std::vector<BoardPoint> ordered(const Plane& image, const Lattice& lattice, const Rectangle& r, int& columns,
                                int& rows) {
  // Turned by k quarters, (column, row) of the board lies at these steps.
  const auto placeOf = [&](int quarter, int column, int row) -> Place {
    switch (quarter) {
      case 0: return {r.i + column, r.j + row};
      case 1: return {r.i + r.columns - 1 - row, r.j + column};
      case 2: return {r.i + r.columns - 1 - column, r.j + r.rows - 1 - row};
      default: return {r.i + row, r.j + r.rows - 1 - column};
    }
  };
  if (columns == 0) {
    columns = std::max(r.columns, r.rows);
    rows = std::min(r.columns, r.rows);
  }
  Lattice inside;
  for (int row = 0; row < r.rows; ++row) {
    for (int column = 0; column < r.columns; ++column) {
      inside.corners[{r.i + column, r.j + row}] = *lattice.find(r.i + column, r.j + row);
    }
  }
  int best = -1;
  double bestScore = 0;
  for (int quarter = 0; quarter < 4; ++quarter) {
    const bool turned = quarter % 2 == 1;
    if ((turned ? r.rows : r.columns) != columns || (turned ? r.columns : r.rows) != rows) continue;
    const Place a = placeOf(quarter, 0, 0), b = placeOf(quarter, 1, 0), c = placeOf(quarter, 0, 1),
                d = placeOf(quarter, 1, 1);
    const int i = std::min({a.first, b.first, c.first, d.first}),
              j = std::min({a.second, b.second, c.second, d.second});
    double score = 0;
    if ((columns + rows) % 2 == 1) {
      score = isDark(image, inside, i, j) ? 2 : 1;
    } else {
      const Corner& from = inside.corners[a];
      const Place last = placeOf(quarter, columns - 1, 0);
      const Corner& to = inside.corners[last];
      // 3: to the right; every quarter turn less.
      score = 3 + std::cos(std::atan2(to.y - from.y, to.x - from.x));
    }
    if (score > bestScore) {
      bestScore = score;
      best = quarter;
    }
  }
  std::vector<BoardPoint> out;
  if (best < 0) return out;
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column) {
      const Corner& corner = inside.corners[placeOf(best, column, row)];
      out.push_back({row * columns + column, corner.x, corner.y});
    }
  }
  return out;
}

/// Lines of corners that cross or run back are no board, whatever the lattice says.
bool inOrder(const std::vector<BoardPoint>& points, int columns, int rows) {
  int sign = 0;
  for (int row = 0; row + 1 < rows; ++row) {
    for (int column = 0; column + 1 < columns; ++column) {
      const BoardPoint& a = points[static_cast<size_t>(row * columns + column)];
      const BoardPoint& b = points[static_cast<size_t>(row * columns + column + 1)];
      const BoardPoint& c = points[static_cast<size_t>((row + 1) * columns + column)];
      const BoardPoint& d = points[static_cast<size_t>((row + 1) * columns + column + 1)];
      for (const double area : {(b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x),
                                (d.x - b.x) * (c.y - d.y) - (d.y - b.y) * (c.x - d.x)}) {
        const int here = area > 0 ? 1 : -1;
        if (sign == 0) sign = here;
        if (here != sign) return false;
      }
    }
  }
  return true;
}

/// Squared pixels of the corners' outline, missing ones left out.
double areaOf(const Lattice& lattice, const Rectangle& r) {
  double x0 = 1e9, x1 = -1e9, y0 = 1e9, y1 = -1e9;
  for (const auto& [place, corner] : lattice.corners) {
    if (place.first < r.i || place.first >= r.i + r.columns || place.second < r.j || place.second >= r.j + r.rows)
      continue;
    x0 = std::min(x0, corner.x);
    x1 = std::max(x1, corner.x);
    y0 = std::min(y0, corner.y);
    y1 = std::max(y1, corner.y);
  }
  return x1 > x0 ? (x1 - x0) * (y1 - y0) : 0;
}

double middleOf(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Detection chessboardOf(const Plane& image, const BoardSpec& spec) {
  Detection best;
  best.missing = 1 << 20;
  const int side = std::min(image.width, image.height);
  // Of a large picture half the size shows a board as well, in a quarter of the time.
  std::vector<int> scales = {0, 1, -1};
  if (side > 700) scales = {1, 0, 2};
  double bestArea = 0;
  for (const int scale : scales) {
    for (Lattice& lattice : findLattices(image, scale, 6)) {
      const Rectangle r = spec.columns > 0 ? bestPlacement(lattice, spec.columns, spec.rows) : largestFull(lattice);
      if (r.columns < 3 || r.rows < 3) continue;
      const double area = areaOf(lattice, r);
      if (spec.columns > 0) {
        // Of two whole boards the nearer one: the other may hang on the wall, or be shown on a screen.
        const bool twin = r.missing == 0 && best.missing == 0 && area > bestArea;
        if (r.missing >= best.missing && !twin) continue;
      } else if (r.columns * r.rows < best.columns * best.rows ||
                 (r.columns * r.rows == best.columns * best.rows && area <= bestArea)) {
        continue;
      }
      Detection here;
      here.columns = spec.columns;
      here.rows = spec.rows;
      here.missing = r.missing;
      here.absence = Absence::kIncomplete;
      if (r.missing == 0) {
        Lattice inside;
        for (int row = 0; row < r.rows; ++row) {
          for (int column = 0; column < r.columns; ++column) {
            inside.corners[{r.i + column, r.j + row}] = *lattice.find(r.i + column, r.j + row);
          }
        }
        refineLattice(image, inside);
        here.missing = r.columns * r.rows - static_cast<int>(inside.corners.size());
        if (here.missing == 0) {
          here.points = ordered(image, inside, r, here.columns, here.rows);
          here.absence = inOrder(here.points, here.columns, here.rows) ? Absence::kNone : Absence::kOutOfOrder;
          if (here.absence != Absence::kNone) here.points.clear();
          measureBlur(image, inside, here);
        }
      }
      if (here.columns == 0) {
        here.columns = std::max(r.columns, r.rows);
        here.rows = std::min(r.columns, r.rows);
      }
      best = std::move(here);
      bestArea = area;
    }
    const bool small = bestArea < 0.02 * image.width * image.height;
    if (best.absence == Absence::kNone && !small && (spec.columns > 0 || scale == scales[1])) break;
  }
  return best;
}

}  // namespace

std::vector<Lattice> findLattices(const Plane& image, int scale, size_t least) {
  Plane scaled;
  const Plane* at = &image;
  double factor = 1, shift = 0;  // x of the picture = factor * x of the scaled one + shift
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

/// Edges of a sharp lens are narrower than pixels, and then gradients depend on where between two pixels they lie: corners
/// of rendered boards are off by 0.055 px rms (11x8 corners in 640x480), with this blur by 0.025. In a window that is smaller
/// than its reach, as small fields and the gaps beside markers allow, it mixes in what lies around: there the picture is taken.
constexpr double kRefineBlur = 1.0;
constexpr int kLeastBlurredWindow = 4;

void refineLattice(const Plane& sharp, Lattice& lattice, double windowShare) {
  const Plane soft = blurred(sharp, kRefineBlur);
  std::map<Place, Corner> refined;
  for (const auto& [place, corner] : lattice.corners) {
    const double spacing = lattice.spacing(place);
    const double largest = windowShare * spacing;
    // 5 pixels, as is usual with OpenCV; wider where the fields are large.
    const double wanted = std::min(std::max(std::round(0.17 * spacing), 5.0), 10.0);
    const int window = std::max(static_cast<int>(std::min(wanted, largest)), 2);
    Corner moved = corner;
    if (!refineCorner(window < kLeastBlurredWindow ? sharp : soft, window, moved.x, moved.y)) continue;
    if (std::hypot(moved.x - corner.x, moved.y - corner.y) > std::max(3.0, 0.3 * spacing)) continue;
    refined[place] = moved;
  }
  lattice.corners = std::move(refined);
}

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
  detection.contrast = middleOf(steps);
  detection.blurAlongRows = middleOf(sigmas[0]);
  detection.blurAlongColumns = middleOf(sigmas[1]);
}

Detection detectBoard(const ImageView<const uint8_t>& image, const BoardSpec& spec) {
  const Plane plane = planeOf(image);
  if (spec.pattern == Pattern::kCircles) return detectCircles(plane, spec);
  if (spec.pattern == Pattern::kCharuco) return detectCharuco(plane, spec);
  return chessboardOf(plane, spec);
}

}  // namespace depthwatt::calibrate
