// SPDX-License-Identifier: Apache-2.0
// Bundle adjustment of one camera or several over views of a flat board: finds lenses, the poses of the other cameras
// next to the first and the pose of each board that minimise the squared distances between observed and projected
// corners.
#pragma once

#include <cstdint>
#include <vector>

#include "../../../core/status.h"
#include "lens.h"

namespace depthwatt::calibrate {

/// The left and the right camera, and 16 next to them.
constexpr int kMaxCameras = 18;

/// x_camera = R x_board + t, in the board's unit of length.
struct Pose {
  Matrix3 R{1, 0, 0, 0, 1, 0, 0, 0, 1};
  Vector3 t{};
};

/// One observed corner.
struct Observation {
  int32_t view = 0;
  int32_t camera = 0;  ///< 0 left
  Vector3 object{};    ///< on the board
  double pixel[2] = {};
  bool used = true;  ///< false: its residual is computed, but it does not affect the fit
};

/// The lens model and the image size of a camera.
struct CameraSpec {
  Model model = Model::kRadtan;
  double width = 0, height = 0;
};

struct Problem {
  std::vector<CameraSpec> cameras;  ///< 1 to kMaxCameras
  int32_t views = 0;
  std::vector<Observation> observations;
  /// Corners further out than about three deviations count less (Huber 1964). solve() leaves out a camera's corners of a
  /// board that moved between this camera and the first.
  bool robust = false;
  /// radtan's k3 stays 0, because Kalibr's radtan has none.
  bool withoutK3 = false;
};

struct Solution {
  std::vector<Lens> lens;         ///< of each camera
  std::vector<Pose> rigs;         ///< of each camera but the first: x_camera = R x_left + t
  std::vector<Pose> poses;        ///< of each view's board in the left (or only) camera
  std::vector<double> residuals;  ///< seen minus projected, two for each observation
  double rms = 0;                 ///< pixels: square root of the mean squared distance over used corners
  /// Covariance of the parameters in the order lens[0], then lens, rotation vector and translation of each other
  /// camera: residual variance times the inverse of the normal matrix after the boards' poses are eliminated. Empty if
  /// that matrix is singular.
  std::vector<double> covariance;
  int32_t parameters = 0;  ///< rows of covariance
  int32_t iterations = 0;
};

/// Improves `solution`, which holds initial lenses, rig and poses, by Levenberg and Marquardt's method.
Status adjust(const Problem& problem, Solution& solution);

/// Solves without initial values: homographies, focal length, poses, each camera alone, each with the left one, then
/// all.
Status solve(const Problem& problem, Solution& solution);

/// Computes the standard deviation of the depth of a point, in the board's unit, from `covariance`: [0] from the
/// calibration alone, [1] from a matching error of `disparityPixels` alone. The point is seen by the first two cameras.
bool depthDeviation(const Solution& solution, const Vector3& point, double disparityPixels, double out[2]);

}  // namespace depthwatt::calibrate
