// SPDX-License-Identifier: Apache-2.0
// Corner candidates by the Hessian's determinant, checked on a ring; see corners.h.
#include "corners.h"

#include <algorithm>
#include <cmath>

#include "exponential.h"

namespace depthwatt::calibrate {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr int kRing = 32;
constexpr double kScale = 1.5;  ///< sigma of the filter before derivatives, pixels
constexpr double kRingRadius = 4.5;
constexpr size_t kMaxCandidates = 4000;
constexpr float kLeastSaddle = 0.6f;  ///< grey levels per squared pixel

struct Ring {
  double cosine[kRing], sine[kRing];
  Ring() {
    for (int i = 0; i < kRing; ++i) {
      cosine[i] = std::cos(2 * kPi * i / kRing);
      sine[i] = std::sin(2 * kPi * i / kRing);
    }
  }
};

const Ring& ring() {
  static const Ring table;
  return table;
}

}  // namespace

bool checkRing(const Plane& image, double radius, double leastShare, Corner& corner) {
  const Ring& table = ring();
  if (!image.holds(corner.x, corner.y, radius)) return false;
  double v[kRing], mean = 0;
  for (int i = 0; i < kRing; ++i) {
    v[i] = image.at(corner.x + radius * table.cosine[i], corner.y + radius * table.sine[i]);
    mean += v[i] / kRing;
  }
  double power = 0, re = 0, im = 0;
  for (int i = 0; i < kRing; ++i) {
    v[i] -= mean;
    power += v[i] * v[i];
    re += v[i] * table.cosine[2 * i % kRing];
    im += v[i] * table.sine[2 * i % kRing];
  }
  // The share of the second harmonic: 0.81 for four equal fields.
  if (!(power > kRing * 9.0) || 2 * (re * re + im * im) < leastShare * kRing * power) return false;
  double low = v[0], high = v[0];
  for (double value : v) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  const double middle = (low + high) / 2;
  double crossing[4];
  bool rising[4];
  int found = 0;
  for (int i = 0; i < kRing; ++i) {
    const double a = v[i] - middle, b = v[(i + 1) % kRing] - middle;
    if ((a < 0) == (b < 0)) continue;
    if (found == 4) return false;
    crossing[found] = (i + a / (a - b)) * 2 * kPi / kRing;
    rising[found++] = b >= 0;
  }
  if (found != 4) return false;
  for (int k = 0; k < 2; ++k) {
    const double apart = crossing[k + 2] - crossing[k];
    if (std::fabs(apart - kPi) > 0.7) return false;
    double axis = (crossing[k] + crossing[k + 2] - kPi) / 2;
    if (axis < 0) axis += kPi;
    if (axis >= kPi) axis -= kPi;
    corner.axis[rising[k] ? 0 : 1] = axis;
  }
  if (rising[0] == rising[1]) return false;
  corner.checked = true;
  return true;
}

std::vector<Corner> findCorners(const Plane& image) {
  const int32_t w = image.width, h = image.height;
  const Plane smooth = blurred(image, kScale);
  Plane saddle(w, h);
  for (int32_t y = 1; y + 1 < h; ++y) {
    const float* a = smooth.row(y - 1);
    const float* b = smooth.row(y);
    const float* c = smooth.row(y + 1);
    float* to = saddle.row(y);
    for (int32_t x = 1; x + 1 < w; ++x) {
      const float xx = b[x - 1] - 2 * b[x] + b[x + 1], yy = a[x] - 2 * b[x] + c[x];
      const float xy = (c[x + 1] - c[x - 1] - a[x + 1] + a[x - 1]) / 4;
      to[x] = xy * xy - xx * yy;
    }
  }
  std::vector<Corner> out;
  constexpr int32_t kApart = 2;
  for (int32_t y = kApart + 1; y + kApart + 1 < h; ++y) {
    const float* here = saddle.row(y);
    for (int32_t x = kApart + 1; x + kApart + 1 < w; ++x) {
      const float value = here[x];
      if (value < kLeastSaddle * kLeastSaddle || value < here[x - 1] || value <= here[x + 1]) continue;
      bool peak = true;
      for (int32_t dy = -kApart; dy <= kApart && peak; ++dy) {
        const float* row = saddle.row(y + dy);
        for (int32_t dx = -kApart; dx <= kApart; ++dx) {
          // The earlier of two equal ones wins.
          if (row[x + dx] > value || (row[x + dx] == value && (dy < 0 || (dy == 0 && dx < 0)))) {
            peak = false;
            break;
          }
        }
      }
      if (!peak) continue;
      const float* a = smooth.row(y - 1);
      const float* b = smooth.row(y);
      const float* c = smooth.row(y + 1);
      const double xx = b[x - 1] - 2 * b[x] + b[x + 1], yy = a[x] - 2 * b[x] + c[x];
      const double xy = (c[x + 1] - c[x - 1] - a[x + 1] + a[x - 1]) / 4;
      const double gx = (b[x + 1] - b[x - 1]) / 2, gy = (c[x] - a[x]) / 2, det = xx * yy - xy * xy;
      const double dx = -(yy * gx - xy * gy) / det, dy = -(xx * gy - xy * gx) / det;
      // Further away it is no saddle, but the flank of an edge.
      if (!(std::fabs(dx) < 2 && std::fabs(dy) < 2)) continue;
      Corner corner;
      corner.x = x + dx;
      corner.y = y + dy;
      corner.strength = std::sqrt(static_cast<double>(value));
      out.push_back(corner);
    }
  }
  std::sort(out.begin(), out.end(), [](const Corner& a, const Corner& b) {
    return a.strength != b.strength ? a.strength > b.strength : a.y != b.y ? a.y < b.y : a.x < b.x;
  });
  if (out.size() > kMaxCandidates) out.resize(kMaxCandidates);
  const Plane soft = blurred(image, 0.8);
  for (Corner& corner : out) checkRing(soft, kRingRadius, 0.5, corner) || checkRing(soft, 3, 0.5, corner);
  return out;
}

bool refineCorner(const Plane& image, int halfWindow, double& x, double& y) {
  const int n = 2 * halfWindow + 1, m = n + 2;
  std::vector<double> patch(static_cast<size_t>(m) * m), weight(static_cast<size_t>(n));
  for (int i = 0; i < n; ++i) {
    const double t = static_cast<double>(i - halfWindow) / halfWindow;
    weight[static_cast<size_t>(i)] = exponential(-t * t);
  }
  double cx = x, cy = y;
  for (int round = 0; round < 60; ++round) {
    if (!image.holds(cx, cy, 2)) return false;
    for (int j = 0; j < m; ++j) {
      for (int i = 0; i < m; ++i) {
        patch[static_cast<size_t>(j) * m + i] = image.at(cx + i - halfWindow - 1, cy + j - halfWindow - 1);
      }
    }
    double a = 0, b = 0, c = 0, u = 0, v = 0;
    for (int j = 0; j < n; ++j) {
      for (int i = 0; i < n; ++i) {
        const double* p = patch.data() + static_cast<size_t>(j + 1) * m + i + 1;
        const double gx = (p[1] - p[-1]) / 2, gy = (p[m] - p[-m]) / 2;
        const double k = weight[static_cast<size_t>(i)] * weight[static_cast<size_t>(j)];
        const double px = i - halfWindow, py = j - halfWindow;
        a += k * gx * gx;
        b += k * gx * gy;
        c += k * gy * gy;
        u += k * (gx * gx * px + gx * gy * py);
        v += k * (gx * gy * px + gy * gy * py);
      }
    }
    const double det = a * c - b * b;
    if (!(det > 1e-9 * (a + c) * (a + c))) return false;
    const double dx = (c * u - b * v) / det, dy = (a * v - b * u) / det;
    cx += dx;
    cy += dy;
    if (std::fabs(cx - x) > halfWindow || std::fabs(cy - y) > halfWindow) return false;
    if (dx * dx + dy * dy < 1e-8) break;
  }
  x = cx;
  y = cy;
  return true;
}

}  // namespace depthwatt::calibrate
