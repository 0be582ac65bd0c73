// SPDX-License-Identifier: Apache-2.0
// The cross-based matcher as a whole [papers/001]: cross, ground control points, median, bilateral
// estimation. Halving before it and upscaling after it are the engine's stages.
#pragma once

#include <memory>
#include <vector>

#include "../match/cross/cross.h"
#include "../match/matching.h"
#include "kernels.h"

namespace depthwatt {

struct CbcaParameters {
  int32_t minDisparity = 0, numDisparities = 64;
  bool halfResolution = true;  ///< the images are of half resolution
  /// Longest arm and grey difference of one region, by the scenes for tuning (decision 0803). The paper has arms of 21 x 31 at
  /// half and 41 x 61 at full resolution (section V), and 13 for both.
  int32_t arm() const { return halfResolution ? 3 : 9; }
  int32_t similarity() const { return halfResolution ? 30 : 13; }
};

/// Largest difference that bilateral estimation bridges, T = 3 pixels.
constexpr int32_t kCbcaThresholdQ4 = 48;

class Cbca {
 public:
  static Status open(const CbcaParameters& parameters, int32_t width, int32_t height, const Kernels& kernels,
                     Workers& workers, std::unique_ptr<Cbca>* opened);

  /// disparityQ4: every pixel has one where any has. confidence: 255 at ground control points, 0 elsewhere.
  void compute(ImageView<const uint8_t> left, ImageView<const uint8_t> right, ImageView<int16_t> disparityQ4,
               ImageView<uint8_t> confidence);
  size_t workspaceBytes() const;

 private:
  Cbca(int32_t width, int32_t height, const Kernels& kernels, Workers& workers);
  template <class T>
  ImageView<T> view(std::vector<T>& image) const {
    return packedView(image.data(), width_, height_);
  }

  const Kernels& kernels_;
  Workers& workers_;
  const int32_t width_, height_;
  std::vector<int16_t> disparity_, rightDisparity_, points_;
  std::unique_ptr<Cross> cross_;
};

}  // namespace depthwatt
