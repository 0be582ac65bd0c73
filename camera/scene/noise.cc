// SPDX-License-Identifier: Apache-2.0
// The lattice is hashed once and then looked up, because a texture reads each value many times.
#include "noise.h"

namespace depthwatt::scene {
uint32_t hash(uint32_t x, uint32_t y, uint32_t seed) {
  uint32_t h = x * 0x9e3779b1u ^ y * 0x85ebca77u ^ (seed + 1u) * 0xc2b2ae3du;
  h = (h ^ (h >> 15)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12)) * 0x297a2d39u;
  return h ^ (h >> 15);
}

Lattice::Lattice(int32_t cellsX, int32_t cellsY, uint32_t seed)
    : cellsX_(cellsX), cellsY_(cellsY), values_(static_cast<size_t>(cellsX + 1) * (cellsY + 1)) {
  float* value = values_.data();
  for (int32_t y = 0; y <= cellsY; ++y) {
    const auto row = static_cast<uint32_t>(y % cellsY);
    for (int32_t x = 0; x < cellsX; ++x) *value++ = static_cast<float>(unit(hash(static_cast<uint32_t>(x), row, seed)));
    *value = value[-cellsX];
    ++value;
  }
}

namespace {

std::vector<Lattice::Place> texelPlaces(int32_t cells) {
  std::vector<Lattice::Place> places;
  places.reserve(kTileSize);
  for (int32_t at = 0; at < kTileSize; ++at) places.push_back(Lattice::place((at + 0.5) / kTileSize * cells, cells));
  return places;
}

}  // namespace

Octaves::Octaves(int32_t cells, int count, uint32_t seed, int32_t stretch) {
  double amplitude = 1;
  for (int octave = 0; octave < count; ++octave) {
    const int32_t cellsV = cells / stretch > 0 ? cells / stretch : 1;
    layers_.push_back({Lattice(cells, cellsV, seed + 101u * octave), cells, cellsV, amplitude, texelPlaces(cells),
                       texelPlaces(cellsV)});
    total_ += amplitude;
    amplitude *= 0.62;
    cells *= 2;
  }
}

double Octaves::at(double u, double v) const {
  double sum = 0;
  for (const Layer& layer : layers_)
    sum += layer.amplitude * (layer.lattice.at(u * layer.cellsU, v * layer.cellsV) - 0.5);
  return 2 * sum / total_;
}

}  // namespace depthwatt::scene
