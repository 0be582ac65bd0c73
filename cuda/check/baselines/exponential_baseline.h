// SPDX-License-Identifier: Apache-2.0
// Aggregation in exponential steps in the forms that Yu et al. 2010 optimise step by step (section IV, figure 12). Every form
// gives the winners of match/exponential for costs, not messages. They are no part of the product.
#pragma once

#include <cuda_runtime.h>

#include "../../device/device_buffer.h"
#include "../../match/exponential/exponential.h"

namespace depthwatt {
namespace gpu {
namespace baseline {

enum class ExponentialForm {
  kTexture,    ///< the paper's baseline: every pass reads a texture, into which the costs were copied
  kGlobal,     ///< every pass reads global memory; loads along x are not aligned
  kCoalesced,  ///< passes along x read aligned parts of a row into shared memory first
};
constexpr ExponentialForm kExponentialForms[] = {ExponentialForm::kTexture, ExponentialForm::kGlobal,
                                                 ExponentialForm::kCoalesced};
const char* exponentialFormName(ExponentialForm form);

/// Pixels of a block: width a multiple of 32.
struct BlockSize {
  int width = 32, height = 4;
};

class ExponentialBaseline {
 public:
  ~ExponentialBaseline();
  Status open(ExponentialForm form, const BlockSize& block, const ExponentialParameters& parameters, int width,
              int height);
  /// Computes whole disparities from images in device memory.
  Status compute(const uint8_t* left, const uint8_t* right, const Rgb8* leftRgb, int16_t* disparity,
                 cudaStream_t stream);
  /// Computes one pass of the last image, along x or y, for timing: the first pass of that direction.
  Status onePass(bool alongX, const Rgb8* leftRgb, cudaStream_t stream);

 private:
  Status aggregate(const ExponentialPass* pass, bool alongX, int step, const Rgb8* leftRgb, cudaStream_t stream);
  ExponentialForm form_ = ExponentialForm::kGlobal;
  BlockSize block_;
  ExponentialParameters parameters_;
  int width_ = 0, height_ = 0, passCount_ = 0;
  ExponentialPass passes_[2 * kMaxSteps];
  DeviceBuffer<ExponentialPass> devicePasses_;
  DeviceBuffer<uint16_t> cells_[2];
  int current_ = 0;  ///< which of the two holds the costs
  cudaTextureObject_t texture_ = 0;
};

}  // namespace baseline
}  // namespace gpu
}  // namespace depthwatt
