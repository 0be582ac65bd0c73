// SPDX-License-Identifier: Apache-2.0
// Lens models with analytic derivatives; see lens.h. Equations: OpenCV's documentation of calib3d; Kannala and Brandt 2006.
#include "lens.h"

#include <cmath>

namespace depthwatt::calibrate {
namespace {

/// Computes distorted normalised coordinates, their 2 x 2 derivative by (x, y) and 2 x n by the coefficients.
void distortBrown(const Lens& lens, double x, double y, double out[2], double d[4], double* byK) {
  const bool rational = lens.model == Model::kRational;
  const double* k = lens.p.data() + 4;
  const double k4 = rational ? k[5] : 0, k5 = rational ? k[6] : 0, k6 = rational ? k[7] : 0;
  const double r2 = x * x + y * y, r4 = r2 * r2, r6 = r4 * r2;
  const double a = 1 + k[0] * r2 + k[1] * r4 + k[4] * r6;
  const double b = 1 + k4 * r2 + k5 * r4 + k6 * r6;
  const double da = k[0] + 2 * k[1] * r2 + 3 * k[4] * r4;
  const double db = k4 + 2 * k5 * r2 + 3 * k6 * r4;
  const double radial = a / b;
  const double dRadial = (da - radial * db) / b;  // by r2
  const double p1 = k[2], p2 = k[3];
  out[0] = x * radial + 2 * p1 * x * y + p2 * (r2 + 2 * x * x);
  out[1] = y * radial + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y;
  d[0] = radial + 2 * x * x * dRadial + 2 * p1 * y + 6 * p2 * x;
  d[1] = 2 * x * y * dRadial + 2 * p1 * x + 2 * p2 * y;
  d[2] = d[1];
  d[3] = radial + 2 * y * y * dRadial + 6 * p1 * y + 2 * p2 * x;
  if (byK == nullptr) return;
  const int n = coefficientCount(lens.model);
  const double xy[2] = {x, y};
  for (int row = 0; row < 2; ++row) {
    double* j = byK + row * n;
    j[0] = xy[row] * r2 / b;
    j[1] = xy[row] * r4 / b;
    j[4] = xy[row] * r6 / b;
    if (rational) {
      j[5] = -xy[row] * radial * r2 / b;
      j[6] = -xy[row] * radial * r4 / b;
      j[7] = -xy[row] * radial * r6 / b;
    }
  }
  byK[2] = 2 * x * y;
  byK[3] = r2 + 2 * x * x;
  byK[n + 2] = r2 + 2 * y * y;
  byK[n + 3] = 2 * x * y;
}

void distortEquidistant(const Lens& lens, double x, double y, double out[2], double d[4], double* byK) {
  const double* k = lens.p.data() + 4;
  const double r = std::sqrt(x * x + y * y);
  const double theta = std::atan(r), t2 = theta * theta;
  const double thetaD = theta * (1 + (((k[3] * t2 + k[2]) * t2 + k[1]) * t2 + k[0]) * t2);
  const double slope = 1 + (((9 * k[3] * t2 + 7 * k[2]) * t2 + 5 * k[1]) * t2 + 3 * k[0]) * t2;
  // On the axis s is 1 and has no derivative along r.
  const double s = r < 1e-8 ? 1 : thetaD / r;
  const double ds = r < 1e-8 ? 0 : (slope / (1 + r * r) - s) / (r * r);  // ds/dr / r
  out[0] = x * s;
  out[1] = y * s;
  d[0] = s + x * x * ds;
  d[1] = x * y * ds;
  d[2] = d[1];
  d[3] = s + y * y * ds;
  if (byK == nullptr) return;
  const double scale = r < 1e-8 ? 0 : theta / r;
  double power = t2;
  for (int i = 0; i < 4; ++i, power *= t2) {
    byK[i] = x * scale * power;
    byK[4 + i] = y * scale * power;
  }
}

void distort(const Lens& lens, double x, double y, double out[2], double d[4], double* byK) {
  if (lens.model == Model::kEquidistant) return distortEquidistant(lens, x, y, out, d, byK);
  distortBrown(lens, x, y, out, d, byK);
}

/// Returns whether the distorted point moves outwards all the way from the axis to (x, y): beyond the radius where it
/// stops doing so, the model folds back into the image.
bool growsUpTo(const Lens& lens, double x, double y) {
  constexpr int kSteps = 32;
  for (int step = 1; step <= kSteps; ++step) {
    const double t = static_cast<double>(step) / kSteps;
    double out[2], d[4];
    distort(lens, t * x, t * y, out, d, nullptr);
    if (!((d[0] * x + d[1] * y) * x + (d[2] * x + d[3] * y) * y >= 0)) return false;
  }
  return true;
}

}  // namespace

bool project(const Lens& lens, const Vector3& point, double pixel[2], double* byPoint, double* byLens) {
  if (!(point[2] > 1e-9)) return false;
  const double z = 1 / point[2], x = point[0] * z, y = point[1] * z;
  double xd[2], d[4], byK[2 * kMaxCoefficients];
  distort(lens, x, y, xd, d, byLens == nullptr ? nullptr : byK);
  const double fx = lens.p[0], fy = lens.p[1];
  pixel[0] = fx * xd[0] + lens.p[2];
  pixel[1] = fy * xd[1] + lens.p[3];
  if (!std::isfinite(pixel[0]) || !std::isfinite(pixel[1])) return false;
  if (byPoint != nullptr) {
    const double f[2] = {fx, fy};
    for (int row = 0; row < 2; ++row) {
      byPoint[3 * row] = f[row] * d[2 * row] * z;
      byPoint[3 * row + 1] = f[row] * d[2 * row + 1] * z;
      byPoint[3 * row + 2] = -f[row] * (d[2 * row] * x + d[2 * row + 1] * y) * z;
    }
  }
  if (byLens != nullptr) {
    const int n = coefficientCount(lens.model), size = lens.size();
    double* j0 = byLens;
    double* j1 = byLens + size;
    j0[0] = xd[0];
    j0[1] = 0;
    j0[2] = 1;
    j0[3] = 0;
    j1[0] = 0;
    j1[1] = xd[1];
    j1[2] = 0;
    j1[3] = 1;
    for (int i = 0; i < n; ++i) {
      j0[4 + i] = fx * byK[i];
      j1[4 + i] = fy * byK[n + i];
    }
  }
  return true;
}

bool pixelRay(const Lens& lens, const double pixel[2], double ray[2]) {
  const double xd = (pixel[0] - lens.p[2]) / lens.p[0], yd = (pixel[1] - lens.p[3]) / lens.p[1];
  double x = xd, y = yd;
  if (lens.model == Model::kEquidistant) {
    const double r = std::hypot(xd, yd);
    // Beyond 86 degrees the ray has no useful (x, y, 1).
    if (r > 1.5) return false;
    const double s = r < 1e-9 ? 1 : std::tan(r) / r;
    x *= s;
    y *= s;
  }
  for (int round = 0; round < 50; ++round) {
    double out[2], d[4];
    distort(lens, x, y, out, d, nullptr);
    const double ex = out[0] - xd, ey = out[1] - yd;
    const double det = d[0] * d[3] - d[1] * d[2];
    if (!(std::fabs(det) > 1e-12)) return false;
    double dx = (d[3] * ex - d[1] * ey) / det, dy = (d[0] * ey - d[2] * ex) / det;
    const double step = std::hypot(dx, dy), longest = 0.3 * (1 + std::hypot(x, y));
    if (step > longest) {
      dx *= longest / step;
      dy *= longest / step;
    }
    x -= dx;
    y -= dy;
    if (step < 1e-12) break;
  }
  double out[2], d[4];
  distort(lens, x, y, out, d, nullptr);
  ray[0] = x;
  ray[1] = y;
  return std::hypot(out[0] - xd, out[1] - yd) < 1e-7 && growsUpTo(lens, x, y);
}

}  // namespace depthwatt::calibrate
