// SPDX-License-Identifier: Apache-2.0
// Textures of the surfaces, made of one seamless lattice noise, stripes and discs.
#include "texture.h"

#include <atomic>
#include <mutex>

#include "both.h"
#include "noise.h"

namespace depthwatt::scene {
namespace {

constexpr int32_t kSmallestLevel = 4;

/// A texel of a tile, and its middle: u = (x + 0.5) / kTileSize.
struct Texel {
  int32_t x, y;
  double u, v;
};

/// The noise at a texel, and at the one with u and v exchanged.
double noise(const Octaves& octaves, const Texel& at) { return octaves.atTexel(at.x, at.y); }
double turned(const Octaves& octaves, const Texel& at) { return octaves.atTexel(at.y, at.x); }

double clamp01(double value) { return value < 0 ? 0 : value > 1 ? 1 : value; }
/// Returns 0 below `low`, 1 above `high`, smooth between.
double ramp(double low, double high, double value) { return smooth(clamp01((value - low) / (high - low))); }

/// Returns 1 on a line of `width` around whole numbers of x, 0 elsewhere, with soft sides.
double seam(double x, double width) {
  const double offset = x - floorToInt(x);
  const double distance = offset < 0.5 ? offset : 1 - offset;
  return 1 - ramp(width * 0.6, width * 1.4, distance);
}

/// Each paint: its noise, made once, and its grey at a texel of its tile, 0 to 1 before clamping.
struct Plaster {
  Octaves broad, fine;
  explicit Plaster(uint32_t seed) : broad(3, 3, seed), fine(40, 4, seed + 7) {}
  double at(const Texel& t) const { return 0.66 + 0.10 * noise(broad, t) + 0.07 * noise(fine, t); }
};

struct Planks {
  static constexpr int kBoards = 6;
  uint32_t seed;
  std::vector<Octaves> grains;  ///< per board
  Octaves broad;
  explicit Planks(uint32_t seed) : seed(seed), broad(12, 4, seed + 9, 3) {
    for (uint32_t board = 0; board < kBoards; ++board) grains.emplace_back(96, 4, seed + 2 + board, 12);
  }
  double at(const Texel& t) const {
    const double u = t.u, v = t.v;
    const auto index = static_cast<uint32_t>(floorToInt(u * kBoards));
    const double shift = unit(hash(index, 3, seed));
    const auto piece = static_cast<uint32_t>(floorToInt((v + shift) * 2)) & 1u;
    const double tone = 0.34 + 0.20 * unit(hash(index, piece, seed + 1));
    const double grain = 0.16 * noise(grains[index], t) + 0.10 * noise(broad, t);
    const double gaps = 0.75 * seam(u * kBoards, 0.02) + 0.7 * seam((v + shift) * 2, 0.006);
    return (tone + grain) * (1 - clamp01(gaps));
  }
};

struct Crate {
  Octaves alongV, alongU, ofBrace;
  explicit Crate(uint32_t seed) : alongV(64, 5, seed, 8), alongU(64, 5, seed + 3, 8), ofBrace(24, 4, seed + 5) {}
  double at(const Texel& t) const {
    const double u = t.u, v = t.v;
    const double edgeU = u < 0.5 ? u : 1 - u, edgeV = v < 0.5 ? v : 1 - v;
    const double edge = edgeU < edgeV ? edgeU : edgeV;
    const double diagonal = u > v ? u - v : v - u;
    const bool frame = edge < 0.12;
    const bool brace = !frame && diagonal < 0.10;
    double value = 0.50 + 0.24 * (frame && edgeV < edgeU ? turned(alongU, t) : noise(alongV, t));
    if (frame) value += 0.14;
    if (brace) value += 0.08 + 0.12 * noise(ofBrace, t);
    if (!frame && !brace) value *= 1 - 0.6 * seam(u * 5 + 0.1, 0.035);
    value *= 1 - 0.65 * (1 - ramp(0.004, 0.012, edge > 0.12 ? edge - 0.12 : 0.12 - edge));
    if (brace) value *= 1 - 0.55 * ramp(0.088, 0.1, diagonal);
    const double nailU = edgeU - 0.06, nailV = edgeV - 0.06;
    if (nailU * nailU + nailV * nailV < 0.00022) value = 0.12;
    return value;
  }
};

struct Books {
  uint32_t seed;
  Octaves board, dark, cover;
  Lattice letters;
  explicit Books(uint32_t seed)
      : seed(seed), board(48, 4, seed, 8), dark(16, 3, seed + 2), cover(64, 4, seed + 4, 4),
        letters(208, 160, seed + 6) {}
  double at(const Texel& t) const {
    const double u = t.u, v = t.v;
    const auto rowIndex = static_cast<uint32_t>(floorToInt(v * 4));
    const double inRow = v * 4 - rowIndex;
    if (inRow > 0.91) return 0.46 + 0.12 * turned(board, t);
    // Books of uneven width: 26 slots per row, some joined to their left neighbour.
    auto slot = static_cast<uint32_t>(floorToInt(u * 26));
    if (unit(hash(slot, rowIndex, seed)) < 0.35 && slot > 0) --slot;
    const double height = 0.62 + 0.24 * unit(hash(slot, rowIndex, seed + 1));
    if (0.91 - inRow > height) return 0.07 + 0.03 * noise(dark, t);
    const double tone = 0.14 + 0.72 * unit(hash(slot, rowIndex, seed + 3));
    const double up = (0.91 - inRow) / height;
    double value = tone + 0.07 * noise(cover, t);
    const double band = 0.15 + 0.6 * unit(hash(slot, rowIndex, seed + 5));
    if (up > band && up < band + 0.14) value = 1 - tone + 0.35 * (letters.at(u * 208, v * 160) - 0.5);
    return value * (1 - 0.55 * seam(u * 26, 0.07));
  }
};

struct Rug {
  Octaves fine, broad;
  explicit Rug(uint32_t seed) : fine(128, 3, seed), broad(6, 4, seed + 2) {}
  double at(const Texel& t) const {
    const double u = t.u, v = t.v;
    const double edgeU = u < 0.5 ? u : 1 - u, edgeV = v < 0.5 ? v : 1 - v;
    const double edge = edgeU < edgeV ? edgeU : edgeV;
    const double p = u * 8 - floorToInt(u * 8) - 0.5, q = v * 6 - floorToInt(v * 6) - 0.5;
    const double diamond = (p < 0 ? -p : p) + (q < 0 ? -q : q);
    double value = diamond < 0.22 ? 0.78 : diamond < 0.40 ? 0.22 : 0.52;
    if (edge < 0.07) value = edge > 0.02 && edge < 0.05 ? 0.80 : 0.25;
    return value + 0.10 * noise(fine, t) + 0.10 * noise(broad, t);
  }
};

/// Uneven patches: the nearest of jittered centres decides the tone.
struct Patches {
  static constexpr int32_t kCells = 5;
  struct Centre {
    double x, y, tone;
  };
  Centre centres[kCells + 2][kCells + 2];  ///< of the cells from -1 to kCells
  Octaves fine;
  explicit Patches(uint32_t seed) : fine(24, 4, seed + 3) {
    for (int32_t y = -1; y <= kCells; ++y) {
      for (int32_t x = -1; x <= kCells; ++x) {
        const auto wx = static_cast<uint32_t>((x + kCells) % kCells), wy = static_cast<uint32_t>((y + kCells) % kCells);
        centres[y + 1][x + 1] = {x + unit(hash(wx, wy, seed)), y + unit(hash(wx, wy, seed + 1)),
                                 unit(hash(wx, wy, seed + 2))};
      }
    }
  }
  double at(const Texel& t) const {
    const double x = t.u * kCells, y = t.v * kCells;
    const int32_t left = floorToInt(x), top = floorToInt(y);
    double best = 9, second = 9, tone = 0;
    for (int32_t row = top; row < top + 3; ++row) {
      for (int32_t column = left; column < left + 3; ++column) {
        const Centre& centre = centres[row][column];
        const double ox = centre.x - x, oy = centre.y - y, distance = ox * ox + oy * oy;
        if (distance < best) {
          second = best;
          best = distance;
          tone = centre.tone;
        } else if (distance < second) {
          second = distance;
        }
      }
    }
    const double border = ramp(0.01, 0.06, second - best);
    return (0.12 + 0.80 * tone + 0.12 * noise(fine, t)) * (0.35 + 0.65 * border);
  }
};

struct Dots {
  Octaves ground;
  explicit Dots(uint32_t seed) : ground(16, 5, seed) {}
  double at(const Texel& t) const {
    const double u = t.u, v = t.v;
    const int32_t row = floorToInt(v * 7);
    const double offset = row & 1 ? 0.5 : 0.0;
    const double p = u * 7 + offset - floorToInt(u * 7 + offset) - 0.5, q = v * 7 - row - 0.5;
    const double inside = 1 - ramp(0.085, 0.115, p * p + q * q);
    return 0.24 + 0.58 * inside + 0.14 * noise(ground, t);
  }
};

struct Marble {
  Octaves warp, veins;
  explicit Marble(uint32_t seed) : warp(4, 3, seed + 1), veins(6, 6, seed) {}
  double at(const Texel& t) const { return 0.62 + 0.30 * veins.at(t.u + 0.12 * noise(warp, t), t.v); }
};

struct Card {
  Octaves fibre;
  explicit Card(uint32_t seed) : fibre(48, 4, seed) {}
  double at(const Texel& t) const { return 0.58 + 0.05 * noise(fibre, t) - 0.30 * seam(t.u + 0.5, 0.035); }
};

/// A landscape in a frame: sky, sun, three ridges.
struct Poster {
  static constexpr int kRidges = 3;
  Octaves paper, sky;
  std::vector<Octaves> slopes;
  std::vector<double> crests;  ///< [kRidges][kTileSize]: the height of a ridge in each column of texels
  explicit Poster(uint32_t seed) : paper(64, 2, seed), sky(5, 4, seed) {
    for (int ridge = 0; ridge < kRidges; ++ridge) {
      slopes.emplace_back(20, 5, seed + 30 + ridge);
      const Octaves outline(4 + 2 * ridge, 5, seed + 20 + ridge);
      for (int32_t x = 0; x < kTileSize; ++x) {
        crests.push_back(0.46 + 0.14 * ridge + 0.10 * outline.at((x + 0.5) / kTileSize, 0.1));
      }
    }
  }
  double at(const Texel& t) const {
    const double u = t.u, v = t.v;
    const double edgeU = u < 0.5 ? u : 1 - u, edgeV = v < 0.5 ? v : 1 - v;
    if (edgeU < 0.045 || edgeV < 0.045) return 0.13;
    if (edgeU < 0.10 || edgeV < 0.10) return 0.93 + 0.02 * noise(paper, t);
    // A later ridge is in front of an earlier one.
    const double* crest = &crests[t.x];
    for (int ridge = kRidges - 1; ridge >= 0; --ridge) {
      if (v > crest[ridge * kTileSize]) return 0.56 - 0.17 * ridge + 0.16 * noise(slopes[ridge], t);
    }
    const double sunU = u - 0.68, sunV = v - 0.32;
    if (sunU * sunU + sunV * sunV < 0.012) return 0.98;
    return 0.84 - 0.25 * v + 0.05 * noise(sky, t);
  }
};

struct Linen {
  Octaves warp, weft;
  explicit Linen(uint32_t seed) : warp(64, 3, seed, 4), weft(64, 3, seed + 1, 4) {}
  double at(const Texel& t) const { return 0.86 + 0.05 * noise(warp, t) + 0.04 * turned(weft, t); }
};

struct Bare {
  double at(const Texel&) const { return 0.7; }
};

struct Slats {
  static constexpr int kCount = 12;
  double at(const Texel& t) const {
    const double p = t.u * kCount - floorToInt(t.u * kCount);
    return 0.78 - 0.42 * ramp(0.50, 0.66, p) * (1 - ramp(0.88, 1, p));
  }
};

struct Tiles {
  static constexpr int kCount = 4;
  double at(const Texel& t) const {
    const double u = t.u, v = t.v;
    const double joint = seam(u * kCount, 0.035), course = seam(v * kCount, 0.035);
    return 0.80 - 0.45 * (joint > course ? joint : course);
  }
};

/// kTileSize rows of kTileSize texels.
template <class P>
std::vector<uint8_t> painted(const P& paint) {
  std::vector<uint8_t> texels;
  texels.reserve(kTileSize * kTileSize);
  for (int32_t y = 0; y < kTileSize; ++y) {
    for (int32_t x = 0; x < kTileSize; ++x) {
      const double value = paint.at({x, y, (x + 0.5) / kTileSize, (y + 0.5) / kTileSize});
      texels.push_back(static_cast<uint8_t>(clamp01(value) * 255 + 0.5));
    }
  }
  return texels;
}

std::vector<uint8_t> paintPixels(Paint paint, uint32_t seed) {
  switch (paint) {
    case Paint::kPlaster: return painted(Plaster(seed));
    case Paint::kPlanks: return painted(Planks(seed));
    case Paint::kCrate: return painted(Crate(seed));
    case Paint::kBooks: return painted(Books(seed));
    case Paint::kRug: return painted(Rug(seed));
    case Paint::kPatches: return painted(Patches(seed));
    case Paint::kDots: return painted(Dots(seed));
    case Paint::kMarble: return painted(Marble(seed));
    case Paint::kCard: return painted(Card(seed));
    case Paint::kPoster: return painted(Poster(seed));
    case Paint::kLinen: return painted(Linen(seed));
    case Paint::kBare: return painted(Bare());
    case Paint::kSlats: return painted(Slats());
    case Paint::kTiles: return painted(Tiles());
  }
  return {};
}

}  // namespace

Textures::Textures(uint32_t seed) {
  std::atomic<int> next{0};
  both([&](int) {
    for (int paint = next++; paint < kPaintCount; paint = next++) {
      levels_[paint] = paintTile(static_cast<Paint>(paint), seed * 1000u + 50u * static_cast<uint32_t>(paint));
    }
  });
}

std::shared_ptr<const Textures> sharedTextures(uint32_t seed) {
  static std::mutex mutex;
  static uint32_t newestSeed = 0;
  static std::shared_ptr<const Textures> newest;
  const std::lock_guard<std::mutex> lock(mutex);
  if (newest == nullptr || newestSeed != seed) newest = std::make_shared<const Textures>(seed);
  newestSeed = seed;
  return newest;
}

std::vector<Textures::Level> Textures::paintTile(Paint paint, uint32_t seed) {
  std::vector<Level> chain;
  chain.push_back({kTileSize, paintPixels(paint, seed)});
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
  const int32_t fx = floorToInt(x), fy = floorToInt(y);
  const double sx = x - fx, sy = y - fy;
  const int32_t mask = level.size - 1;
  const int32_t x0 = fx & mask, y0 = fy & mask;
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
