// SPDX-License-Identifier: Apache-2.0
// The fast form of the floor: all candidates are scored first, by vectors and on all workers; then the best ones are fitted.
#include "floor.h"

#include <algorithm>
#include <initializer_list>

namespace depthwatt {
namespace {

/// Returns n / d to the nearest, halves up; d > 0.
template <class Number>
Number nearest(Number n, Number d) {
  const Number twice = 2 * n + d, divisor = 2 * d;
  const Number whole = twice / divisor;
  return whole - (whole * divisor > twice ? 1 : 0);
}

struct Cells {
  alignas(64) int16_t d[kFloorCells];
  int32_t x[kFloorColumns], y[kFloorRows];
};

int32_t scoreOf(const Cells& cells, const FloorPlane& plane, FloorScore score) {
  alignas(64) int16_t columns[kFloorColumns];
  int16_t rows[kFloorRows];
  for (int32_t i = 0; i < kFloorColumns; ++i) columns[i] = static_cast<int16_t>(floorSixteenths(plane.a * cells.x[i]));
  for (int32_t j = 0; j < kFloorRows; ++j)
    rows[j] = static_cast<int16_t>(floorSixteenths(plane.b * cells.y[j] + plane.c));
  return score(cells.d, columns, rows);
}

/// Calls body(column, row, d, r, counts) for each cell; counts: it is known, with p of 2 px or more.
template <class Body>
void eachCell(const Cells& cells, const FloorPlane& plane, Body&& body) {
  for (int32_t j = 0; j < kFloorRows; ++j) {
    const int64_t base = plane.b * cells.y[j] + plane.c;
    for (int32_t i = 0; i < kFloorColumns; ++i) {
      const int64_t d = cells.d[j * kFloorColumns + i], p = base + plane.a * cells.x[i];
      body(i, j, d, d * 65536 - p, (d != kFloorUnknown) & (p >= 32 * 65536));
    }
  }
}

bool refit(const Cells& cells, int64_t tolerance, FloorPlane* plane) {
  int64_t n = 0, sx = 0, sy = 0, sd = 0, sxx = 0, sxy = 0, syy = 0, sxd = 0, syd = 0;
  int64_t rowN = 0, rowX = 0, rowD = 0;
  // Without branches: at the border of the floor they are wrong too often.
  eachCell(cells, *plane, [&](int32_t i, int32_t j, int64_t d, int64_t r, bool counts) {
    const bool near = counts & (r >= -65536 * tolerance) & (r <= 65536 * tolerance);
    const int64_t mask = -int64_t{near}, x = cells.x[i] & mask, own = d & mask;
    rowN += near, rowX += x, rowD += own;
    sxx += x * x, sxd += x * own;
    if (i + 1 < kFloorColumns) return;
    const int64_t y = cells.y[j];
    n += rowN, sx += rowX, sd += rowD;
    sy += y * rowN, sxy += y * rowX, syy += y * y * rowN, syd += y * rowD;
    rowN = rowX = rowD = 0;
  });
  if (n < kFloorMinCells) return false;
  using Wide = __int128;
  const Wide xx = n * sxx - sx * sx, xy = n * sxy - sx * sy, yy = n * syy - sy * sy;
  const Wide xd = n * sxd - sx * sd, yd = n * syd - sy * sd, determinant = xx * yy - xy * xy;
  if (determinant == 0) return false;  // it is never negative (Cauchy and Schwarz)
  plane->a = static_cast<int64_t>(nearest<Wide>((xd * yy - yd * xy) * 65536, determinant));
  plane->b = static_cast<int64_t>(nearest<Wide>((yd * xx - xd * xy) * 65536, determinant));
  plane->c = static_cast<int64_t>(nearest<Wide>(Wide{sd} * 65536 - Wide{plane->a} * sx - Wide{plane->b} * sy, n));
  return true;
}

bool fit(const FloorParameters& parameters, const Cells& cells, FloorPlane* plane) {
  for (const int64_t tolerance : {24, 16, 8, 8}) {
    if (!refit(cells, tolerance, plane) || !isFloor(parameters, *plane)) return false;
  }
  return true;
}

/// Returns whether a candidate was a floor.
bool vote(const FloorParameters& parameters, const Cells& cells, FloorScore score, Workers& workers, FloorPlane* best) {
  static const std::vector<FloorCandidate> candidates = floorCandidates();
  const auto count = static_cast<int32_t>(candidates.size());
  FloorPlane planes[kFloorCandidates + 1];
  int32_t scores[kFloorCandidates + 1] = {};
  workers.rows(count, [&](int32_t first, int32_t end) {
    for (int32_t at = first; at < end; ++at) {
      const FloorCandidate& candidate = candidates[static_cast<size_t>(at)];
      int64_t x[3], y[3], d[3];
      bool known = true;
      for (int k = 0; k < 3; ++k) {
        x[k] = cells.x[candidate.i[k]], y[k] = cells.y[candidate.j[k]];
        d[k] = cells.d[candidate.j[k] * kFloorColumns + candidate.i[k]];
        known = known && d[k] != kFloorUnknown;
      }
      if (known && planeThrough(x, y, d, &planes[at]) && isFloor(parameters, planes[at]))
        scores[at] = scoreOf(cells, planes[at], score);
    }
  });
  if (parameters.hasBefore) {
    planes[count] = parameters.before;
    scores[count] = 2 * scoreOf(cells, parameters.before, score);
  }
  for (;;) {
    const auto at = std::max_element(scores, scores + count + 1) - scores;
    if (scores[at] <= 0) return false;
    *best = planes[at];
    if (fit(parameters, cells, best)) return true;
    scores[at] = 0;
  }
}

}  // namespace

FloorResult findFloor(const FloorParameters& parameters, ImageView<const int16_t> disparityQ4,
                      ImageView<const uint8_t> confidence, FloorScore score, Workers& workers) {
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  Cells cells;
  FloorResult result;
  for (int32_t i = 0; i < kFloorColumns; ++i) cells.x[i] = cellX(i, width);
  for (int32_t j = 0; j < kFloorRows; ++j) {
    cells.y[j] = cellY(j, height);
    const int16_t* row = disparityQ4.row(cells.y[j] + height / 2) + width / 2;
    const uint8_t* sure = confidence.row(cells.y[j] + height / 2) + width / 2;
    for (int32_t i = 0; i < kFloorColumns; ++i) {
      const int32_t x = cells.x[i];
      const bool known = row[x] != kInvalidDisparity && row[x] != kFloorUnknown && sure[x] != 0;
      cells.d[j * kFloorColumns + i] = known ? row[x] : kFloorUnknown;
      result.known += known;
    }
  }
  if (result.known < kFloorMinCells) return result;
  result.plane = parameters.before;
  if (!parameters.onlyBefore) {
    result.outcome = FloorOutcome::kNoPlane;
    result.plane = {};
    FloorPlane plane;
    if (!vote(parameters, cells, score, workers, &plane)) return result;
    result.plane = plane;
  }
  constexpr int32_t kLowest = kFloorRows - kFloorBand;
  int32_t lowest = 0, lowestOn = 0;
  for (int32_t at = kLowest * kFloorColumns; at < kFloorCells; ++at) lowest += cells.d[at] != kFloorUnknown;
  eachCell(cells, result.plane, [&](int32_t, int32_t j, int64_t, int64_t r, bool counts) {
    const bool isOn = counts & (r >= -16 * 65536) & (r <= 16 * 65536);
    result.under += counts;
    result.below += counts & (r < -32 * 65536);
    result.on += isOn;
    lowestOn += isOn & (j >= kLowest);
    const int64_t fine = ((r + 8192) >> 14) & -int64_t{isOn};
    result.squares += fine * fine;
  });
  result.outcome = FloorOutcome::kFound;
  if (!parameters.hasBefore && 4 * lowestOn < lowest) result.outcome = FloorOutcome::kNotInFront;
  if (result.below > result.on) result.outcome = FloorOutcome::kMoreBelow;
  if (result.on < kFloorMinCells) result.outcome = FloorOutcome::kFewCells;
  return result;
}

}  // namespace depthwatt
