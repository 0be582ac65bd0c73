// SPDX-License-Identifier: Apache-2.0
// The fast form of the floor: the same candidates and fit as the definition, with votes by vectors.
#include "floor.h"

#include <initializer_list>

namespace depthwatt {
namespace {

/// Returns floor((n + d / 2) / d) for d a power of two.
template <int bits>
int64_t shifted(int64_t n) {
  return (n + (int64_t{1} << (bits - 1))) >> bits;
}

/// Returns n / d to the nearest, halves up; d > 0.
template <class Number>
Number nearest(Number n, Number d) {
  const Number twice = 2 * n + d, divisor = 2 * d;
  const Number whole = twice / divisor;
  return whole - (whole * divisor > twice ? 1 : 0);
}

int16_t sixteenths(int64_t value) {
  const int64_t q = shifted<16>(value);
  return static_cast<int16_t>(q < -16000 ? -16000 : q > 16000 ? 16000 : q);
}

struct Cells {
  alignas(64) int16_t d[kFloorCells];
  int32_t x[kFloorColumns], y[kFloorRows];
  int32_t known = 0;
};

int64_t scoreOf(const Cells& cells, const FloorPlane& plane, FloorScore score) {
  alignas(64) int16_t columns[kFloorColumns];
  int16_t rows[kFloorRows];
  for (int32_t i = 0; i < kFloorColumns; ++i) columns[i] = sixteenths(plane.a * cells.x[i]);
  for (int32_t j = 0; j < kFloorRows; ++j) rows[j] = sixteenths(plane.b * cells.y[j] + plane.c);
  return score(cells.d, columns, rows);
}

/// Calls body(column, row, d, r) for each known cell with p of 2 px or more.
template <class Body>
void eachUnder(const Cells& cells, const FloorPlane& plane, Body&& body) {
  for (int32_t j = 0; j < kFloorRows; ++j) {
    const int64_t base = plane.b * cells.y[j] + plane.c;
    for (int32_t i = 0; i < kFloorColumns; ++i) {
      const int16_t d = cells.d[j * kFloorColumns + i];
      const int64_t p = base + plane.a * cells.x[i];
      if (d != kFloorUnknown && p >= 32 * 65536) body(i, j, d, int64_t{d} * 65536 - p);
    }
  }
}

bool refit(const Cells& cells, int64_t tolerance, FloorPlane* plane) {
  int64_t n = 0, sx = 0, sy = 0, sd = 0, sxx = 0, sxy = 0, syy = 0, sxd = 0, syd = 0;
  eachUnder(cells, *plane, [&](int32_t i, int32_t j, int64_t d, int64_t r) {
    if (r < -65536 * tolerance || r > 65536 * tolerance) return;
    const int64_t x = cells.x[i], y = cells.y[j];
    ++n, sx += x, sy += y, sd += d;
    sxx += x * x, sxy += x * y, syy += y * y, sxd += x * d, syd += y * d;
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

int32_t clampTo(int32_t value, int32_t end) { return value < 0 ? 0 : value >= end ? end - 1 : value; }

/// Returns whether a candidate was a floor.
bool vote(const FloorParameters& parameters, const Cells& cells, FloorScore score, FloorPlane* best) {
  int64_t highest = 0;
  const auto consider = [&](FloorPlane plane, int64_t times) {
    const int64_t found = times * scoreOf(cells, plane, score);
    if (found > highest && fit(parameters, cells, &plane)) highest = found, *best = plane;
  };
  uint32_t state = 1;
  for (int32_t candidate = 0; candidate < kFloorCandidates; ++candidate) {
    int32_t i[3], j[3];
    i[0] = static_cast<int32_t>(step(&state) % kFloorColumns), j[0] = static_cast<int32_t>(step(&state) % kFloorRows);
    for (int k = 1; k < 3; ++k) {
      i[k] = clampTo(i[0] - 16 + static_cast<int32_t>(step(&state) % 33), kFloorColumns);
      j[k] = clampTo(j[0] - 12 + static_cast<int32_t>(step(&state) % 25), kFloorRows);
    }
    const int32_t twice = (i[1] - i[0]) * (j[2] - j[0]) - (j[1] - j[0]) * (i[2] - i[0]);
    if (twice > -24 && twice < 24) continue;
    const auto disparity = [&](int k) { return cells.d[j[k] * kFloorColumns + i[k]]; };
    const int64_t d0 = disparity(0), d1 = disparity(1), d2 = disparity(2);
    if (d0 == kFloorUnknown || d1 == kFloorUnknown || d2 == kFloorUnknown) continue;
    const int64_t x0 = cells.x[i[0]], y0 = cells.y[j[0]];
    const int64_t ux = cells.x[i[1]] - x0, uy = cells.y[j[1]] - y0, vx = cells.x[i[2]] - x0, vy = cells.y[j[2]] - y0;
    const int64_t area = ux * vy - uy * vx, sign = area < 0 ? -1 : 1;
    if (area == 0) continue;  // in images smaller than the cells
    FloorPlane plane;
    plane.a = nearest<int64_t>(sign * 65536 * ((d1 - d0) * vy - (d2 - d0) * uy), sign * area);
    plane.b = nearest<int64_t>(sign * 65536 * ((d2 - d0) * ux - (d1 - d0) * vx), sign * area);
    plane.c = 65536 * d0 - plane.a * x0 - plane.b * y0;
    if (isFloor(parameters, plane)) consider(plane, 1);
  }
  if (parameters.hasBefore) consider(parameters.before, 2);
  return highest > 0;
}

}  // namespace

FloorResult findFloor(const FloorParameters& parameters, ImageView<const int16_t> disparityQ4,
                      ImageView<const uint8_t> confidence, FloorScore score) {
  const int32_t width = disparityQ4.width, height = disparityQ4.height;
  Cells cells;
  for (int32_t i = 0; i < kFloorColumns; ++i) cells.x[i] = (2 * i + 1) * width / 128;
  for (int32_t j = 0; j < kFloorRows; ++j) {
    const int32_t y = (2 * j + 1) * height / 96;
    const int16_t* row = disparityQ4.row(y);
    const uint8_t* sure = confidence.row(y);
    for (int32_t i = 0; i < kFloorColumns; ++i) {
      const int32_t x = cells.x[i];
      const bool known = row[x] != kInvalidDisparity && sure[x] != 0;
      cells.d[j * kFloorColumns + i] = known ? row[x] : kFloorUnknown;
      cells.known += known;
    }
    cells.y[j] = y - height / 2;
  }
  for (int32_t& x : cells.x) x -= width / 2;
  FloorResult result;
  result.known = cells.known;
  if (result.known < kFloorMinCells) return result;
  result.plane = parameters.before;
  if (!parameters.onlyBefore) {
    result.outcome = FloorOutcome::kNoPlane;
    FloorPlane plane;
    const bool found = vote(parameters, cells, score, &plane);
    result.plane = plane;
    if (!found) return result;
  }
  constexpr int32_t kLowest = kFloorRows - kFloorBand;
  int32_t lowest = 0, lowestOn = 0;
  for (int32_t at = kLowest * kFloorColumns; at < kFloorCells; ++at) lowest += cells.d[at] != kFloorUnknown;
  eachUnder(cells, result.plane, [&](int32_t, int32_t j, int64_t, int64_t r) {
    ++result.under;
    result.below += r < -32 * 65536;
    if (r < -16 * 65536 || r > 16 * 65536) return;
    ++result.on;
    lowestOn += j >= kLowest;
    const int64_t fine = shifted<14>(r);
    result.squares += fine * fine;
  });
  result.outcome = FloorOutcome::kFound;
  if (!parameters.hasBefore && 4 * lowestOn < lowest) result.outcome = FloorOutcome::kNotInFront;
  if (result.below > result.on) result.outcome = FloorOutcome::kMoreBelow;
  if (result.on < kFloorMinCells) result.outcome = FloorOutcome::kFewCells;
  return result;
}

}  // namespace depthwatt
