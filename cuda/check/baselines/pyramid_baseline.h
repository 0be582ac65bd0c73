// SPDX-License-Identifier: Apache-2.0
// The pyramid kernel of Prehn 2007 (section 5.3) before and after the optimisation of section 7.2: one block matches a
// pixel, and every thread loads a column of a window. Both forms give the left winners of match/pyramid. They are no
// part of the product.
#pragma once

#include <cuda_runtime.h>

#include "../../device/device_buffer.h"
#include "../../match/pyramid/pyramid.h"

namespace depthwatt {
namespace gpu {
namespace baseline {

enum class PyramidForm {
  kOriginal,   ///< the window's size and the number of candidates are known when it runs
  kOptimised,  ///< they are constants of the kernel, for windows of 3x3, 5x5 and 7x7
};
constexpr PyramidForm kPyramidForms[] = {PyramidForm::kOriginal, PyramidForm::kOptimised};
/// Returns what a result file calls the form, before the size of the window.
const char* pyramidFormName(PyramidForm form);
/// Returns whether the form can compute these parameters.
bool pyramidFormSuits(PyramidForm form, const PyramidParameters& parameters);

class PyramidBaseline {
 public:
  ~PyramidBaseline();
  Status open(PyramidForm form, const PyramidParameters& parameters, int width, int height);
  /// Computes whole disparities from images in device memory.
  Status compute(const HsvPixel* left, const HsvPixel* right, int16_t* disparity, cudaStream_t stream);
  /// Scales the image of one side down once.
  Status scaleDown(const HsvPixel* image, int side, int level, cudaStream_t stream);

 private:
  PyramidForm form_ = PyramidForm::kOriginal;
  PyramidParameters p_;
  int width_[kMaxLevels + 1] = {}, height_[kMaxLevels + 1] = {};
  DeviceBuffer<HsvPixel> copies_[2][kMaxLevels + 1];  ///< of level 0 and up
  DeviceBuffer<int16_t> wholes_[kMaxLevels + 1];      ///< of level 1 and up
  cudaTextureObject_t textures_[2][kMaxLevels + 1] = {};
};

}  // namespace baseline
}  // namespace gpu
}  // namespace depthwatt
