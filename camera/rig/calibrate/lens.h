// SPDX-License-Identifier: Apache-2.0
// A camera's lens: projects a point in space to a pixel, with derivatives, and computes the ray of a pixel.
#pragma once

#include <array>

#include "linear.h"

namespace depthwatt::calibrate {

/// Coefficients in OpenCV's order. radtan: k1 k2 p1 p2 k3; rational: k1 k2 p1 p2 k3 k4 k5 k6; equidistant: k1 k2 k3 k4.
enum class Model { kRadtan, kRational, kEquidistant };

constexpr int kMaxCoefficients = 8;
/// fx fy cx cy and the coefficients.
constexpr int kMaxLens = 4 + kMaxCoefficients;

constexpr int coefficientCount(Model model) { return model == Model::kRadtan ? 5 : model == Model::kRational ? 8 : 4; }

struct Lens {
  Model model = Model::kRadtan;
  /// fx fy cx cy (pixels; pixel centres at whole numbers), then the coefficients.
  std::array<double, kMaxLens> p{};
  int size() const { return 4 + coefficientCount(model); }
};

/// Projects a point in the camera's coordinates. @param byPoint 2 x 3 derivatives by X, Y, Z, or null. @param byLens 2
/// x lens.size(), or null. Returns false for a point that is not in front of the camera, and if the model has no finite
/// value.
bool project(const Lens& lens, const Vector3& point, double pixel[2], double* byPoint, double* byLens);

/// Computes the ray (x, y, 1) of a pixel by Newton's method on the forward model. Returns false if it does not
/// converge or ends beyond the fold of the model.
bool pixelRay(const Lens& lens, const double pixel[2], double ray[2]);

}  // namespace depthwatt::calibrate
