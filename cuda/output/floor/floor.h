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
// before     the floor of the frame before is the last candidate, with twice its score: it stays while its pixels do.
// Divisions round to the nearest, halves up. Integers only.   same bits on every backend.
#pragma once

#include <cstdint>

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kFloorColumns = 64, kFloorRows = 48, kFloorCells = kFloorColumns * kFloorRows;
constexpr int32_t kFloorBand = 6;  ///< rows of cells that count alike
constexpr int32_t kFloorCandidates = 512;
/// Cells that a floor needs: a twentieth.
constexpr int32_t kFloorMinCells = 154;
/// A cell without a disparity, where cells are counted: above every plane.
constexpr int16_t kFloorUnknown = 32767;

struct FloorPlane {
  int64_t a = 0, b = 0, c = 0;
};

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

/// Returns whether a plane can be the floor under the cameras.
inline bool isFloor(const FloorParameters& p, const FloorPlane& plane) {
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

/// kMoreBelow: more cells are below the plane than on it. kNotInFront, without a floor before: of the six lowest rows'
/// known cells fewer than a quarter are on it, so it can be another level.
enum class FloorOutcome : int32_t { kFound, kUnmatched, kNoPlane, kFewCells, kMoreBelow, kNotInFront };

struct FloorResult {
  FloorOutcome outcome = FloorOutcome::kUnmatched;
  FloorPlane plane;
  int32_t known = 0;    ///< cells with a disparity
  int32_t on = 0;       ///< of those with p >= 32: |r| <= 16, not rounded
  int32_t below = 0;    ///< r < -32
  int32_t under = 0;    ///< cells with a disparity and p >= 32
  int64_t squares = 0;  ///< sum of r^2 of the cells on it, r rounded to 1/64 px, in 1/4096 px^2
};

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
                      ImageView<const uint8_t> confidence, FloorScore score);

}  // namespace depthwatt
