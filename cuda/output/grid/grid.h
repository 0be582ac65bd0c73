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

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../../../core/image.h"
#include "../../../core/workers.h"

namespace depthwatt {

enum GridCell : uint8_t { kGridUnknown, kGridFree, kGridOccupied, kGridDrop };

struct GridParameters {
  int64_t a = 0, b = 0, c = 0;  ///< of the floor: cuda/output/floor/floor.h
  double focalPixels = 0, baselineMetres = 0, disparityOffsetPixels = 0, cx = 0, cy = 0;
  double cellMetres = 0.05;
  int32_t aheadCells = 0, leftCells = 0;  ///< leftCells / 2 of them to the left
  double obstacleMetres = 0, tallMetres = 0, dropMetres = 0;
  double errorPixels = 0;  ///< of a disparity: the heights grow with it
  int32_t minPixels = 1, stepX = 1;
};

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

/// @param width, height of the map: x and y of the plane begin at (width / 2, height / 2)
inline GridPlan makeGridPlan(const GridParameters& p, int32_t width, int32_t height) {
  const auto whole = [](double value) {
    const double limit = 9e15;
    return static_cast<int64_t>(std::floor((value < -limit ? -limit : value > limit ? limit : value) + 0.5));
  };
  GridPlan plan;
  const int32_t x0 = width / 2, y0 = height / 2;
  plan.offsetQ4 = static_cast<int32_t>(whole(16 * p.disparityOffsetPixels));
  plan.a = p.a, plan.b = p.b;
  plan.c = p.c - p.a * x0 - p.b * y0 + int64_t{65536} * plan.offsetQ4;
  // The floor's unit normal in the camera's axes, pointing down.
  const double f = p.focalPixels;
  const double ahead = (static_cast<double>(plan.c) + p.a * p.cx + p.b * p.cy) / f;
  const double a = static_cast<double>(p.a), b = static_cast<double>(p.b);
  const double length = std::sqrt(a * a + b * b + ahead * ahead);
  const double n[3] = {a / length, b / length, ahead / length};
  const double h = 16.0 * 65536 * p.baselineMetres / length;
  plan.obstacle = whole(65536 * p.obstacleMetres / h);
  plan.tall = whole(65536 * p.tallMetres / h);
  plan.drop = whole(65536 * p.dropMetres / h);
  plan.error = whole(65536 * 16 * p.errorPixels);
  // Ahead: the optical axis along the floor. Right: down x ahead.
  const double flat = std::sqrt(n[0] * n[0] + n[1] * n[1]);
  const double e[3] = {-n[2] * n[0] / flat, -n[2] * n[1] / flat, flat};
  const double right[3] = {n[1] * e[2] - n[2] * e[1], n[2] * e[0] - n[0] * e[2], n[0] * e[1] - n[1] * e[0]};
  // A point is 16 f B / D ((x - cx) / f, (y - cy) / f, 1); the grid's origin is below the middle of the baseline.
  const double scale = 256 * 16 * p.baselineMetres / p.cellMetres;
  plan.leftShift = whole(256 * (p.leftCells / 2 + 0.5 * p.baselineMetres * right[0] / p.cellMetres));
  plan.aheadShift = whole(-256 * 0.5 * p.baselineMetres * e[0] / p.cellMetres);
  for (int i = 0; i < 2; ++i) {
    plan.ahead[i] = whole(scale * e[i]);
    plan.left[i] = whole(-scale * right[i]);
  }
  plan.ahead[2] = whole(scale * (f * e[2] - p.cx * e[0] - p.cy * e[1]));
  plan.left[2] = whole(-scale * (f * right[2] - p.cx * right[0] - p.cy * right[1]));
  plan.aheadCells = p.aheadCells, plan.leftCells = p.leftCells;
  plan.minPixels = p.minPixels, plan.stepX = p.stepX;
  return plan;
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
