// SPDX-License-Identifier: Apache-2.0
// Procedural textures of the scene's surfaces: square tiles that repeat without a seam, with halved copies (a mip
// chain), so that a distant surface is smooth and has no aliasing.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

namespace depthwatt::scene {

/// The paint of a surface. Each has several octaves, amplitude falling with frequency as in photographs. kPlaster,
/// kCard and kLinen have little contrast, like the plain walls of real homes.
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
  kBare,   ///< one grey value
  kSlats,  ///< the same stripe repeated along u
  kTiles   ///< the same square with joints, repeated along u and v
};
constexpr int kPaintCount = 14;

class Textures {
 public:
  /// 512x512 texels per paint. Adds, multiplies, divides and floor only: the same bytes on every machine.
  explicit Textures(uint32_t seed);

  /// Returns grey 0 to 255 at (u, v) in tiles, any real number. @param footprint width of the pixel on the surface, in
  /// tiles
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

/// Returns the textures of a seed. The newest stay for the next scene: 5 MB, which take longer to paint than a frame.
std::shared_ptr<const Textures> sharedTextures(uint32_t seed);

}  // namespace depthwatt::scene
