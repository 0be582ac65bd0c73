// SPDX-License-Identifier: Apache-2.0
// Procedural pictures for the scene's surfaces: square tiles that repeat without a seam, with halved copies (a mip
// chain), so that a far surface is as smooth as a lens would make it and not a field of aliases.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace depthwatt::scene {

/// What a surface is painted with. Each holds several octaves, amplitude falling with frequency as in photographs;
/// kPlaster, kCard and kLinen are weak on purpose: real rooms have walls that a matcher can hardly hold on to.
enum class Paint : uint8_t {
  kPlaster,
  kPlanks,
  kCrate,
  kBooks,
  kRug,
  kPatches,
  kDots,
  kMarble,
  kCard,
  kPoster,
  kLinen,
  kBare,  ///< one grey value
  kSlats  ///< the same stripe over and over, along u
};
constexpr int kPaintCount = 13;

class Textures {
 public:
  /// 512x512 texels per paint. Adds, multiplies, divides and floor only: the same bytes on every machine.
  explicit Textures(uint32_t seed);

  /// Grey 0 to 255 at (u, v) in tiles, any real number. `footprint`: width of the pixel on the surface, in tiles.
  double sample(Paint paint, double u, double v, double footprint) const;

 private:
  struct Level {
    int32_t size = 0;
    std::vector<uint8_t> texels;
  };
  static std::vector<Level> paintTile(Paint paint, uint32_t seed);
  static double bilinear(const Level& level, double u, double v);
  std::vector<Level> levels_[kPaintCount];
};

/// The textures of a seed, painted once for all scenes that are alive at the same time.
std::shared_ptr<const Textures> texturesOf(uint32_t seed);

}  // namespace depthwatt::scene
