// SPDX-License-Identifier: Apache-2.0
// Registers depth and confidence into the image of another camera: a projection with a depth buffer, in integers.
//
// A pixel (x, y) of the rectified left image with disparity d = disparityQ4 / 16 has in the other camera, with the row-major
// 3x4 matrix M of the pose and of the ideal (undistorted) camera,
//   (U, V, W) = M (x, y, 1, d),   u = U / W, v = V / W,   depth = N W / (d + o),   N = f B 1000 millimetres
// With the rounded integers of RegistrationPlan:
//   position  p = floor(32 u), q = floor(32 v), in 1/32 px of the ideal image
//   lens      the distorted position, interpolated between four nodes of a grid of 8 px; a node with kNoNode, or outside: no pixel
//   pixel     (floor((p + 16) / 32), floor((q + 16) / 32)); outside the image: none
//   depth     millimetres, halves up; none outside 1 to 65535
// If several values fall on one pixel, the nearest wins; among equal depths, the one with the higher confidence.
//
// A value is occluded, and removed, if both of two opposite neighbours (of 8) are nearer than 15/16 of it: it was seen through a
// hole between pixels of a nearer surface. With `fill`, a pixel without a value gets the farthest depth of its 8 neighbours and confidence 0,
// if at least 5 of them have a value that is not occluded.
//
// in   disparityQ4 [height][width] int16; confidence [height][width] uint8
// out  millimetres [outHeight][outWidth] uint16, 0: none; confidence the same uint8, 0 where there is no depth or a filled one
// edge pixels outside the other image count as without value.   ties see above.   same bits on every backend.
//
// Points take their colours from an image of the other camera in the opposite direction: a point has the colour of the pixel that it is
// projected into, unless that pixel has no depth, or one nearer than 15/16 of the point's, or with `fill` confidence 0.
// in   disparityQ4 as above; millimetres and confidence as above, the results of the same frame; the image [outHeight][outWidth]
// out  blue, green, red, 255 in the last four bytes of every point [height][width]; four times 0: no colour
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "../../../core/image.h"
#include "../../../core/status.h"
#include "../../geometry.h"

namespace depthwatt {

/// A node of the lens grid that no ray reaches.
constexpr int32_t kNoNode = INT32_MIN;
/// The size of a cell of the lens grid, 1/32 px.
constexpr int32_t kCellSteps = 8 * 32;
/// A pixel of the depth buffer without value. Otherwise: millimetres * 256 + 255 - confidence.
constexpr uint32_t kNoDepth = 0xffffffffu;

/// The matrices and the grid in integers. All values of a frame stay below 2^52, so that doubles hold them exactly.
struct RegistrationPlan {
  int32_t outWidth = 0, outHeight = 0;
  bool fill = false;
  int64_t u[4] = {}, v[4] = {}, w[4] = {};  ///< by x, y, 1 and disparityQ4: 32 U, 32 V and W, times 2^shift
  int64_t depth[4] = {};                    ///< N W, times 2^depthShift
  int64_t disparityUnit = 0;                ///< the depth's denominator is disparityUnit disparityQ4 + offset
  int64_t offset = 0;
  int32_t gridX = 0, gridY = 0;  ///< the first node, 1/32 px of the ideal image
  int32_t gridWidth = 0, gridHeight = 0;
  const int32_t* grid = nullptr;  ///< x, y of each node, 1/32 px of the other image; null: no distortion
};

namespace detail {

/// The largest |a x + b y + c + e d| of an image.
inline double bound(const double* row, int32_t width, int32_t height) {
  return std::fabs(row[0]) * width + std::fabs(row[1]) * height + std::fabs(row[2]) + std::fabs(row[3]) * 32768.0;
}

inline void roundRow(const double* row, double factor, int64_t* rounded) {
  for (int i = 0; i < 4; ++i) rounded[i] = std::llround(row[i] * factor);
}

}  // namespace detail

/// Rounds the parameters. Refuses numbers that are not finite or too large.
/// @param width, height of the disparity
inline Status makeRegistrationPlan(const RegistrationParameters& p, int32_t width, int32_t height,
                                   RegistrationPlan* plan) {
  plan->outWidth = p.width, plan->outHeight = p.height;
  plan->fill = p.fill;
  double rows[4][4];
  const double numerator = p.focalPixels * p.baselineMetres * 1000.0 * 16.0;
  for (int i = 0; i < 4; ++i) {
    // By disparityQ4 instead of pixels.
    const double unit = i == 3 ? 1.0 / 16.0 : 1.0;
    rows[0][i] = 32.0 * p.matrix[i] * unit;
    rows[1][i] = 32.0 * p.matrix[4 + i] * unit;
    rows[2][i] = p.matrix[8 + i] * unit;
    rows[3][i] = numerator * rows[2][i];
  }
  const double largest = std::max({detail::bound(rows[0], width, height), detail::bound(rows[1], width, height),
                                   detail::bound(rows[2], width, height)});
  const double deepest = detail::bound(rows[3], width, height);
  const auto refuse = [] {
    return Status::error(Code::kParameter,
                         "Expected a pose and a camera for registration whose numbers are finite and below 2^36.");
  };
  if (!(largest < 68719476736.0) || !(deepest < 1099511627776.0) || !(std::fabs(p.disparityOffsetPixels) < 65536.0))
    return refuse();
  int shift = 30, depthShift = 16;
  while (std::ldexp(largest, shift) >= 2251799813685248.0) --shift;
  while (std::ldexp(deepest, depthShift) >= 2251799813685248.0) --depthShift;
  // In units of the denominator: 2^depthShift parts of disparityQ4.
  detail::roundRow(rows[0], std::ldexp(1.0, shift), plan->u);
  detail::roundRow(rows[1], std::ldexp(1.0, shift), plan->v);
  detail::roundRow(rows[2], std::ldexp(1.0, shift), plan->w);
  detail::roundRow(rows[3], std::ldexp(1.0, depthShift), plan->depth);
  plan->disparityUnit = int64_t{1} << depthShift;
  // Even, so that half of every denominator is whole.
  plan->offset = 2 * std::llround(8.0 * p.disparityOffsetPixels * std::ldexp(1.0, depthShift));
  plan->grid = nullptr;
  if (p.grid.empty()) return {};
  if (p.gridWidth < 2 || p.gridHeight < 2 ||
      p.grid.size() != 2 * static_cast<size_t>(p.gridWidth) * static_cast<size_t>(p.gridHeight)) {
    return Status::error(Code::kParameter, "Expected a lens grid of %dx%d nodes, got %zu numbers.", p.gridWidth,
                         p.gridHeight, p.grid.size());
  }
  plan->gridX = p.gridX, plan->gridY = p.gridY;
  plan->gridWidth = p.gridWidth, plan->gridHeight = p.gridHeight;
  plan->grid = p.grid.data();
  return {};
}

/// The definition. @param confidence may be empty: 255 everywhere
void registrationReference(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4,
                           ImageView<const uint8_t> confidence, ImageView<uint16_t> millimetres,
                           ImageView<uint8_t> registeredConfidence);

/// An image of the other camera, and the depth that was registered into it.
struct RegisteredImages {
  ImageView<const uint16_t> millimetres;
  ImageView<const uint8_t> confidence;
  ImageView<const Rgb8> rgb;  ///< no data: grey
  ImageView<const uint8_t> grey;
};

/// The definition of colours of points. @param points width * height * pointBytes
void registeredColoursReference(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4,
                                const RegisteredImages& images, uint8_t* points, size_t pointBytes);

/// Returns the pixels of the depth buffer of the fast forms, which has a border of one pixel that stays kNoDepth.
inline size_t bufferPixels(const RegistrationPlan& plan) {
  return static_cast<size_t>(plan.outWidth + 2) * static_cast<size_t>(plan.outHeight + 2);
}

/// The fast form: the depth buffer is set to kNoDepth, every row of the disparity is projected, then every row of the other image
/// is resolved into `visible` and written. Rows of a step may be computed at once, in any order.
/// @param buffer, visible bufferPixels(), row by row, from the border's first pixel on
using ProjectRows = void (*)(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4,
                             ImageView<const uint8_t> confidence, uint32_t* buffer, int32_t firstRow, int32_t endRow);
using ResolveRows = void (*)(const RegistrationPlan& plan, const uint32_t* buffer, uint32_t* visible, int32_t firstRow,
                             int32_t endRow);
using WriteRows = void (*)(const RegistrationPlan& plan, const uint32_t* visible, ImageView<uint16_t> millimetres,
                           ImageView<uint8_t> registeredConfidence, int32_t firstRow, int32_t endRow);
using ColourRows = void (*)(const RegistrationPlan& plan, ImageView<const int16_t> disparityQ4,
                            const RegisteredImages& images, uint8_t* points, size_t pointBytes, int32_t firstRow,
                            int32_t endRow);
struct RegistrationKernels {
  ProjectRows project;
  ResolveRows resolve;
  WriteRows write;
  ColourRows colour;
};

}  // namespace depthwatt
