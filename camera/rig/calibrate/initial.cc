// SPDX-License-Identifier: Apache-2.0
// Initial values of one camera's adjustment: homographies (Hartley and Zisserman, 4.1), the focal length from them
// (Zhang 2000), poses, and several other focal lengths, in case a strong lens misleads the first.
#include <algorithm>
#include <cmath>
#include <limits>

#include "initial.h"

namespace depthwatt::calibrate {

Views groupByView(const Problem& problem) {
  Views out(static_cast<size_t>(problem.views));
  for (const Observation& o : problem.observations) {
    if (o.used) out[static_cast<size_t>(o.view)].push_back({{o.object[0], o.object[1]}, {o.pixel[0], o.pixel[1]}});
  }
  return out;
}

double poseCost(const Lens& lens, const std::vector<Correspondence>& points, const Pose& pose) {
  double cost = 0;
  for (const Correspondence& p : points) {
    const Vector3 x = {p.board[0], p.board[1], 0};
    const Vector3 turned = transformed(pose.R, x);
    double pixel[2];
    if (!project(lens, {turned[0] + pose.t[0], turned[1] + pose.t[1], turned[2] + pose.t[2]}, pixel, nullptr,
                 nullptr)) {
      return std::numeric_limits<double>::infinity();
    }
    cost += (pixel[0] - p.image[0]) * (pixel[0] - p.image[0]) + (pixel[1] - p.image[1]) * (pixel[1] - p.image[1]);
  }
  return cost;
}

namespace {

/// Returns the transformation that makes the mean 0 and the mean distance the square root of 2.
Matrix3 normaliser(const std::vector<Correspondence>& points, bool board) {
  double mx = 0, my = 0, spread = 0;
  for (const Correspondence& p : points) {
    const double* q = board ? p.board : p.image;
    mx += q[0];
    my += q[1];
  }
  const double n = static_cast<double>(points.size());
  mx /= n;
  my /= n;
  for (const Correspondence& p : points) {
    const double* q = board ? p.board : p.image;
    spread += std::hypot(q[0] - mx, q[1] - my);
  }
  const double s = spread > 0 ? std::sqrt(2.0) * n / spread : 1;
  return {s, 0, -s * mx, 0, s, -s * my, 0, 0, 1};
}

/// Computes image ~ H (x, y, 1) by the direct linear transformation.
bool fitHomography(const std::vector<Correspondence>& points, Matrix3& h) {
  if (points.size() < 4) return false;
  const Matrix3 tb = normaliser(points, true), ti = normaliser(points, false);
  std::vector<double> ata(81, 0.0);
  for (const Correspondence& p : points) {
    const double x = tb[0] * p.board[0] + tb[2], y = tb[4] * p.board[1] + tb[5];
    const double u = ti[0] * p.image[0] + ti[2], v = ti[4] * p.image[1] + ti[5];
    const double rows[2][9] = {{-x, -y, -1, 0, 0, 0, u * x, u * y, u}, {0, 0, 0, -x, -y, -1, v * x, v * y, v}};
    for (const auto& row : rows) {
      for (size_t i = 0; i < 9; ++i) {
        for (size_t j = 0; j < 9; ++j) ata[9 * i + j] += row[i] * row[j];
      }
    }
  }
  const std::vector<double> e = smallestEigenvector(std::move(ata), 9);
  Matrix3 normal;
  std::copy_n(e.begin(), 9, normal.begin());
  h = multiply(inverse(ti), multiply(normal, tb));
  return std::isfinite(determinant(h)) && std::fabs(determinant(h)) > 1e-14;
}

/// Returns the focal length that fits all homographies best with the principal point in the middle; 0 if they do not
/// determine it.
double estimateFocal(const Views& views, double cx, double cy) {
  // w = diag(1, 1, f^2) up to scale: h1' w^-1 h2 = 0 and h1' w^-1 h1 = h2' w^-1 h2, linear in 1 / f^2.
  double top = 0, bottom = 0;
  for (const auto& points : views) {
    Matrix3 h;
    if (!fitHomography(points, h)) continue;
    for (size_t i = 0; i < 3; ++i) {
      h[i] -= cx * h[6 + i];
      h[3 + i] -= cy * h[6 + i];
    }
    const double n1 = std::sqrt(h[0] * h[0] + h[3] * h[3]), n2 = std::sqrt(h[1] * h[1] + h[4] * h[4]);
    const double s = 1 / (n1 * n2);
    const double a1 = (h[0] * h[1] + h[3] * h[4]) * s, b1 = h[6] * h[7] * s;
    const double a2 = (h[0] * h[0] + h[3] * h[3] - h[1] * h[1] - h[4] * h[4]) * s;
    const double b2 = (h[6] * h[6] - h[7] * h[7]) * s;
    top -= a1 * b1 + a2 * b2;
    bottom += a1 * a1 + a2 * a2;
  }
  // (1 / f^2) a + b = 0 by least squares.
  return top > 0 && bottom > 0 ? std::sqrt(bottom / top) : 0;
}

/// Computes the board's pose from its rays. Returns false if too few of them exist.
bool estimatePose(const Lens& lens, const std::vector<Correspondence>& points, Pose& pose) {
  std::vector<Correspondence> rays;
  for (const Correspondence& p : points) {
    Correspondence q = p;
    if (pixelRay(lens, p.image, q.image)) rays.push_back(q);
  }
  Matrix3 h;
  if (rays.size() < std::max<size_t>(4, points.size() / 2) || !fitHomography(rays, h)) return false;
  const double n1 = std::sqrt(h[0] * h[0] + h[3] * h[3] + h[6] * h[6]);
  const double n2 = std::sqrt(h[1] * h[1] + h[4] * h[4] + h[7] * h[7]);
  double scale = 2 / (n1 + n2);
  // In front of the camera: the depth of the middle of the corners.
  double depth = 0;
  for (const Correspondence& q : rays) depth += h[6] * q.board[0] + h[7] * q.board[1] + h[8];
  if (depth < 0) scale = -scale;
  const Vector3 r1 = {h[0] * scale, h[3] * scale, h[6] * scale}, r2 = {h[1] * scale, h[4] * scale, h[7] * scale};
  const Vector3 r3 = cross(r1, r2);
  const Matrix3 r = {r1[0], r2[0], r3[0], r1[1], r2[1], r3[1], r1[2], r2[2], r3[2]};
  if (!(std::fabs(determinant(r)) > 1e-9)) return false;
  pose.R = nearestRotation(r);
  pose.t = {h[2] * scale, h[5] * scale, h[8] * scale};
  return true;
}

/// Refines one pose by the damped method of Gauss and Newton.
double refinePose(const Lens& lens, const std::vector<Correspondence>& points, Pose& pose) {
  double cost = poseCost(lens, points, pose), lambda = 1e-4;
  for (int round = 0; round < 40 && std::isfinite(cost); ++round) {
    double a[36] = {}, b[6] = {};
    for (const Correspondence& p : points) {
      const Vector3 turned = transformed(pose.R, {p.board[0], p.board[1], 0});
      double pixel[2], j[6];
      project(lens, {turned[0] + pose.t[0], turned[1] + pose.t[1], turned[2] + pose.t[2]}, pixel, j, nullptr);
      for (int row = 0; row < 2; ++row) {
        const double x = j[3 * row], y = j[3 * row + 1], z = j[3 * row + 2];
        const double d[6] = {
            z * turned[1] - y * turned[2], x * turned[2] - z * turned[0], y * turned[0] - x * turned[1], x, y, z};
        const double r = p.image[row] - pixel[row];
        for (int i = 0; i < 6; ++i) {
          for (int k = 0; k < 6; ++k) a[6 * i + k] += d[i] * d[k];
          b[i] += d[i] * r;
        }
      }
    }
    bool better = false;
    for (int attempt = 0; attempt < 8 && !better; ++attempt, lambda *= 10) {
      double damped[36], step[6];
      std::copy_n(a, 36, damped);
      std::copy_n(b, 6, step);
      for (int i = 0; i < 6; ++i) damped[7 * i] *= 1 + lambda;
      if (!solvePositive(damped, 6, step, 1)) continue;
      Pose next = {nearestRotation(multiply(rotationMatrix({step[0], step[1], step[2]}), pose.R)),
                   {pose.t[0] + step[3], pose.t[1] + step[4], pose.t[2] + step[5]}};
      const double after = poseCost(lens, points, next);
      if (after < cost) {
        better = cost - after > 1e-9 * cost;
        pose = next;
        cost = after;
        lambda /= 100;
        if (!better) return cost;
      }
    }
    if (!better) break;
  }
  return cost;
}

/// Returns the better of two refined poses: from far away a flat board looks the same when it is tilted the other way.
bool bestPose(const Lens& lens, const std::vector<Correspondence>& points, Pose& pose) {
  if (!estimatePose(lens, points, pose)) return false;
  double cx = 0, cy = 0;
  for (const Correspondence& p : points) {
    cx += p.board[0] / static_cast<double>(points.size());
    cy += p.board[1] / static_cast<double>(points.size());
  }
  Pose other = pose;
  const Vector3 turned = transformed(pose.R, {cx, cy, 0});
  const Vector3 middle = {turned[0] + pose.t[0], turned[1] + pose.t[1], turned[2] + pose.t[2]};
  const double distance = length(middle);
  const Vector3 view = {middle[0] / distance, middle[1] / distance, middle[2] / distance};
  const Vector3 normal = {pose.R[2], pose.R[5], pose.R[8]};
  const double along = normal[0] * view[0] + normal[1] * view[1] + normal[2] * view[2];
  // The rotation from the normal to its mirror image about the line of sight.
  const Vector3 target = {2 * along * view[0] - normal[0], 2 * along * view[1] - normal[1],
                          2 * along * view[2] - normal[2]};
  const Vector3 axis = cross(normal, target);
  const double sine = length(axis);
  const double cosine = normal[0] * target[0] + normal[1] * target[1] + normal[2] * target[2];
  double cost = refinePose(lens, points, pose);
  if (sine > 1e-6) {
    const double angle = std::atan2(sine, cosine);
    other.R =
        multiply(rotationMatrix({axis[0] * angle / sine, axis[1] * angle / sine, axis[2] * angle / sine}), other.R);
    const Vector3 again = transformed(other.R, {cx, cy, 0});
    other.t = {middle[0] - again[0], middle[1] - again[1], middle[2] - again[2]};
    const double otherCost = refinePose(lens, points, other);
    if (otherCost < cost) {
      pose = other;
      cost = otherCost;
    }
  }
  return std::isfinite(cost);
}

/// Computes the poses of all views. A view without one loses its corners in `problem`.
bool estimatePoses(Problem& problem, const Lens& lens, const Views& views, std::vector<Pose>& poses) {
  poses.assign(views.size(), {});
  size_t good = 0;
  std::vector<bool> has(views.size(), false);
  for (size_t v = 0; v < views.size(); ++v) {
    has[v] = !views[v].empty() && bestPose(lens, views[v], poses[v]);
    good += has[v] ? 1 : 0;
  }
  for (Observation& o : problem.observations) o.used = o.used && has[static_cast<size_t>(o.view)];
  return good > 0;
}

/// Returns an initial lens. If radial terms turn an image inside out within it, the fit is one of noise.
Lens lensAt(const CameraSpec& camera, double focal) {
  Lens lens;
  lens.model = camera.model;
  lens.p[0] = lens.p[1] = focal;
  lens.p[2] = (camera.width - 1) / 2;
  lens.p[3] = (camera.height - 1) / 2;
  return lens;
}

}  // namespace

Status solveMono(const Problem& problem, Solution& best) {
  const auto views = groupByView(problem);
  const CameraSpec& camera = problem.cameras[0];
  const double side = std::max(camera.width, camera.height);
  std::vector<double> focals;
  const double zhang = estimateFocal(views, (camera.width - 1) / 2, (camera.height - 1) / 2);
  if (zhang > 0.2 * side && zhang < 20 * side) focals.push_back(zhang);
  for (double factor : {0.35, 0.5, 0.8, 1.2, 2.0}) focals.push_back(factor * side);
  bool found = false;
  double bestCost = std::numeric_limits<double>::infinity();
  for (size_t at = 0; at < focals.size(); ++at) {
    Problem attempt = problem;
    attempt.robust = true;
    Solution s;
    s.lens = {lensAt(camera, focals[at])};
    if (!estimatePoses(attempt, s.lens[0], views, s.poses)) continue;
    if (!adjust(attempt, s).ok()) continue;
    // The median ignores wrong corners and lost views.
    std::vector<double> distances;
    for (size_t i = 0; i < problem.observations.size(); ++i) {
      if (!problem.observations[i].used) continue;
      const double d = std::hypot(s.residuals[2 * i], s.residuals[2 * i + 1]);
      distances.push_back(std::isfinite(d) && attempt.observations[i].used ? d : 1e9);
    }
    std::sort(distances.begin(), distances.end());
    // Not only the median: initial values that fit two thirds of the views and lose the rest are worse.
    const double cost = distances[distances.size() / 2] + distances[distances.size() * 8 / 10];
    if (cost < 0.98 * bestCost) {
      bestCost = cost;
      best = s;
      found = true;
    }
    // If Zhang's focal length fits well, the others need no test.
    if (at == 0 && zhang > 0 && focals[0] == zhang && cost < 1.0) break;
  }
  if (!found) {
    return Status::error(Code::kFailed, "The corners fit no camera: no focal length explains the views.");
  }
  // Views that found no pose with the first lens get one from the last.
  for (size_t v = 0; v < views.size(); ++v) {
    Pose pose;
    if (!views[v].empty() && bestPose(best.lens[0], views[v], pose) &&
        poseCost(best.lens[0], views[v], pose) < poseCost(best.lens[0], views[v], best.poses[v])) {
      best.poses[v] = pose;
    }
  }
  return adjust(problem, best);
}

}  // namespace depthwatt::calibrate
