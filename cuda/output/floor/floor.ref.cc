// SPDX-License-Identifier: Apache-2.0
// The definition of the floor; see floor.h.
#include <vector>

#include "floor.h"

namespace depthwatt {
namespace {

using Wide = __int128;

struct Cell {
  bool known;
  int64_t x, y, d;
};

/// n / d to the nearest, halves up; d is not 0.
Wide rounded(Wide n, Wide d) {
  if (d < 0) n = -n, d = -d;
  const Wide twice = 2 * n + d, whole = twice / (2 * d);
  return twice % (2 * d) < 0 ? whole - 1 : whole;
}

int64_t clamped(Wide value, int64_t low, int64_t high) {
  return static_cast<int64_t>(value < low ? low : value > high ? high : value);
}

bool through(const Cell& p, const Cell& q, const Cell& s, FloorPlane* plane) {
  const Wide area = Wide{q.x - p.x} * (s.y - p.y) - Wide{q.y - p.y} * (s.x - p.x);
  if (area == 0) return false;
  plane->a =
      static_cast<int64_t>(rounded(65536 * (Wide{q.d - p.d} * (s.y - p.y) - Wide{s.d - p.d} * (q.y - p.y)), area));
  plane->b =
      static_cast<int64_t>(rounded(65536 * (Wide{s.d - p.d} * (q.x - p.x) - Wide{q.d - p.d} * (s.x - p.x)), area));
  plane->c = 65536 * p.d - plane->a * p.x - plane->b * p.y;
  return true;
}

int64_t scoreOf(const std::vector<Cell>& cells, const FloorPlane& plane) {
  int64_t score = 0;
  for (int32_t j = 0; j < kFloorRows; ++j) {
    for (int32_t i = 0; i < kFloorColumns; ++i) {
      const Cell& cell = cells[j * kFloorColumns + i];
      if (!cell.known) continue;
      const int64_t p = clamped(rounded(Wide{plane.a} * cell.x, 65536), -16000, 16000) +
                        clamped(rounded(Wide{plane.b} * cell.y + plane.c, 65536), -16000, 16000);
      if (p < 32) continue;
      const int64_t weight = int64_t{j / kFloorBand + 1} * (j / kFloorBand + 1), r = cell.d - p;
      if (r >= -16 && r <= 16) score += 4 * weight;
      if (r < -32) score -= weight;
    }
  }
  return score;
}

/// Least squares over the cells within `tolerance`, by Cramer's rule on the normal equations.
bool fit(const std::vector<Cell>& cells, int64_t tolerance, FloorPlane* plane) {
  Wide n = 0, sx = 0, sy = 0, sd = 0, sxx = 0, sxy = 0, syy = 0, sxd = 0, syd = 0;
  for (const Cell& cell : cells) {
    const int64_t p = plane->a * cell.x + plane->b * cell.y + plane->c, r = 65536 * cell.d - p;
    if (!cell.known || p < 32 * 65536 || r < -65536 * tolerance || r > 65536 * tolerance) continue;
    n += 1, sx += cell.x, sy += cell.y, sd += cell.d;
    sxx += cell.x * cell.x, sxy += cell.x * cell.y, syy += cell.y * cell.y;
    sxd += cell.x * cell.d, syd += cell.y * cell.d;
  }
  if (n < kFloorMinCells) return false;
  const Wide xx = n * sxx - sx * sx, xy = n * sxy - sx * sy, yy = n * syy - sy * sy;
  const Wide xd = n * sxd - sx * sd, yd = n * syd - sy * sd, determinant = xx * yy - xy * xy;
  if (determinant == 0) return false;
  plane->a = static_cast<int64_t>(rounded(65536 * (xd * yy - yd * xy), determinant));
  plane->b = static_cast<int64_t>(rounded(65536 * (yd * xx - xd * xy), determinant));
  plane->c = static_cast<int64_t>(rounded(65536 * sd - plane->a * sx - plane->b * sy, n));
  return true;
}

bool fitFloor(const FloorParameters& parameters, const std::vector<Cell>& cells, FloorPlane* plane) {
  for (const int64_t tolerance : {24, 16, 8, 8}) {
    if (!fit(cells, tolerance, plane) || !isFloor(parameters, *plane)) return false;
  }
  return true;
}

}  // namespace

FloorResult floorReference(const FloorParameters& parameters, ImageView<const int16_t> disparityQ4,
                           ImageView<const uint8_t> confidence) {
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  FloorResult result;
  std::vector<Cell> cells;
  for (int32_t j = 0; j < kFloorRows; ++j) {
    for (int32_t i = 0; i < kFloorColumns; ++i) {
      const int32_t x = (2 * i + 1) * width / 128, y = (2 * j + 1) * height / 96;
      const int16_t d = disparityQ4.row(y)[x];
      const bool known = d != kInvalidDisparity && d != kFloorUnknown && confidence.row(y)[x] != 0;
      cells.push_back({known, x - width / 2, y - height / 2, d});
      if (known) ++result.known;
    }
  }
  if (result.known < kFloorMinCells) return result;
  FloorPlane best = parameters.before;
  if (!parameters.onlyBefore) {
    int64_t highest = 0;
    uint32_t state = 1;
    for (int32_t candidate = 0; candidate < kFloorCandidates; ++candidate) {
      int32_t i[3], j[3];
      i[0] = static_cast<int32_t>(step(&state) % kFloorColumns);
      j[0] = static_cast<int32_t>(step(&state) % kFloorRows);
      for (int k = 1; k < 3; ++k) {
        i[k] = i[0] + static_cast<int32_t>(step(&state) % 33) - 16;
        j[k] = j[0] + static_cast<int32_t>(step(&state) % 25) - 12;
        i[k] = static_cast<int32_t>(clamped(i[k], 0, kFloorColumns - 1));
        j[k] = static_cast<int32_t>(clamped(j[k], 0, kFloorRows - 1));
      }
      const int32_t twice = (i[1] - i[0]) * (j[2] - j[0]) - (j[1] - j[0]) * (i[2] - i[0]);
      if (twice > -24 && twice < 24) continue;
      const Cell* corners[3];
      bool known = true;
      for (int k = 0; k < 3; ++k) {
        corners[k] = &cells[j[k] * kFloorColumns + i[k]];
        known = known && corners[k]->known;
      }
      FloorPlane plane;
      if (!known || !through(*corners[0], *corners[1], *corners[2], &plane) || !isFloor(parameters, plane)) continue;
      const int64_t score = scoreOf(cells, plane);
      if (score > highest && fitFloor(parameters, cells, &plane)) highest = score, best = plane;
    }
    FloorPlane before = parameters.before;
    const int64_t score = parameters.hasBefore ? 2 * scoreOf(cells, before) : 0;
    if (score > highest && fitFloor(parameters, cells, &before)) highest = score, best = before;
    result.outcome = FloorOutcome::kNoPlane;
    if (highest == 0) return result;
  }
  result.plane = best;
  int32_t lowest = 0, lowestOn = 0;
  for (size_t at = 0; at < cells.size(); ++at) {
    const Cell& cell = cells[at];
    const int64_t p = best.a * cell.x + best.b * cell.y + best.c, r = 65536 * cell.d - p;
    const bool isLowest = at >= size_t{42} * kFloorColumns;
    if (cell.known && isLowest) ++lowest;
    if (!cell.known || p < 32 * 65536) continue;
    ++result.under;
    if (isLowest && r >= -16 * 65536 && r <= 16 * 65536) ++lowestOn;
    if (r >= -16 * 65536 && r <= 16 * 65536) {
      ++result.on;
      const auto fine = static_cast<int64_t>(rounded(r, 16384));
      result.squares += fine * fine;
    }
    if (r < -32 * 65536) ++result.below;
  }
  if (result.on < kFloorMinCells) result.outcome = FloorOutcome::kFewCells;
  else if (result.below > result.on) result.outcome = FloorOutcome::kMoreBelow;
  else if (!parameters.hasBefore && 4 * lowestOn < lowest) result.outcome = FloorOutcome::kNotInFront;
  else result.outcome = FloorOutcome::kFound;
  return result;
}

}  // namespace depthwatt
