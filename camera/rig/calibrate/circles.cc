// SPDX-License-Identifier: Apache-2.0
// Finds boards of asymmetric circles, dark on bright: round spots, their centres of darkness, and their slanted
// lattice.
#include <algorithm>
#include <cmath>
#include <deque>

#include "board.h"

namespace depthwatt::calibrate {
namespace {

constexpr float kLeastStep = 10;  ///< grey levels by which a spot is darker than its surroundings

struct Spot {
  double x = 0, y = 0;
  double radius = 0;
};

/// Returns the mean over a window of 2 * radius + 1 pixels, by running sums.
Plane windowMean(const Plane& in, int radius) {
  const int w = in.width, h = in.height;
  std::vector<double> sums(static_cast<size_t>(w + 1) * (h + 1), 0.0);
  const auto at = [&](int x, int y) -> double& { return sums[static_cast<size_t>(y) * (w + 1) + x]; };
  for (int y = 0; y < h; ++y) {
    double line = 0;
    const float* row = in.row(y);
    for (int x = 0; x < w; ++x) {
      line += row[x];
      at(x + 1, y + 1) = at(x + 1, y) + line;
    }
  }
  Plane out(w, h);
  for (int y = 0; y < h; ++y) {
    const int y0 = std::max(y - radius, 0), y1 = std::min(y + radius + 1, h);
    float* to = out.row(y);
    for (int x = 0; x < w; ++x) {
      const int x0 = std::max(x - radius, 0), x1 = std::min(x + radius + 1, w);
      to[x] = static_cast<float>((at(x1, y1) - at(x0, y1) - at(x1, y0) + at(x0, y0)) / ((x1 - x0) * (y1 - y0)));
    }
  }
  return out;
}

std::vector<Spot> findSpots(const Plane& image, int radius) {
  const int w = image.width, h = image.height;
  const Plane mean = windowMean(image, radius);
  std::vector<uint8_t> dark(image.data.size());
  for (size_t i = 0; i < dark.size(); ++i) dark[i] = image.data[i] < mean.data[i] - kLeastStep ? 1 : 0;
  std::vector<Spot> out;
  std::vector<int> stack;
  std::vector<int> members;
  const size_t largest = static_cast<size_t>(w) * h / 30;
  for (int start = 0; start < w * h; ++start) {
    if (dark[static_cast<size_t>(start)] != 1) continue;
    stack.assign(1, start);
    members.clear();
    dark[static_cast<size_t>(start)] = 2;
    bool touches = false;
    while (!stack.empty()) {
      const int at = stack.back();
      stack.pop_back();
      members.push_back(at);
      const int x = at % w, y = at / w;
      touches = touches || x == 0 || y == 0 || x == w - 1 || y == h - 1;
      const bool within[4] = {x > 0, x < w - 1, y > 0, y < h - 1};
      const int neighbours[4] = {at - 1, at + 1, at - w, at + w};
      for (int k = 0; k < 4; ++k) {
        const int next = neighbours[k];
        if (!within[k] || dark[static_cast<size_t>(next)] != 1) continue;
        dark[static_cast<size_t>(next)] = 2;
        stack.push_back(next);
      }
    }
    if (touches || members.size() < 12 || members.size() > largest) continue;
    double sx = 0, sy = 0;
    for (const int at : members) {
      sx += at % w;
      sy += at / w;
    }
    const double n = static_cast<double>(members.size());
    const double mx = sx / n, my = sy / n;
    double xx = 1.0 / 12, xy = 0, yy = 1.0 / 12;
    for (const int at : members) {
      const double dx = at % w - mx, dy = at / w - my;
      xx += dx * dx / n;
      xy += dx * dy / n;
      yy += dy * dy / n;
    }
    const double det = xx * yy - xy * xy;
    if (!(det > 0)) continue;
    // A full ellipse covers 4 pi times the root of its covariance's determinant.
    const double fullness = n / (4 * 3.14159265358979 * std::sqrt(det));
    const double middle = (xx + yy) / 2, apart = std::sqrt(std::max(middle * middle - det, 0.0));
    if (fullness < 0.88 || fullness > 1.12 || middle + apart > 16 * (middle - apart)) continue;
    // The centre by darkness, over the spot and a margin for its blur; the bright level is that outside the margin.
    const double reach = 2 * std::sqrt(middle + apart) + 3;
    const int x0 = std::max(static_cast<int>(mx - reach), 0), x1 = std::min(static_cast<int>(mx + reach) + 1, w - 1);
    const int y0 = std::max(static_cast<int>(my - reach), 0), y1 = std::min(static_cast<int>(my + reach) + 1, h - 1);
    const auto normalised = [&](double dx, double dy) {
      return std::sqrt((yy * dx * dx - 2 * xy * dx * dy + xx * dy * dy) / det);
    };
    // In units of the ellipse's half axis, which is 2 deviations.
    const double rim = 2 + 2.5 / std::sqrt(std::max(middle - apart, 1.0));
    double bright = 0, brights = 0;
    for (int y = y0; y <= y1; ++y) {
      for (int x = x0; x <= x1; ++x) {
        const double r = normalised(x - mx, y - my);
        if (r < rim || r > rim + 1) continue;
        bright += image.row(y)[x];
        ++brights;
      }
    }
    if (brights < 4) continue;
    bright /= brights;
    double weight = 0, cx = 0, cy = 0;
    for (int y = y0; y <= y1; ++y) {
      for (int x = x0; x <= x1; ++x) {
        if (normalised(x - mx, y - my) > rim) continue;
        const double darkness = bright - image.row(y)[x];
        weight += darkness;
        cx += darkness * x;
        cy += darkness * y;
      }
    }
    if (!(weight > 0)) continue;
    Spot spot{cx / weight, cy / weight, std::sqrt(n / 3.14159265358979)};
    if (std::hypot(spot.x - mx, spot.y - my) > 0.3 * spot.radius + 0.5) continue;
    out.push_back(spot);
  }
  return out;
}

/// Returns the lattice that grows from one spot along its two nearest neighbours.
Lattice grow(const std::vector<Spot>& spots, size_t seed, size_t firstAt, size_t secondAt) {
  Lattice lattice;
  std::vector<bool> taken(spots.size(), false);
  struct Node {
    int i, j;
    size_t spot;
    double ax, ay, bx, by;  ///< steps of growing i and j
  };
  const auto corner = [&](size_t at) {
    Corner out;
    out.x = spots[at].x;
    out.y = spots[at].y;
    out.strength = 1;
    return out;
  };
  std::deque<Node> queue;
  queue.push_back({0, 0, seed, spots[firstAt].x - spots[seed].x, spots[firstAt].y - spots[seed].y,
                   spots[secondAt].x - spots[seed].x, spots[secondAt].y - spots[seed].y});
  lattice.corners[{0, 0}] = corner(seed);
  taken[seed] = true;
  while (!queue.empty()) {
    const Node node = queue.front();
    queue.pop_front();
    for (const auto& [di, dj] : {Place{1, 0}, Place{-1, 0}, Place{0, 1}, Place{0, -1}}) {
      const Place place{node.i + di, node.j + dj};
      if (lattice.corners.count(place) != 0) continue;
      const double sx = di * node.ax + dj * node.bx, sy = di * node.ay + dj * node.by;
      const double px = spots[node.spot].x + sx, py = spots[node.spot].y + sy;
      size_t best = spots.size();
      double nearest = 0.35 * std::hypot(sx, sy);
      for (size_t k = 0; k < spots.size(); ++k) {
        const double distance = std::hypot(spots[k].x - px, spots[k].y - py);
        if (taken[k] || distance >= nearest) continue;
        if (spots[k].radius > 1.6 * spots[node.spot].radius || spots[node.spot].radius > 1.6 * spots[k].radius)
          continue;
        nearest = distance;
        best = k;
      }
      if (best == spots.size()) continue;
      taken[best] = true;
      lattice.corners[place] = corner(best);
      Node next = node;
      next.i = place.first;
      next.j = place.second;
      next.spot = best;
      const double fx = (spots[best].x - spots[node.spot].x) * (di + dj),
                   fy = (spots[best].y - spots[node.spot].y) * (di + dj);
      (di != 0 ? next.ax : next.bx) = fx;
      (di != 0 ? next.ay : next.by) = fy;
      queue.push_back(next);
    }
  }
  return lattice;
}

/// (column, row) in OpenCV's grid of a diagonal place: x = i + j and y = i - j count half distances and rows.
struct Placement {
  int missing = 1 << 20;
  double score = 0;
  std::vector<BoardPoint> points;
};

Placement placeGrid(const Lattice& lattice, int columns, int rows) {
  Placement best;
  best.missing = columns * rows;
  for (int quarter = 0; quarter < 4; ++quarter) {
    std::map<Place, const Corner*> byXy;
    int x0 = 1 << 20, y0 = 1 << 20, x1 = -(1 << 20), y1 = -(1 << 20);
    for (const auto& [place, corner] : lattice.corners) {
      int x = place.first + place.second, y = place.first - place.second;
      for (int k = 0; k < quarter; ++k) {
        const int turnedX = -y;
        y = x;
        x = turnedX;
      }
      byXy[{x, y}] = &corner;
      x0 = std::min(x0, x);
      x1 = std::max(x1, x);
      y0 = std::min(y0, y);
      y1 = std::max(y1, y);
    }
    const int wide = 2 * columns - 1;
    for (int ox = std::min(x0, x1 - wide); ox <= std::max(x0, x1 - wide); ++ox) {
      for (int oy = std::min(y0, y1 - rows + 1); oy <= std::max(y0, y1 - rows + 1); ++oy) {
        Placement here;
        here.missing = 0;
        for (int row = 0; row < rows; ++row) {
          for (int column = 0; column < columns; ++column) {
            const auto found = byXy.find({ox + 2 * column + row % 2, oy + row});
            if (found == byXy.end()) ++here.missing;
            else here.points.push_back({row * columns + column, found->second->x, found->second->y});
          }
        }
        if (here.missing > best.missing || here.points.size() < 2) continue;
        // A grid of an even number of rows looks the same from its other end, so the first row's direction decides.
        const BoardPoint& a = here.points.front();
        const BoardPoint& b = here.points[1];
        here.score = 2 + std::cos(std::atan2(b.y - a.y, b.x - a.x));
        if (here.missing == best.missing && here.score <= best.score) continue;
        best = std::move(here);
      }
    }
  }
  return best;
}

}  // namespace

Detection detectCircles(const Plane& image, const BoardSpec& spec) {
  Detection out;
  out.columns = spec.columns;
  out.rows = spec.rows;
  out.missing = spec.columns * spec.rows;
  const int side = std::min(image.width, image.height);
  for (const int share : {10, 5, 24}) {
    const std::vector<Spot> spots = findSpots(image, std::max(side / share, 5));
    if (spots.size() < 6) continue;
    int tries = 0;
    for (size_t seed = 0; seed < spots.size() && tries < 40; ++seed) {
      std::vector<std::pair<double, size_t>> near;
      for (size_t k = 0; k < spots.size(); ++k) {
        if (k != seed) near.emplace_back(std::hypot(spots[k].x - spots[seed].x, spots[k].y - spots[seed].y), k);
      }
      std::sort(near.begin(), near.end());
      const size_t many = std::min<size_t>(near.size(), 6);
      for (size_t p = 0; p < many; ++p) {
        for (size_t q = 0; q < many; ++q) {
          if (p == q) continue;
          const Spot &s = spots[seed], &a = spots[near[p].second], &b = spots[near[q].second];
          const double turn = (a.x - s.x) * (b.y - s.y) - (a.y - s.y) * (b.x - s.x);
          // i is (1, 1) and j (1, -1) on the board, whose y points down: j precedes i.
          const double sine = -turn / (near[p].first * near[q].first);
          if (sine < 0.35) continue;
          ++tries;
          const Lattice lattice = grow(spots, seed, near[p].second, near[q].second);
          if (lattice.corners.size() < 6) continue;
          const Placement here = placeGrid(lattice, spec.columns, spec.rows);
          if (here.missing >= out.missing) continue;
          out.missing = here.missing;
          out.absence = here.missing == 0 ? Absence::kNone : Absence::kIncomplete;
          out.points = here.missing == 0 ? here.points : std::vector<BoardPoint>{};
          if (here.missing == 0) return out;
        }
      }
    }
  }
  return out;
}

}  // namespace depthwatt::calibrate
