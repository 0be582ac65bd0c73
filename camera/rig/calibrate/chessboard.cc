// SPDX-License-Identifier: Apache-2.0
// Finds chessboards at several scales: the requested rectangle of corners, or the largest full one, read from the end
// that the fields indicate; see board.h.
#include <algorithm>
#include <cmath>

#include "board.h"

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

Bounds latticeBounds(const Lattice& lattice) {
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

/// Returns the placement of the requested board with the fewest missing corners, of equals the strongest one.
Rectangle bestPlacement(const Lattice& lattice, int columns, int rows) {
  const Bounds b = latticeBounds(lattice);
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

/// Returns the board of unknown size: the largest rectangle without a gap.
Rectangle largestFull(const Lattice& lattice) {
  const Bounds b = latticeBounds(lattice);
  Rectangle best;
  // heights[i]: consecutive corners downwards that end at the current row.
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

/// Returns whether the field between the corners (i, j) and (i + 1, j + 1) is the dark one of its surroundings.
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
  const Bounds b = latticeBounds(lattice);
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
  // A board of 3 x 3 corners has two fields of either kind.
  return same / sames < other / others;
}

/// Returns the corners of the rectangle in the board's order. The first row starts where the first field is dark, if
/// the board determines that, else at the upper left of the image.
std::vector<BoardPoint> ordered(const Plane& image, const Lattice& lattice, const Rectangle& r, int& columns,
                                int& rows) {
  // Rotated by k quarters, (column, row) of the board is at these steps.
  const auto latticeIndex = [&](int quarter, int column, int row) -> Place {
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
    const Place a = latticeIndex(quarter, 0, 0), b = latticeIndex(quarter, 1, 0), c = latticeIndex(quarter, 0, 1),
                d = latticeIndex(quarter, 1, 1);
    const int i = std::min({a.first, b.first, c.first, d.first}),
              j = std::min({a.second, b.second, c.second, d.second});
    double score = 0;
    if ((columns + rows) % 2 == 1) {
      score = isDark(image, inside, i, j) ? 2 : 1;
    } else {
      const Corner& from = inside.corners[a];
      const Place last = latticeIndex(quarter, columns - 1, 0);
      const Corner& to = inside.corners[last];
      // 3 if it points to the right; every quarter turn less.
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
      const Corner& corner = inside.corners[latticeIndex(best, column, row)];
      out.push_back({row * columns + column, corner.x, corner.y});
    }
  }
  return out;
}

/// Returns false if lines of corners cross or run back, because that is no board.
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

/// Returns the area of the corners' outline in square pixels, without missing ones.
double rectangleArea(const Lattice& lattice, const Rectangle& r) {
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

}  // namespace

Detection detectChessboard(const Plane& image, const BoardSpec& spec) {
  Detection best;
  best.missing = 1 << 20;
  const int side = std::min(image.width, image.height);
  // A large image shows a board at half its size too, in a quarter of the time.
  std::vector<int> scales = {0, 1, -1};
  if (side > 700) scales = {1, 0, 2};
  double bestArea = 0;
  for (const int scale : scales) {
    for (Lattice& lattice : findLattices(image, scale, 6)) {
      const Rectangle r = spec.columns > 0 ? bestPlacement(lattice, spec.columns, spec.rows) : largestFull(lattice);
      if (r.columns < 3 || r.rows < 3) continue;
      const double area = rectangleArea(lattice, r);
      if (spec.columns > 0) {
        // Prefer the nearer of two complete boards: the other may be on the wall, or on a screen.
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

}  // namespace depthwatt::calibrate
