// SPDX-License-Identifier: Apache-2.0
// Checks the mathematics of rigs that whole calibrations hide, because they converge in spite of small mistakes: derivatives of
// lenses, vectors, the neighbours of a lattice, the bounds of a rotated map. Prints each failure; exits with 1 after one.
#include <cmath>
#include <cstdio>
#include <vector>

#include "../../camera/rig/alignment/correction.h"
#include "../../camera/rig/calibrate/lattice.h"
#include "../../camera/rig/calibrate/lens.h"

using namespace depthwatt;
using namespace depthwatt::calibrate;

namespace {

int failures = 0;

void expectNear(const char* name, int index, double found, double expected, double tolerance) {
  if (std::fabs(found - expected) <= tolerance) return;
  std::printf("%s %d: found %.9g, expected %.9g\n", name, index, found, expected);
  ++failures;
}

void checkVectors() {
  const Vector3 a = {2, 3, 5}, b = {7, 11, 13};
  const Vector3 expected = {3 * 13 - 5 * 11, 5 * 7 - 2 * 13, 2 * 11 - 3 * 7};
  const Vector3 found = cross(a, b);
  for (size_t i = 0; i < 3; ++i) expectNear("cross", static_cast<int>(i), found[i], expected[i], 0);
}

template <class List>
void expectAll(const char* name, const List& found, const List& expected, double tolerance = 1e-12) {
  for (size_t i = 0; i < expected.size(); ++i) {
    expectNear(name, static_cast<int>(i), found[i], expected[i], tolerance);
  }
}

/// Matrices whose products, inverses and factors are known by hand.
void checkAlgebra() {
  const Matrix3 a = {2, 1, 3, 0, 4, 5, 7, 6, 8}, b = {1, 9, 2, 3, 5, 4, 6, 8, 7};
  expectAll("multiply", multiply(a, b), {23, 47, 29, 42, 60, 51, 73, 157, 94});
  expectAll("transpose", transpose(a), {2, 0, 7, 1, 4, 6, 3, 5, 8});
  expectAll("transformed", transformed(a, {1, 2, 3}), Vector3{13, 23, 43});
  expectNear("determinant", 0, determinant(a), -45, 1e-12);
  expectAll("inverse", multiply(inverse(a), a), {1, 0, 0, 0, 1, 0, 0, 0, 1});
  expectNear("length", 0, length({2, 3, 6}), 7, 1e-12);
  // A third of a turn about (1, 1, 1) exchanges the axes; the length of the vector is its angle.
  const double third = 2.0943951023931953 / std::sqrt(3.0);
  const Matrix3 exchanged = {0, 0, 1, 1, 0, 0, 0, 1, 0};
  expectAll("rotationMatrix", rotationMatrix({third, third, third}), exchanged);
  expectAll("no rotation", rotationMatrix({0, 0, 0}), {1, 0, 0, 0, 1, 0, 0, 0, 1});
  expectAll("a small rotation", rotationMatrix({1e-10, 2e-10, -3e-10}),
            {1, 3e-10, 2e-10, -3e-10, 1, -1e-10, -2e-10, 1e-10, 1}, 1e-18);
  Matrix3 scaled = exchanged;
  for (double& value : scaled) value *= 1.7;
  expectAll("nearestRotation", nearestRotation(scaled), exchanged);
  const Matrix3 positive = {4, 2, 0.6, 2, 2, 0.5, 0.6, 0.5, 3}, wanted = {1, -2, 3, 0.5, 0.25, -1, 2, 4, 8};
  Matrix3 system = positive, right = multiply(positive, wanted), singular = {1, 2, 0, 2, 4, 0, 0, 0, 1};
  expectNear("positive", 0, solvePositive(system.data(), 3, right.data(), 3), 1, 0);
  expectAll("solvePositive", right, wanted);
  expectNear("not positive", 0, solvePositive(singular.data(), 3, right.data(), 1), 0, 0);
  // Eigenvalues 1, 2 and 4 along turned axes; only the sign of the vector is open.
  const Matrix3 axes = rotationMatrix({0.3, -0.5, 0.2});
  const Matrix3 turned = multiply(multiply(axes, {2, 0, 0, 0, 1, 0, 0, 0, 4}), transpose(axes));
  const std::vector<double> smallest = smallestEigenvector({turned.begin(), turned.end()}, 3);
  const double sign = smallest[1] * axes[4] < 0 ? -1 : 1;
  for (int i = 0; i < 3; ++i)
    expectNear("eigenvector", i, sign * smallest[static_cast<size_t>(i)], axes[3 * i + 1], 1e-12);
}

/// Compares the derivatives of project() with central differences.
void checkLens(const char* name, Lens lens) {
  const Vector3 point = {0.7, -0.5, 1.1};
  double pixel[2], byPoint[6], byLens[2 * kMaxLens], above[2], below[2];
  project(lens, point, pixel, byPoint, byLens);
  for (size_t i = 0; i < 3; ++i) {
    Vector3 more = point, less = point;
    more[i] += 1e-6;
    less[i] -= 1e-6;
    project(lens, more, above, nullptr, nullptr);
    project(lens, less, below, nullptr, nullptr);
    for (int row = 0; row < 2; ++row) {
      expectNear(name, static_cast<int>(i), byPoint[3 * row + static_cast<int>(i)], (above[row] - below[row]) / 2e-6,
                 1e-3);
    }
  }
  const int size = lens.size();
  for (int i = 0; i < size; ++i) {
    Lens more = lens, less = lens;
    more.p[static_cast<size_t>(i)] += 1e-6;
    less.p[static_cast<size_t>(i)] -= 1e-6;
    project(more, point, above, nullptr, nullptr);
    project(less, point, below, nullptr, nullptr);
    for (int row = 0; row < 2; ++row) {
      expectNear(name, 3 + i, byLens[row * size + i], (above[row] - below[row]) / 2e-6, 1e-3);
    }
  }
}

/// r - 2 r^3 + 0.3 r^5 grows up to 0.276 at 0.418: a pixel beyond has no ray, though a ray of 2.56 also gives 1.96.
void checkFold() {
  const Lens lens = {Model::kRadtan, {100, 100, 0, 0, -2, 0.3}};
  const double beyond[2] = {197, 0}, r2 = 0.16, radial = 1 - 2 * r2 + 0.3 * r2 * r2;
  const double within[2] = {24 * radial, -32 * radial};
  double ray[2];
  expectNear("ray beyond the fold", 0, pixelRay(lens, beyond, ray), 0, 0);
  expectNear("ray within the fold", 0, pixelRay(lens, within, ray), 1, 0);
  expectNear("ray within the fold", 1, ray[0], 0.24, 1e-9);
  expectNear("ray within the fold", 2, ray[1], -0.32, 1e-9);
}

calibrate::Corner cornerAt(double x, double y) {
  calibrate::Corner corner;
  corner.x = x;
  corner.y = y;
  return corner;
}

/// Two lines of corners are joined by their sides alone; a corner that only touches them diagonally belongs to no line.
void checkLattice() {
  for (const bool upright : {false, true}) {
    Lattice lattice;
    for (int k = 0; k < 6; ++k) {
      lattice.corners[upright ? Place{0, k} : Place{k, 0}] =
          upright ? cornerAt(100, 100 + 20 * k) : cornerAt(100 + 20 * k, 100);
    }
    lattice.corners[upright ? Place{1, 6} : Place{6, 1}] = upright ? cornerAt(120, 220) : cornerAt(220, 120);
    dropStrangers(lattice);
    expectNear("lattice", upright ? 1 : 0, static_cast<double>(lattice.corners.size()), 6, 0);
  }
}

void checkMap() {
  constexpr int32_t kWidth = 7, kHeight = 5, kGuard = -99;
  std::vector<int32_t> map, turned(2 * kWidth * (kHeight + 2), kGuard);
  for (int32_t y = 0; y < kHeight; ++y) {
    for (int32_t x = 0; x < kWidth; ++x) map.insert(map.end(), {32 * x, 32 * y});
  }
  const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
  turnMap(map.data(), {kWidth, kHeight, kWidth, kHeight}, {10, 3, 2}, identity, turned.data() + 2 * kWidth);
  for (int32_t i = 0; i < 2 * kWidth * kHeight; ++i) expectNear("map", i, turned[2 * kWidth + i], map[i], 0);
  for (int32_t i = 0; i < 2 * kWidth; ++i) {
    expectNear("row above the map", i, turned[i], kGuard, 0);
    expectNear("row below the map", i, turned[2 * kWidth * (kHeight + 1) + i], kGuard, 0);
  }
}

}  // namespace

int main() {
  checkVectors();
  checkAlgebra();
  checkLens("radtan", {Model::kRadtan, {400, 410, 320, 240, -0.3, 0.11, 0.002, -0.003, -0.02}});
  checkLens("rational", {Model::kRational, {400, 410, 320, 240, 0.4, 0.06, 0.002, -0.003, 0.01, 0.7, 0.13, 0.02}});
  checkLens("equidistant", {Model::kEquidistant, {400, 410, 320, 240, 0.2, -0.05, 0.03, -0.01}});
  checkFold();
  checkLattice();
  checkMap();
  return failures == 0 ? 0 : 1;
}
