// SPDX-License-Identifier: Apache-2.0
// ChArUco boards: finds a chessboard's corners as usual, and identifies them by the markers in its bright fields. A
// marker is read inside its field, so it needs no detection. Parts of the board may be hidden.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>

#include "board.h"
#include "dictionaries.h"

namespace depthwatt::calibrate {
namespace {

const uint64_t* const kTables[] = {kMarkers4, kMarkers5, kMarkers6, kMarkers7};

/// The orientation of the lattice on the board: a quarter turn and a shift.
struct Lie {
  int quarter = 0, x = 0, y = 0;
  bool operator<(const Lie& o) const {
    return quarter != o.quarter ? quarter < o.quarter : x != o.x ? x < o.x : y < o.y;
  }
};

Place turned(int quarter, int i, int j) {
  switch (quarter) {
    case 0: return {i, j};
    case 1: return {-j, i};
    case 2: return {-i, -j};
    default: return {j, -i};
  }
}

/// Projective map of the unit square to the four corners (0,0) (1,0) (1,1) (0,1).
struct Square {
  double a, b, c, d, e, f, g, h;
  bool from(const Corner* const p[4]) {
    const double dx1 = p[1]->x - p[2]->x, dx2 = p[3]->x - p[2]->x, sx = p[0]->x - p[1]->x + p[2]->x - p[3]->x;
    const double dy1 = p[1]->y - p[2]->y, dy2 = p[3]->y - p[2]->y, sy = p[0]->y - p[1]->y + p[2]->y - p[3]->y;
    const double det = dx1 * dy2 - dx2 * dy1;
    if (!(std::fabs(det) > 1e-9)) return false;
    g = (sx * dy2 - dx2 * sy) / det;
    h = (dx1 * sy - sx * dy1) / det;
    a = p[1]->x - p[0]->x + g * p[1]->x;
    b = p[3]->x - p[0]->x + h * p[3]->x;
    c = p[0]->x;
    d = p[1]->y - p[0]->y + g * p[1]->y;
    e = p[3]->y - p[0]->y + h * p[3]->y;
    f = p[0]->y;
    return true;
  }
  double at(const Plane& image, double u, double v) const {
    const double w = g * u + h * v + 1;
    return image.at((a * u + b * v + c) / w, (d * u + e * v + f) / w);
  }
};

uint64_t quarterTurned(uint64_t bits, int n) {
  // Rotated by a quarter turn: row and column swap.
  uint64_t out = 0;
  for (int row = 0; row < n; ++row) {
    for (int column = 0; column < n; ++column) {
      const int from = (n - 1 - column) * n + row;
      out = out << 1 | (bits >> (n * n - 1 - from) & 1);
    }
  }
  return out;
}

/// Reads the bits of a marker in the field. Returns false if its frame is not dark.
bool readMarker(const Plane& image, const Square& square, int n, double share, uint64_t& bits) {
  double value[9 * 9];
  double low = 1e9, high = -1e9;
  const int cells = n + 2;
  for (int row = 0; row < cells; ++row) {
    for (int column = 0; column < cells; ++column) {
      double sum = 0;
      for (const double dv : {0.3, 0.5, 0.7}) {
        for (const double du : {0.3, 0.5, 0.7}) {
          sum +=
              square.at(image, 0.5 + share * ((column + du) / cells - 0.5), 0.5 + share * ((row + dv) / cells - 0.5));
        }
      }
      value[row * cells + column] = sum / 9;
      low = std::min(low, sum / 9);
      high = std::max(high, sum / 9);
    }
  }
  if (high - low < 15) return false;
  const double middle = (low + high) / 2;
  int bright = 0;
  bits = 0;
  for (int row = 0; row < cells; ++row) {
    for (int column = 0; column < cells; ++column) {
      const bool white = value[row * cells + column] > middle;
      const bool frame = row == 0 || column == 0 || row == cells - 1 || column == cells - 1;
      if (frame) bright += white ? 1 : 0;
      else bits = bits << 1 | (white ? 1 : 0);
    }
  }
  return bright <= 1;
}

/// Returns the places of the markers in the order of their numbers: the bright fields row by row. @param legacy boards
/// of OpenCV before 4.7 with an even number of rows start with a bright field
std::vector<Place> markerFields(int columns, int rows, bool legacy) {
  std::vector<Place> out;
  for (int y = 0; y < rows; ++y) {
    for (int x = 0; x < columns; ++x) {
      if ((x + y) % 2 == (legacy ? 0 : 1)) out.emplace_back(x, y);
    }
  }
  return out;
}

struct Reading {
  Lie lie;
  int votes = 0;
};

/// Every marker that is read votes for an orientation of the lattice.
Reading readLattice(const Plane& image, const Lattice& lattice, const BoardSpec& spec, bool legacy) {
  const int n = spec.dictionary + 4;
  const uint64_t* table = kTables[spec.dictionary];
  const std::vector<Place> fields = markerFields(spec.columns, spec.rows, legacy);
  const int known = std::min(static_cast<int>(fields.size()), kMarkersOfDictionary);
  std::map<Lie, int> votes;
  int all = 0;
  for (const auto& [place, corner] : lattice.corners) {
    const auto [i, j] = place;
    const Corner* const p[4] = {&corner, lattice.find(i + 1, j), lattice.find(i + 1, j + 1), lattice.find(i, j + 1)};
    if (p[1] == nullptr || p[2] == nullptr || p[3] == nullptr) continue;
    Square square;
    uint64_t bits;
    if (!square.from(p) || !readMarker(image, square, n, spec.markerShare, bits)) continue;
    for (int quarter = 0; quarter < 4; ++quarter) {
      for (int id = 0; id < known; ++id) {
        if (bits != table[id]) continue;
        // The middle of the field (i + 1/2, j + 1/2), rotated, is the middle of the board's field: in half steps.
        const Place middle = turned(quarter, 2 * i + 1, 2 * j + 1);
        const Lie lie{quarter, (2 * fields[static_cast<size_t>(id)].first + 1 - middle.first) / 2,
                      (2 * fields[static_cast<size_t>(id)].second + 1 - middle.second) / 2};
        ++votes[lie];
        ++all;
      }
      bits = quarterTurned(bits, n);
    }
  }
  Reading best;
  for (const auto& [lie, count] : votes) {
    if (count > best.votes) best = {lie, count};
  }
  // Random readings do not agree.
  if (best.votes < 2 || 2 * best.votes < all) best.votes = 0;
  return best;
}

/// Drops corners with at most one neighbour, which may be part of a marker.
void dropLoose(Lattice& lattice) {
  for (bool again = true; again;) {
    again = false;
    for (auto it = lattice.corners.begin(); it != lattice.corners.end();) {
      int neighbours = 0;
      for (const auto& [di, dj] : {Place{1, 0}, Place{-1, 0}, Place{0, 1}, Place{0, -1}}) {
        neighbours += lattice.find(it->first.first + di, it->first.second + dj) != nullptr ? 1 : 0;
      }
      again = again || neighbours < 2;
      it = neighbours < 2 ? lattice.corners.erase(it) : std::next(it);
    }
  }
}

}  // namespace

Detection detectCharuco(const Plane& image, const BoardSpec& spec) {
  Detection best;
  best.columns = spec.columns;
  best.rows = spec.rows;
  const int inner = spec.columns - 1, lines = spec.rows - 1;
  best.missing = inner * lines;
  if (spec.dictionary < 0 || spec.dictionary > 3 || !(spec.markerShare > 0.2 && spec.markerShare < 1)) return best;
  const int side = std::min(image.width, image.height);
  std::vector<int> scales = {0, 1, -1};
  if (side > 700) scales = {1, 0, 2};
  for (const int scale : scales) {
    for (Lattice& lattice : findLattices(image, scale, 4)) {
      Reading reading = readLattice(image, lattice, spec, false);
      if (reading.votes == 0 && spec.rows % 2 == 0) reading = readLattice(image, lattice, spec, true);
      if (reading.votes == 0) continue;
      Lattice own;
      std::map<Place, int> ids;
      for (const auto& [place, corner] : lattice.corners) {
        const Place turnedPlace = turned(reading.lie.quarter, place.first, place.second);
        const int x = turnedPlace.first + reading.lie.x, y = turnedPlace.second + reading.lie.y;
        if (x < 1 || y < 1 || x > inner || y > lines) continue;
        own.corners[place] = corner;
        ids[place] = (y - 1) * inner + x - 1;
      }
      // A window that reaches the markers next to the corner would be biased towards them.
      refineLattice(image, own, 0.45 * (1 - spec.markerShare));
      dropStrangers(own);
      dropLoose(own);
      if (own.corners.size() <= best.points.size()) continue;
      best.points.clear();
      for (const auto& [place, corner] : own.corners) best.points.push_back({ids[place], corner.x, corner.y});
      std::sort(best.points.begin(), best.points.end(),
                [](const BoardPoint& a, const BoardPoint& b) { return a.id < b.id; });
      best.missing = inner * lines - static_cast<int>(best.points.size());
      best.absence = Absence::kNone;
      measureBlur(image, own, best);
    }
    if (2 * static_cast<int>(best.points.size()) > inner * lines) break;
  }
  return best;
}

}  // namespace depthwatt::calibrate
