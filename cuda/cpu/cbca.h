// SPDX-License-Identifier: Apache-2.0
// The cross-based matcher as a whole (Chang and Maruyama): cross, ground control points, median, bilateral
// estimation. Halving before it and upscaling after it are the engine's stages.
#pragma once

#include <memory>
#include <vector>

#include "../match/cbca/cbca_parameters.h"
#include "../match/cbca/cross.h"
#include "../match/matching.h"
#include "kernels.h"

namespace depthwatt {

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
