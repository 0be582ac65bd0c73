// SPDX-License-Identifier: Apache-2.0
// Registration on CUDA; see registration.h. One thread per pixel of the disparity, then one per pixel of the other image. The
// depth buffer takes the smaller value in any order, so the result does not depend on the order of threads.
#include "../../device/check.h"
#include "registration_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kBlockX = 32, kBlockY = 8;

__device__ __forceinline__ int64_t floorDivide(int64_t value, int64_t by) {
  const int64_t quotient = value / by;
  return quotient - (quotient * by > value ? 1 : 0);
}

__device__ __forceinline__ int64_t linear(const int64_t* row, int x, int y, int disparity) {
  return row[0] * x + row[1] * y + row[2] + row[3] * disparity;
}

/// Distorts a position. Returns false if there is none.
__device__ __forceinline__ bool distort(const RegistrationPlan& plan, int64_t* p, int64_t* q) {
  const int64_t x = *p - plan.gridX, y = *q - plan.gridY;
  if (x < 0 || y < 0) return false;
  const int64_t column = x / kCellSteps, row = y / kCellSteps;
  if (column + 1 >= plan.gridWidth || row + 1 >= plan.gridHeight) return false;
  const int32_t* const upper = plan.grid + 2 * (row * plan.gridWidth + column);
  const int32_t* const lower = upper + 2 * plan.gridWidth;
  if (upper[0] == kNoNode || upper[2] == kNoNode || lower[0] == kNoNode || lower[2] == kNoNode) return false;
  const int64_t fx = x - column * kCellSteps, fy = y - row * kCellSteps;
  const int64_t whole = static_cast<int64_t>(kCellSteps) * kCellSteps;
  int64_t at[2];
#pragma unroll
  for (int axis = 0; axis < 2; ++axis) {
    const int64_t above = (kCellSteps - fx) * upper[axis] + fx * upper[2 + axis];
    const int64_t below = (kCellSteps - fx) * lower[axis] + fx * lower[2 + axis];
    at[axis] = floorDivide(2 * ((kCellSteps - fy) * above + fy * below) + whole, 2 * whole);
  }
  *p = at[0];
  *q = at[1];
  return true;
}

__global__ void __launch_bounds__(kBlockX* kBlockY)
    projectKernel(RegistrationPlan plan, const int16_t* disparityQ4, const uint8_t* confidence, int width, int height,
                  uint32_t* buffer) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= width || y >= height) return;
  const size_t at = static_cast<size_t>(y) * width + x;
  const int disparity = disparityQ4[at];
  const int64_t w = linear(plan.w, x, y, disparity), denominator = plan.disparityUnit * disparity + plan.offset;
  if (disparity == kInvalidDisparity || w <= 0 || denominator <= 0) return;
  int64_t p = floorDivide(linear(plan.u, x, y, disparity), w), q = floorDivide(linear(plan.v, x, y, disparity), w);
  if (plan.grid != nullptr && !distort(plan, &p, &q)) return;
  const int64_t column = floorDivide(p + 16, 32), row = floorDivide(q + 16, 32);
  if (column < 0 || row < 0 || column >= plan.outWidth || row >= plan.outHeight) return;
  const int64_t millimetres = floorDivide(linear(plan.depth, x, y, disparity) + denominator / 2, denominator);
  if (millimetres < 1 || millimetres > 65535) return;
  atomicMin(buffer + (row + 1) * (plan.outWidth + 2) + column + 1,
            static_cast<uint32_t>(millimetres) * 256u + 255u - confidence[at]);
}

__global__ void __launch_bounds__(kBlockX* kBlockY)
    resolveKernel(int width, int height, const uint32_t* buffer, uint32_t* visible) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= width || y >= height) return;
  const int stride = width + 2;
  const size_t at = static_cast<size_t>(y + 1) * stride + x + 1;
  const uint32_t value = buffer[at], own = 15u * (value >> 8);
  const int ways[4] = {1, stride, stride + 1, stride - 1};
  bool hidden = false;
#pragma unroll
  for (int i = 0; i < 4; ++i)
    hidden = hidden || (16u * (buffer[at + ways[i]] >> 8) < own && 16u * (buffer[at - ways[i]] >> 8) < own);
  visible[at] = hidden ? kNoDepth : value;
}

template <bool kFill>
__global__ void __launch_bounds__(kBlockX* kBlockY)
    writeKernel(int width, int height, const uint32_t* visible, uint16_t* millimetres, uint8_t* registeredConfidence) {
  const int x = blockIdx.x * kBlockX + threadIdx.x, y = blockIdx.y * kBlockY + threadIdx.y;
  if (x >= width || y >= height) return;
  const int stride = width + 2;
  const size_t at = static_cast<size_t>(y + 1) * stride + x + 1, to = static_cast<size_t>(y) * width + x;
  const uint32_t value = visible[at];
  uint32_t depth = value == kNoDepth ? 0 : value >> 8;
  if (kFill && value == kNoDepth) {
    int around = 0;
    uint32_t farthest = 0;
    for (int dy = -1; dy <= 1; ++dy) {
      for (int dx = -1; dx <= 1; ++dx) {
        const uint32_t near = visible[at + dy * stride + dx];
        if (near == kNoDepth) continue;
        ++around;
        if ((near >> 8) > farthest) farthest = near >> 8;
      }
    }
    if (around >= 5) depth = farthest;
  }
  millimetres[to] = static_cast<uint16_t>(depth);
  registeredConfidence[to] = static_cast<uint8_t>(value == kNoDepth ? 0 : 255u - (value & 255u));
}

dim3 gridOf(int width, int height) {
  return dim3(static_cast<unsigned>((width + kBlockX - 1) / kBlockX),
              static_cast<unsigned>((height + kBlockY - 1) / kBlockY));
}

}  // namespace

Status RegistrationWorkspace::open(const RegistrationPlan& plan) {
  plan_ = plan;
  DEPTHWATT_TRY(buffer_.allocate(bufferPixels(plan)));
  DEPTHWATT_TRY(visible_.allocate(bufferPixels(plan)));
  // The border stays as it is.
  DEPTHWATT_CUDA(cudaMemset(visible_.get(), 0xff, visible_.bytes()));
  if (plan.grid == nullptr) return {};
  DEPTHWATT_TRY(grid_.allocate(2 * static_cast<size_t>(plan.gridWidth) * static_cast<size_t>(plan.gridHeight)));
  plan_.grid = grid_.get();
  return cudaStatus(cudaMemcpy(grid_.get(), plan.grid, grid_.bytes(), cudaMemcpyHostToDevice), "copy of a lens grid");
}

Status RegistrationWorkspace::compute(const int16_t* disparityQ4, const uint8_t* confidence, int32_t width,
                                      int32_t height, uint16_t* millimetres, uint8_t* registeredConfidence,
                                      cudaStream_t stream) const {
  const dim3 block(kBlockX, kBlockY), out = gridOf(plan_.outWidth, plan_.outHeight);
  DEPTHWATT_CUDA(cudaMemsetAsync(buffer_.get(), 0xff, buffer_.bytes(), stream));
  projectKernel<<<gridOf(width, height), block, 0, stream>>>(plan_, disparityQ4, confidence, width, height,
                                                             buffer_.get());
  DEPTHWATT_TRY(launched("projectKernel"));
  resolveKernel<<<out, block, 0, stream>>>(plan_.outWidth, plan_.outHeight, buffer_.get(), visible_.get());
  DEPTHWATT_TRY(launched("resolveKernel"));
  const auto write = plan_.fill ? writeKernel<true> : writeKernel<false>;
  write<<<out, block, 0, stream>>>(plan_.outWidth, plan_.outHeight, visible_.get(), millimetres, registeredConfidence);
  return launched("writeKernel");
}

}  // namespace gpu
}  // namespace depthwatt
