// SPDX-License-Identifier: Apache-2.0
// Semi-global matching in the forms that Hernandez-Juarez et al. 2016 optimise step by step. Every form gives the winners of
// match/sgm with minDisparity 0, one census word, one P2 and outsideCost 63. They are no part of the product.
#pragma once

#include <cuda_runtime.h>

#include "../../device/device_buffer.h"
#include "../../match/matching.h"

namespace depthwatt {
namespace gpu {
namespace baseline {

/// Each form changes one thing of the one before, from kBlock on.
enum class SgmForm {
  kThread,     ///< everything in global memory: one thread walks a slice; census and costs without shared memory
  kPlanes,     ///< as kBlock, but neighbouring disparities are a whole image apart: uncoalesced loads along rows
  kTexture,    ///< as kBlock, but costs come through a texture
  kBlock,      ///< the paper's algorithms 1 to 4: one block walks a slice, costs and selection are kernels of their own
  kWarp,       ///< one warp walks a slice, four costs in a register
  kSelecting,  ///< the last path selects
  kFused,      ///< the paths along rows compute their costs
  kNoCosts,    ///< every path computes its costs: no volume of them
  kSeven,      ///< as kNoCosts, with minima of bytes below 128 where all candidates are inside
};
constexpr SgmForm kSgmForms[] = {SgmForm::kThread, SgmForm::kPlanes,  SgmForm::kTexture,
                                 SgmForm::kBlock,  SgmForm::kWarp,    SgmForm::kSelecting,
                                 SgmForm::kFused,  SgmForm::kNoCosts, SgmForm::kSeven};

/// Returns what a result file calls the form.
const char* sgmFormName(SgmForm form);
/// Returns whether the form can compute these parameters.
bool sgmFormSuits(SgmForm form, const SgmParameters& parameters);

class SgmBaseline {
 public:
  ~SgmBaseline();
  Status open(SgmForm form, const SgmParameters& parameters, int width, int height);
  /// Computes whole disparities from grey images in device memory.
  Status compute(const uint8_t* left, const uint8_t* right, int16_t* disparity, cudaStream_t stream);

 private:
  SgmForm form_ = SgmForm::kBlock;
  SgmParameters parameters_;
  int width_ = 0, height_ = 0, padded_ = 0;
  cudaTextureObject_t texture_ = 0;
  DeviceBuffer<uint32_t> census_[2];
  DeviceBuffer<uint8_t> cost_, paths_[8];
};

}  // namespace baseline
}  // namespace gpu
}  // namespace depthwatt
