// SPDX-License-Identifier: Apache-2.0
// The layout of the cells of exponential.cu: [eight][y][x], eight disparities of a pixel are 16 bytes, two in a word,
// so that a warp moves whole cache lines at every step size.
#pragma once

#include <cuda_runtime.h>

#include "exponential.h"

namespace depthwatt {
namespace gpu {
namespace {

/// For kernels with one pixel per thread.
constexpr int kBlockX = 32, kBlockY = 4;
/// Disparities that are stored together, and their words.
constexpr int kEight = 8, kWords = kEight / 2;
/// Above every cell and every cell with a slope.
constexpr int kNothing = 1 << 20;

__device__ __forceinline__ uint32_t& cellWord(uint4& cells, int word) {
  return word == 0 ? cells.x : word == 1 ? cells.y : word == 2 ? cells.z : cells.w;
}

struct Shape {
  int width, height, numDisparities;
  __device__ size_t pixels() const { return static_cast<size_t>(width) * height; }
};

}  // namespace
}  // namespace gpu
}  // namespace depthwatt
