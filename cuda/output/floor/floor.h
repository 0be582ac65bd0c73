// SPDX-License-Identifier: Apache-2.0
// Finds the plane of the floor in a disparity map by votes. A plane in space is a plane in disparity:
//   a x + b y + c = disparityQ4 * 65536     x, y in pixels from (width / 2, height / 2), both divisions rounding down
// cells      64 x 48. Cell (i, j) is the pixel ((2 i + 1) width / 128, (2 j + 1) height / 96), rounded down. It is known if it has
//            a disparity and its confidence is not 0, so filled pixels do not count.
// candidates 512, each through three cells: step() below gives i, j of the first one, then the offsets of the second and the
//            third one, -16 to 16 columns and -12 to 12 rows, clamped to the cells. Dropped: a cell is unknown; the triangle is
//            smaller than 12 cells; the plane is no floor (isFloor).
// votes      A(i) = round(a x), B(j) = round(b y + c), in sixteenths, clamped to +-16000; p = A + B; r = disparity - p. A
//            cell with p >= 32 is on the plane if |r| <= 16, and below it if r < -32. A row j counts (j / 6 + 1)^2 times, because
//            the floor in front of the cameras is low in the image. score = 4 on - below.
// fit        a candidate whose score is above the best one's so far, 0 at first, is fitted: four rounds of least squares
//            over the cells with |r| <= 24, 16, 8, 8 sixteenths, r now not rounded, and p >= 32. Without 154 cells that
//            are not on a line, or if its plane is no floor, the candidate is dropped. Otherwise it is the best one.
//            Equally: of the candidates with a score above 0 whose fit succeeds, the one with the largest score; ties go to
//            the earlier one.
// before     the filtered floor is the last candidate, with twice its score: it stays while its pixels do.
// over time  followFloor(): a new floor moves the filtered one by a quarter of the difference, rounded, halves up; without one it
//            is kept for kFloorKeptFrames.
// Divisions round to the nearest, halves up. Integers only.   same bits on every backend.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "../../../core/image.h"
#include "../../../core/workers.h"
#include "../../geometry.h"

#ifdef __CUDACC__
#define DEPTHWATT_FLOOR_BOTH __host__ __device__
#else
#define DEPTHWATT_FLOOR_BOTH
#endif

namespace depthwatt {

constexpr int32_t kFloorColumns = 64, kFloorRows = 48, kFloorCells = kFloorColumns * kFloorRows;
constexpr int32_t kFloorBand = 6;  ///< rows of cells that count alike
constexpr int32_t kFloorCandidates = 512;
/// Cells that a floor needs: a twentieth.
constexpr int32_t kFloorMinCells = 154;
/// A cell without a disparity, where cells are counted: above every plane. Larger than every disparity of the engine.
constexpr int16_t kFloorUnknown = 32767;

/// Frames for which a floor that is not seen any more is kept.
constexpr int32_t kFloorKeptFrames = 60;
/// A floor whose disparity in the lowest row is smaller cannot be separated from other levels: pixels on it may be 1 px off.
constexpr int64_t kFloorLeastPixels = 20;

/// Limits of a floor: roll within 26.6 degrees, pitch from -26.6 to 63.4, height from 0.05 to about 5 m.
struct FloorParameters {
  int32_t focalPixels = 0;                            ///< rounded, 1 or more
  int32_t centreX = 0, centreY = 0;                   ///< principal point, rounded, from the same origin as x and y
  int32_t offsetQ4 = 0;                               ///< cx_right - cx_left in sixteenths, rounded
  int64_t lowestSlope = 1, highestSlope = INT64_MAX;  ///< of b: 16 * 65536 baseline / height, at 10 m and 0.05 m
  bool hasBefore = false;
  bool onlyBefore = false;  ///< counts the cells of `before` without votes and without a fit: a floor that was set
  FloorPlane before;
};

/// @param width, height of the disparity map
inline FloorParameters makeFloorParameters(const FloorSettings& settings, int32_t width, int32_t height) {
  const auto rounded = [](double value, double low, double high) {
    const double whole = std::floor(value + 0.5);
    return static_cast<int32_t>(whole < low ? low : whole > high ? high : whole);
  };
  FloorParameters p;
  p.focalPixels = rounded(settings.focalPixels, 1, 100000);
  p.centreX = rounded(settings.cx, -100000, 100000) - width / 2;
  p.centreY = rounded(settings.cy, -100000, 100000) - height / 2;
  p.offsetQ4 = rounded(16 * settings.disparityOffsetPixels, -100000, 100000);
  const double metre = 16 * 65536 * settings.baselineMetres;
  p.lowestSlope = static_cast<int64_t>(metre / 10) + 1;
  p.highestSlope = static_cast<int64_t>(metre / 0.05) + 1;
  p.hasBefore = p.onlyBefore = settings.isSet;
  if (settings.isSet) p.before = settings.plane;
  return p;
}

/// Returns whether a plane can be the floor under the cameras.
DEPTHWATT_FLOOR_BOTH inline bool isFloor(const FloorParameters& p, const FloorPlane& plane) {
  const int64_t ahead = plane.c + plane.a * p.centreX + plane.b * p.centreY + int64_t{p.offsetQ4} * 65536;
  const int64_t down = plane.b * p.focalPixels, aside = plane.a < 0 ? -plane.a : plane.a;
  return plane.b >= p.lowestSlope && plane.b <= p.highestSlope && 2 * aside <= plane.b && -2 * ahead <= down &&
         ahead <= 2 * down;
}

/// Steps the sequence that chooses cells; starts at 1. @returns 0 to 65535
inline uint32_t step(uint32_t* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 16;
}

/// The cells of a candidate.
struct FloorCandidate {
  uint8_t i[3], j[3];
};

/// Returns the candidates in their order, without those whose triangle is too small.
inline std::vector<FloorCandidate> floorCandidates() {
  std::vector<FloorCandidate> candidates;
  const auto clamp = [](int32_t value, int32_t end) { return value < 0 ? 0 : value >= end ? end - 1 : value; };
  uint32_t state = 1;
  for (int32_t candidate = 0; candidate < kFloorCandidates; ++candidate) {
    int32_t i[3], j[3];
    i[0] = static_cast<int32_t>(step(&state) % kFloorColumns), j[0] = static_cast<int32_t>(step(&state) % kFloorRows);
    for (int k = 1; k < 3; ++k) {
      i[k] = clamp(i[0] - 16 + static_cast<int32_t>(step(&state) % 33), kFloorColumns);
      j[k] = clamp(j[0] - 12 + static_cast<int32_t>(step(&state) % 25), kFloorRows);
    }
    const int32_t twice = (i[1] - i[0]) * (j[2] - j[0]) - (j[1] - j[0]) * (i[2] - i[0]);
    if (twice > -24 && twice < 24) continue;
    FloorCandidate kept;
    for (int k = 0; k < 3; ++k) kept.i[k] = static_cast<uint8_t>(i[k]), kept.j[k] = static_cast<uint8_t>(j[k]);
    candidates.push_back(kept);
  }
  return candidates;
}

/// Returns n / d to the nearest, halves up; d > 0.
DEPTHWATT_FLOOR_BOTH inline int64_t nearestQuotient(int64_t n, int64_t d) {
  const int64_t twice = 2 * n + d, divisor = 2 * d, whole = twice / divisor;
  return whole - (whole * divisor > twice ? 1 : 0);
}

/// Finds the plane through three points. @return false if they are on a line, as in images smaller than the cells
DEPTHWATT_FLOOR_BOTH inline bool planeThrough(const int64_t x[3], const int64_t y[3], const int64_t d[3],
                                              FloorPlane* plane) {
  const int64_t ux = x[1] - x[0], uy = y[1] - y[0], vx = x[2] - x[0], vy = y[2] - y[0];
  const int64_t area = ux * vy - uy * vx, sign = area < 0 ? -1 : 1;
  if (area == 0) return false;
  plane->a = nearestQuotient(sign * 65536 * ((d[1] - d[0]) * vy - (d[2] - d[0]) * uy), sign * area);
  plane->b = nearestQuotient(sign * 65536 * ((d[2] - d[0]) * ux - (d[1] - d[0]) * vx), sign * area);
  plane->c = 65536 * d[0] - plane->a * x[0] - plane->b * y[0];
  return true;
}

/// Returns the column or row of pixels of a cell, from the middle of the image.
DEPTHWATT_FLOOR_BOTH inline int32_t cellX(int32_t i, int32_t width) { return (2 * i + 1) * width / 128 - width / 2; }
DEPTHWATT_FLOOR_BOTH inline int32_t cellY(int32_t j, int32_t height) { return (2 * j + 1) * height / 96 - height / 2; }

/// Returns A(i), or B(j), of a candidate.
DEPTHWATT_FLOOR_BOTH inline int32_t floorSixteenths(int64_t value) {
  const int64_t q = (value + 32768) >> 16;
  return static_cast<int32_t>(q < -16000 ? -16000 : q > 16000 ? 16000 : q);
}

/// kMoreBelow: more cells are below the plane than on it. kNotInFront, without a floor before: of the six lowest rows'
/// known cells fewer than a quarter are on it, so it can be another level. kSmall: see kFloorLeastPixels; by followFloor().
enum class FloorOutcome : int32_t { kFound, kUnmatched, kNoPlane, kFewCells, kMoreBelow, kNotInFront, kSmall };

struct FloorResult {
  FloorOutcome outcome = FloorOutcome::kUnmatched;
  FloorPlane plane;
  int32_t known = 0;    ///< cells with a disparity
  int32_t on = 0;       ///< of those with p >= 32: |r| <= 16, not rounded
  int32_t below = 0;    ///< r < -32
  int32_t under = 0;    ///< cells with a disparity and p >= 32
  int64_t squares = 0;  ///< sum of r^2 of the cells on it, r rounded to 1/64 px, in 1/4096 px^2
};

/// The filtered floor. All zero: there is none.
struct FloorMemory {
  FloorPlane plane;
  int32_t isThere;
  int32_t unseenFrames;
};

/// Gives the floor of earlier frames to a frame's search. @param settings of makeFloorParameters
DEPTHWATT_FLOOR_BOTH inline FloorParameters withFloorBefore(FloorParameters settings, const FloorMemory& memory) {
  if (settings.onlyBefore || memory.isThere == 0) return settings;
  settings.hasBefore = true;
  settings.before = memory.plane;
  return settings;
}

/// Follows the floor over time, and writes the numbers of the frame.
/// @param settings of makeFloorParameters @param height of the disparity map @param numbers [kFloorNumbers]
DEPTHWATT_FLOOR_BOTH inline void followFloor(const FloorParameters& settings, int32_t height, FloorResult found,
                                             FloorMemory* memory, double* numbers) {
  const bool isSet = settings.onlyBefore;
  const int64_t lowest = found.plane.c + found.plane.b * ((height + 1) / 2);
  if (found.outcome == FloorOutcome::kFound && !isSet && lowest < kFloorLeastPixels * 16 * 65536)
    found.outcome = FloorOutcome::kSmall;
  if (isSet) {
    memory->plane = settings.before;
    memory->isThere = 1;
  } else if (found.outcome == FloorOutcome::kFound) {
    FloorPlane& plane = memory->plane;
    if (memory->isThere == 0) plane = found.plane;
    plane.a += (found.plane.a - plane.a + 2) >> 2;
    plane.b += (found.plane.b - plane.b + 2) >> 2;
    plane.c += (found.plane.c - plane.c + 2) >> 2;
    memory->isThere = 1;
    memory->unseenFrames = 0;
  } else if (++memory->unseenFrames > kFloorKeptFrames) {
    memory->isThere = 0;
  }
  numbers[kFloorOutcome] = static_cast<double>(found.outcome);
  numbers[kFloorA] = static_cast<double>(found.plane.a);
  numbers[kFloorB] = static_cast<double>(found.plane.b);
  numbers[kFloorC] = static_cast<double>(found.plane.c);
  numbers[kFloorKnown] = found.known;
  numbers[kFloorOn] = found.on;
  numbers[kFloorBelow] = found.below;
  numbers[kFloorUnder] = found.under;
  numbers[kFloorSquares] = static_cast<double>(found.squares);
  numbers[kFloorIsThere] = memory->isThere;
  numbers[kFloorFilteredA] = static_cast<double>(memory->plane.a);
  numbers[kFloorFilteredB] = static_cast<double>(memory->plane.b);
  numbers[kFloorFilteredC] = static_cast<double>(memory->plane.c);
}

/// The definition.
FloorResult floorReference(const FloorParameters& parameters, ImageView<const int16_t> disparityQ4,
                           ImageView<const uint8_t> confidence);

/// The fast form. @param score returns a candidate's score
using FloorScore = int32_t (*)(const int16_t* cells, const int16_t columns[kFloorColumns],
                               const int16_t rows[kFloorRows]);
struct FloorKernels {
  FloorScore score;
};
FloorResult findFloor(const FloorParameters& parameters, ImageView<const int16_t> disparityQ4,
                      ImageView<const uint8_t> confidence, FloorScore score, Workers& workers);

}  // namespace depthwatt
