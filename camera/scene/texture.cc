// SPDX-License-Identifier: Apache-2.0
// Textures of the surfaces, made of one seamless lattice noise, stripes and discs.
#include "texture.h"

#include <atomic>
#include <cmath>
#include <mutex>

#include "both.h"

namespace depthwatt::scene {
namespace {

constexpr int32_t kTileSize = 512;
constexpr int32_t kSmallestLevel = 4;

double clamp01(double value) { return value < 0 ? 0 : value > 1 ? 1 : value; }
double smooth(double value) { return value * value * (3 - 2 * value); }
/// 0 below `low`, 1 above `high`, smooth between.
double ramp(double low, double high, double value) { return smooth(clamp01((value - low) / (high - low))); }
double unit(uint32_t bits) { return (bits >> 8) * (1.0 / 16777216.0); }

/// Lattice noise in [0, 1] that repeats after `periodX` and `periodY` cells.
double lattice(double x, double y, int32_t periodX, int32_t periodY, uint32_t seed) {
  const double fx = std::floor(x), fy = std::floor(y);
  const double sx = smooth(x - fx), sy = smooth(y - fy);
  // Nearly every point lies within the tile already: divide only where one does not.
  const auto wrap = [](int32_t index, int32_t period) {
    if (index >= 0 && index < period) return static_cast<uint32_t>(index);
    index %= period;
    return static_cast<uint32_t>(index < 0 ? index + period : index);
  };
  const auto cellX = static_cast<int32_t>(fx), cellY = static_cast<int32_t>(fy);
  const uint32_t x0 = wrap(cellX, periodX), x1 = wrap(cellX + 1, periodX);
  const uint32_t y0 = wrap(cellY, periodY), y1 = wrap(cellY + 1, periodY);
  const double top = unit(hash(x0, y0, seed)) * (1 - sx) + unit(hash(x1, y0, seed)) * sx;
  const double bottom = unit(hash(x0, y1, seed)) * (1 - sx) + unit(hash(x1, y1, seed)) * sx;
  return top * (1 - sy) + bottom * sy;
}

/// Octaves from `cells` per tile upwards, each with half the amplitude of the one below; about -1 to 1.
/// `stretch`: cells are that many times longer along v (wood grain).
double octaves(double u, double v, int32_t cells, int count, uint32_t seed, int32_t stretch = 1) {
  double sum = 0, amplitude = 1, total = 0;
  for (int octave = 0; octave < count; ++octave) {
    const int32_t cellsV = cells / stretch > 0 ? cells / stretch : 1;
    sum += amplitude * (lattice(u * cells, v * cellsV, cells, cellsV, seed + 101u * octave) - 0.5);
    total += amplitude;
    amplitude *= 0.62;
    cells *= 2;
  }
  return 2 * sum / total;
}

/// 1 on a line of `width` around whole numbers of x, 0 elsewhere, with soft sides.
double seam(double x, double width) {
  const double offset = x - std::floor(x);
  const double distance = offset < 0.5 ? offset : 1 - offset;
  return 1 - ramp(width * 0.6, width * 1.4, distance);
}

double plaster(double u, double v, uint32_t seed) {
  return 0.66 + 0.10 * octaves(u, v, 3, 3, seed) + 0.07 * octaves(u, v, 40, 4, seed + 7);
}

double planks(double u, double v, uint32_t seed) {
  const double board = std::floor(u * 6);
  const auto index = static_cast<uint32_t>(board);
  const double shift = unit(hash(index, 3, seed));
  const auto piece = static_cast<uint32_t>(std::floor((v + shift) * 2)) & 1u;
  const double tone = 0.34 + 0.20 * unit(hash(index, piece, seed + 1));
  const double grain = 0.16 * octaves(u, v, 96, 4, seed + 2 + index, 12) + 0.10 * octaves(u, v, 12, 4, seed + 9, 3);
  const double gaps = 0.75 * seam(u * 6, 0.02) + 0.7 * seam((v + shift) * 2, 0.006);
  return (tone + grain) * (1 - clamp01(gaps));
}

double crate(double u, double v, uint32_t seed) {
  const double edgeU = u < 0.5 ? u : 1 - u, edgeV = v < 0.5 ? v : 1 - v;
  const double edge = edgeU < edgeV ? edgeU : edgeV;
  const double diagonal = u > v ? u - v : v - u;
  const bool frame = edge < 0.12;
  const bool brace = !frame && diagonal < 0.10;
  const double alongV = octaves(u, v, 64, 5, seed, 8), alongU = octaves(v, u, 64, 5, seed + 3, 8);
  double value = 0.50 + 0.24 * (frame && edgeV < edgeU ? alongU : alongV);
  if (frame) value += 0.14;
  if (brace) value += 0.08 + 0.12 * octaves(u, v, 24, 4, seed + 5);
  if (!frame && !brace) value *= 1 - 0.6 * seam(u * 5 + 0.1, 0.035);
  value *= 1 - 0.65 * (1 - ramp(0.004, 0.012, edge > 0.12 ? edge - 0.12 : 0.12 - edge));
  if (brace) value *= 1 - 0.55 * ramp(0.088, 0.1, diagonal);
  const double nailU = edgeU - 0.06, nailV = edgeV - 0.06;
  if (nailU * nailU + nailV * nailV < 0.00022) value = 0.12;
  return value;
}

double books(double u, double v, uint32_t seed) {
  const double row = std::floor(v * 4), inRow = v * 4 - row;
  const auto rowIndex = static_cast<uint32_t>(row);
  if (inRow > 0.91) return 0.46 + 0.12 * octaves(v, u, 48, 4, seed, 8);
  // Books of uneven width: 26 slots per row, some of them joined to their left neighbour.
  auto slot = static_cast<uint32_t>(std::floor(u * 26));
  if (unit(hash(slot, rowIndex, seed)) < 0.35 && slot > 0) --slot;
  const double height = 0.62 + 0.24 * unit(hash(slot, rowIndex, seed + 1));
  if (0.91 - inRow > height) return 0.07 + 0.03 * octaves(u, v, 16, 3, seed + 2);
  const double tone = 0.14 + 0.72 * unit(hash(slot, rowIndex, seed + 3));
  const double up = (0.91 - inRow) / height;
  double value = tone + 0.07 * octaves(u, v, 64, 4, seed + 4, 4);
  const double band = 0.15 + 0.6 * unit(hash(slot, rowIndex, seed + 5));
  if (up > band && up < band + 0.14) {
    value = 1 - tone + 0.35 * (lattice(u * 208, v * 160, 208, 160, seed + 6) - 0.5);
  }
  return value * (1 - 0.55 * seam(u * 26, 0.07));
}

double rug(double u, double v, uint32_t seed) {
  const double edgeU = u < 0.5 ? u : 1 - u, edgeV = v < 0.5 ? v : 1 - v;
  const double edge = edgeU < edgeV ? edgeU : edgeV;
  const double p = u * 8 - std::floor(u * 8) - 0.5, q = v * 6 - std::floor(v * 6) - 0.5;
  const double diamond = (p < 0 ? -p : p) + (q < 0 ? -q : q);
  double value = diamond < 0.22 ? 0.78 : diamond < 0.40 ? 0.22 : 0.52;
  if (edge < 0.07) value = edge > 0.02 && edge < 0.05 ? 0.80 : 0.25;
  return value + 0.10 * octaves(u, v, 128, 3, seed) + 0.10 * octaves(u, v, 6, 4, seed + 2);
}

/// Uneven patches: the nearest of jittered centres decides the tone.
double patches(double u, double v, int32_t cells, uint32_t seed) {
  const double x = u * cells, y = v * cells;
  const auto cx = static_cast<int32_t>(std::floor(x)), cy = static_cast<int32_t>(std::floor(y));
  double best = 9, second = 9, tone = 0;
  for (int32_t dy = -1; dy <= 1; ++dy) {
    for (int32_t dx = -1; dx <= 1; ++dx) {
      const auto wx = static_cast<uint32_t>((cx + dx + cells) % cells);
      const auto wy = static_cast<uint32_t>((cy + dy + cells) % cells);
      const double ox = cx + dx + unit(hash(wx, wy, seed)) - x, oy = cy + dy + unit(hash(wx, wy, seed + 1)) - y;
      const double distance = ox * ox + oy * oy;
      if (distance < best) {
        second = best;
        best = distance;
        tone = unit(hash(wx, wy, seed + 2));
      } else if (distance < second) {
        second = distance;
      }
    }
  }
  const double border = ramp(0.01, 0.06, second - best);
  return (0.12 + 0.80 * tone + 0.12 * octaves(u, v, 24, 4, seed + 3)) * (0.35 + 0.65 * border);
}

double dots(double u, double v, uint32_t seed) {
  const double row = std::floor(v * 7), offset = static_cast<int32_t>(row) & 1 ? 0.5 : 0.0;
  const double p = u * 7 + offset - std::floor(u * 7 + offset) - 0.5, q = v * 7 - row - 0.5;
  const double inside = 1 - ramp(0.085, 0.115, p * p + q * q);
  return 0.24 + 0.58 * inside + 0.14 * octaves(u, v, 16, 5, seed);
}

double poster(double u, double v, uint32_t seed) {
  const double edgeU = u < 0.5 ? u : 1 - u, edgeV = v < 0.5 ? v : 1 - v;
  if (edgeU < 0.045 || edgeV < 0.045) return 0.13;
  if (edgeU < 0.10 || edgeV < 0.10) return 0.93 + 0.02 * octaves(u, v, 64, 2, seed);
  // A landscape: sky, sun, three ridges.
  double value = 0.84 - 0.25 * v + 0.05 * octaves(u, v, 5, 4, seed);
  const double sunU = u - 0.68, sunV = v - 0.32;
  if (sunU * sunU + sunV * sunV < 0.012) value = 0.98;
  for (int ridge = 0; ridge < 3; ++ridge) {
    const double crest = 0.46 + 0.14 * ridge + 0.10 * octaves(u, 0.1, 4 + 2 * ridge, 5, seed + 20 + ridge);
    if (v > crest) value = 0.56 - 0.17 * ridge + 0.16 * octaves(u, v, 20, 5, seed + 30 + ridge);
  }
  return value;
}

double paintAt(Paint paint, double u, double v, uint32_t seed) {
  switch (paint) {
    case Paint::kPlaster: return plaster(u, v, seed);
    case Paint::kPlanks: return planks(u, v, seed);
    case Paint::kCrate: return crate(u, v, seed);
    case Paint::kBooks: return books(u, v, seed);
    case Paint::kRug: return rug(u, v, seed);
    case Paint::kPatches: return patches(u, v, 5, seed);
    case Paint::kDots: return dots(u, v, seed);
    case Paint::kMarble: return 0.62 + 0.30 * octaves(u + 0.12 * octaves(u, v, 4, 3, seed + 1), v, 6, 6, seed);
    case Paint::kCard: return 0.58 + 0.05 * octaves(u, v, 48, 4, seed) - 0.30 * seam(u + 0.5, 0.035);
    case Paint::kPoster: return poster(u, v, seed);
    case Paint::kLinen: return 0.86 + 0.05 * octaves(u, v, 64, 3, seed, 4) + 0.04 * octaves(v, u, 64, 3, seed + 1, 4);
  }
  return 0;
}

}  // namespace

uint32_t hash(uint32_t x, uint32_t y, uint32_t seed) {
  uint32_t h = x * 0x9e3779b1u ^ y * 0x85ebca77u ^ (seed + 1u) * 0xc2b2ae3du;
  h = (h ^ (h >> 15)) * 0x2c1b3c6du;
  h = (h ^ (h >> 12)) * 0x297a2d39u;
  return h ^ (h >> 15);
}

Textures::Textures(uint32_t seed) {
  std::atomic<int> next{0};
  both([&](int) {
    for (int paint = next++; paint < kPaintCount; paint = next++) {
      levels_[paint] = paintTile(static_cast<Paint>(paint), seed * 1000u + 50u * static_cast<uint32_t>(paint));
    }
  });
}

std::shared_ptr<const Textures> texturesOf(uint32_t seed) {
  static std::mutex mutex;
  static uint32_t newestSeed = 0;
  static std::weak_ptr<const Textures> newest;
  const std::lock_guard<std::mutex> lock(mutex);
  std::shared_ptr<const Textures> found = newest.lock();
  if (found == nullptr || newestSeed != seed) found = std::make_shared<const Textures>(seed);
  newest = found;
  newestSeed = seed;
  return found;
}

std::vector<Textures::Level> Textures::paintTile(Paint paint, uint32_t seed) {
  std::vector<Level> chain;
  chain.push_back({kTileSize, std::vector<uint8_t>(kTileSize * kTileSize)});
  for (int32_t y = 0; y < kTileSize; ++y) {
    for (int32_t x = 0; x < kTileSize; ++x) {
      const double value = paintAt(paint, (x + 0.5) / kTileSize, (y + 0.5) / kTileSize, seed);
      chain[0].texels[y * kTileSize + x] = static_cast<uint8_t>(clamp01(value) * 255 + 0.5);
    }
  }
  while (chain.back().size > kSmallestLevel) {
    const Level& fine = chain.back();
    Level half{fine.size / 2, std::vector<uint8_t>(static_cast<size_t>(fine.size / 2) * (fine.size / 2))};
    for (int32_t y = 0; y < half.size; ++y) {
      const uint8_t* upper = &fine.texels[static_cast<size_t>(2 * y) * fine.size];
      const uint8_t* lower = upper + fine.size;
      for (int32_t x = 0; x < half.size; ++x) {
        half.texels[y * half.size + x] =
            static_cast<uint8_t>((upper[2 * x] + upper[2 * x + 1] + lower[2 * x] + lower[2 * x + 1] + 2) >> 2);
      }
    }
    chain.push_back(std::move(half));
  }
  return chain;
}

double Textures::bilinear(const Level& level, double u, double v) {
  const double x = u * level.size - 0.5, y = v * level.size - 0.5;
  const double fx = std::floor(x), fy = std::floor(y);
  const double sx = x - fx, sy = y - fy;
  const int32_t mask = level.size - 1;
  const auto x0 = static_cast<int32_t>(fx) & mask, y0 = static_cast<int32_t>(fy) & mask;
  const int32_t x1 = (x0 + 1) & mask, y1 = (y0 + 1) & mask;
  const uint8_t* upper = &level.texels[static_cast<size_t>(y0) * level.size];
  const uint8_t* lower = &level.texels[static_cast<size_t>(y1) * level.size];
  const double top = upper[x0] + (upper[x1] - upper[x0]) * sx;
  const double bottom = lower[x0] + (lower[x1] - lower[x0]) * sx;
  return top + (bottom - top) * sy;
}

double Textures::sample(Paint paint, double u, double v, double footprint) const {
  const auto& chain = levels_[static_cast<int>(paint)];
  double ratio = footprint * kTileSize;
  size_t level = 0;
  while (ratio >= 2 && level + 1 < chain.size()) {
    ratio *= 0.5;
    ++level;
  }
  const double fine = bilinear(chain[level], u, v);
  if (ratio <= 1 || level + 1 >= chain.size()) return fine;
  const double share = ratio >= 2 ? 1 : ratio - 1;
  return fine + (bilinear(chain[level + 1], u, v) - fine) * share;
}

}  // namespace depthwatt::scene
