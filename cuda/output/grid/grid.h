// SPDX-License-Identifier: Apache-2.0
// Sorts the pixels of a disparity map into cells of the floor: free, occupied, drop-off, or unknown.
//   D = disparityQ4 + offsetQ4, p = a x + b y + c + 65536 offsetQ4 (the floor's D * 65536), r = 65536 D - p
//   The point of a pixel is h (1 - p / (65536 D)) above the floor, h the camera's height, so that:
//   obstacle   r > D obstacle + error, and r <= D tall     at the point: q = D
//   drop-off   -r > D drop + error                         where its ray should have met the floor: q = p >> 16
//   free       the others with r <= D obstacle + error     the same
//   The column ahead is (((ahead . (x, y, 1)) * (2^30 / q) >> 30) + aheadShift) >> 8, the row to the left likewise. Quotients
//   and shifts round down.
// Pixels with confidence 0 or q < 16 do not count, nor do columns that are no multiple of stepX. q is at most 65535.
// A cell is occupied with minPixels obstacle pixels, else a drop-off with as many drop-off pixels, else free with one free pixel
// or more that are eight times as many as the others. All others are unknown.
// Integers, after makeGridPlan.   same bits on every backend.
#pragma once

#include <math.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../../../core/image.h"
#include "../../../core/workers.h"
#include "../../geometry.h"

#ifdef __CUDACC__
#define DEPTHWATT_GRID_BOTH __host__ __device__
#else
#define DEPTHWATT_GRID_BOTH
#endif

namespace depthwatt {

enum GridCell : uint8_t { kGridUnknown, kGridFree, kGridOccupied, kGridDrop };

/// Whole numbers of a floor, a pair and a grid.
struct GridPlan {
  int64_t a, b, c;
  int64_t obstacle, tall, drop, error;
  int64_t ahead[3], left[3];      ///< numerators: of x, of y, and at x = y = 0
  int64_t aheadShift, leftShift;  ///< of the grid's origin against the left camera, 1/256 cell
  int32_t offsetQ4, aheadCells, leftCells, minPixels, stepX;
};

constexpr int32_t kGridLeastQ4 = 16;
/// D is clamped to it.
constexpr int32_t kGridLargestQ4 = 65535;

namespace detail {

DEPTHWATT_GRID_BOTH inline int64_t wholeNumber(double value) {
  const double limit = 9e15;
  return static_cast<int64_t>(floor((value < -limit ? -limit : value > limit ? limit : value) + 0.5));
}

}  // namespace detail

/// Rounds the numbers of a grid: IEEE operations on 64 bits, with the same result on a device.
/// @param width, height of the map: x and y of the plane begin at (width / 2, height / 2)
DEPTHWATT_GRID_BOTH inline GridPlan makeGridPlan(const GridParameters& p, const FloorPlane& floor, int32_t width,
                                                 int32_t height) {
  GridPlan plan;
  const int32_t x0 = width / 2, y0 = height / 2;
  plan.offsetQ4 = static_cast<int32_t>(detail::wholeNumber(16 * p.disparityOffsetPixels));
  plan.a = floor.a, plan.b = floor.b;
  plan.c = floor.c - floor.a * x0 - floor.b * y0 + int64_t{65536} * plan.offsetQ4;
  // The floor's unit normal in the camera's axes, pointing down.
  const double f = p.focalPixels;
  const double ahead = (static_cast<double>(plan.c) + floor.a * p.cx + floor.b * p.cy) / f;
  const double a = static_cast<double>(floor.a), b = static_cast<double>(floor.b);
  const double length = sqrt(a * a + b * b + ahead * ahead), inverse = 1 / length;
  const double n[3] = {a * inverse, b * inverse, ahead * inverse};
  // 65536 / h
  const double perMetre = length / (16 * p.baselineMetres);
  plan.obstacle = detail::wholeNumber(perMetre * p.obstacleMetres);
  plan.tall = detail::wholeNumber(perMetre * p.tallMetres);
  plan.drop = detail::wholeNumber(perMetre * p.dropMetres);
  plan.error = detail::wholeNumber(65536 * 16 * p.errorPixels);
  // Ahead: the optical axis along the floor. Right: down x ahead.
  const double flat = sqrt(n[0] * n[0] + n[1] * n[1]), aside = -n[2] / flat;
  const double e[3] = {aside * n[0], aside * n[1], flat};
  const double right[3] = {n[1] * e[2] - n[2] * e[1], n[2] * e[0] - n[0] * e[2], n[0] * e[1] - n[1] * e[0]};
  // A point is 16 f B / D ((x - cx) / f, (y - cy) / f, 1); the grid's origin is below the middle of the baseline.
  const double scale = 256 * 16 * p.baselineMetres / p.cellMetres, shift = scale / 32;
  plan.leftShift = detail::wholeNumber(256 * (p.leftCells / 2) + shift * right[0]);
  plan.aheadShift = detail::wholeNumber(-shift * e[0]);
  for (int i = 0; i < 2; ++i) {
    plan.ahead[i] = detail::wholeNumber(scale * e[i]);
    plan.left[i] = detail::wholeNumber(-scale * right[i]);
  }
  plan.ahead[2] = detail::wholeNumber(scale * (f * e[2] - p.cx * e[0] - p.cy * e[1]));
  plan.left[2] = detail::wholeNumber(-scale * (f * right[2] - p.cx * right[0] - p.cy * right[1]));
  plan.aheadCells = p.aheadCells, plan.leftCells = p.leftCells;
  plan.minPixels = p.minPixels, plan.stepX = p.stepX;
  return plan;
}

/// Returns the filtered floor of a frame's numbers. @param numbers [kFloorNumbers]
DEPTHWATT_GRID_BOTH inline FloorPlane filteredFloor(const double* numbers) {
  FloorPlane plane;
  plane.a = static_cast<int64_t>(numbers[kFloorFilteredA]);
  plane.b = static_cast<int64_t>(numbers[kFloorFilteredB]);
  plane.c = static_cast<int64_t>(numbers[kFloorFilteredC]);
  return plane;
}

/// The definition. @param cells [aheadCells][leftCells] GridCell, the nearest and the farthest right first
void gridReference(const GridPlan& plan, ImageView<const int16_t> disparityQ4, ImageView<const uint8_t> confidence,
                   uint8_t* cells);

/// Pixels of a cell by GridCell - 1.
struct GridCounts {
  int32_t pixels[3];
};

/// The fast form. @param counts scratch, of aheadCells * leftCells for each worker
void makeGrid(const GridPlan& plan, ImageView<const int16_t> disparityQ4, ImageView<const uint8_t> confidence,
              GridCounts* counts, uint8_t* cells, Workers& workers);

}  // namespace depthwatt
