// SPDX-License-Identifier: Apache-2.0
// Seamless lattice noise: random values on a repeating grid, smooth between them. The only source of randomness.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace depthwatt::scene {

/// Integer hash of a lattice point.
uint32_t hash(uint32_t x, uint32_t y, uint32_t seed);

/// The hash as a number in [0, 1), a multiple of 2^-24.
inline double unit(uint32_t bits) { return (bits >> 8) * (1.0 / 16777216.0); }

inline double smooth(double value) { return value * value * (3 - 2 * value); }

/// Returns floor() of numbers that fit an int32. std::floor calls libm where the CPU's instruction may not be assumed.
inline int32_t floorToInt(double value) {
  const auto whole = static_cast<int32_t>(value);
  return value < whole ? whole - 1 : whole;
}

/// Texels along a side of a tile. Noise is looked up at their middles, so their places in each lattice are found once.
constexpr int32_t kTileSize = 512;

/// Values in [0, 1) on a grid of `cellsX` by `cellsY` cells.
class Lattice {
 public:
  /// A coordinate in the grid: the cell, and the smoothed share of its far side.
  struct Place {
    int32_t cell;
    double share;
  };

  Lattice(int32_t cellsX, int32_t cellsY, uint32_t seed);

  /// Returns the place of a coordinate in cells, any real number: the grid repeats after `cells`.
  static Place place(double value, int32_t cells) {
    const int32_t whole = floorToInt(value);
    return {wrap(whole, cells), smooth(value - whole)};
  }

  /// Interpolates between the four values around (x, y).
  double at(const Place& x, const Place& y) const {
    const float* upper = &values_[static_cast<size_t>(y.cell) * (cellsX_ + 1) + x.cell];
    const float* lower = upper + cellsX_ + 1;
    const double upperLeft = upper[0], upperRight = upper[1], lowerLeft = lower[0], lowerRight = lower[1];
    const double top = upperLeft * (1 - x.share) + upperRight * x.share;
    const double bottom = lowerLeft * (1 - x.share) + lowerRight * x.share;
    return top * (1 - y.share) + bottom * y.share;
  }

  double at(double x, double y) const { return at(place(x, cellsX_), place(y, cellsY_)); }

 private:
  /// Nearly every point is within the grid already, so divide only for the others.
  static int32_t wrap(int32_t index, int32_t period) {
    if (index >= 0 && index < period) return index;
    index %= period;
    return index < 0 ? index + period : index;
  }

  int32_t cellsX_, cellsY_;
  /// [cellsY + 1][cellsX + 1]: the last column and row repeat the first. 24 bits each: a float holds them exactly.
  std::vector<float> values_;
};

/// A sum of lattices over the unit square, from `cells` cells upwards, each twice as fine and 0.62 times as strong as
/// the previous one. `stretch`: cells are this many times longer along v (wood grain).
class Octaves {
 public:
  Octaves(int32_t cells, int count, uint32_t seed, int32_t stretch = 1);

  /// Returns about -1 to 1.
  double at(double u, double v) const;

  /// Returns the same at the middle of a texel, u = (x + 0.5) / kTileSize.
  double atTexel(int32_t x, int32_t y) const {
    double sum = 0;
    for (const Layer& layer : layers_)
      sum += layer.amplitude * (layer.lattice.at(layer.columns[x], layer.rows[y]) - 0.5);
    return 2 * sum / total_;
  }

 private:
  struct Layer {
    Lattice lattice;
    int32_t cellsU, cellsV;
    double amplitude;
    std::vector<Lattice::Place> columns, rows;  ///< of the texels
  };
  std::vector<Layer> layers_;
  double total_ = 0;
};

}  // namespace depthwatt::scene
