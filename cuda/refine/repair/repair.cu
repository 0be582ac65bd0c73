// SPDX-License-Identifier: Apache-2.0
// The repair on CUDA; see repair.h. One launch per pass, one thread per pixel. Every pixel of a pass reads only the
// previous pass's result, so pixels may run in any order: from one pair of images to another and back. A warp is 32
// pixels of a row in all passes, so its reads are contiguous along rows and columns.
#include "repair.h"

#include "repair_gpu.h"
#include "../../device/launch.cuh"
#include "../../device/traits.h"

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kColumns = 32, kRows = 8;

struct RepairArguments {
  const int16_t* disparityQ4;
  const uint8_t* sure;
  int16_t* repairedQ4;
  uint8_t* repairedSure;
  int width, height;
};

/// Returns the steps to the nearest of the next `inside` pixels that is certain enough, where a step moves by `step`;
/// 0: none is.
__device__ __forceinline__ int stepsToSurer(const uint8_t* sure, int step, int inside, int need) {
  for (int k = 1; k <= inside; ++k) {
    if (sure[k * step] >= need) return k;
  }
  return 0;
}

template <bool kAlongColumns>
__global__ void __launch_bounds__(kColumns* kRows) repairKernel(RepairArguments a) {
  const int x = blockIdx.x * kColumns + threadIdx.x, y = blockIdx.y * kRows + threadIdx.y;
  untilKernelBefore();
  if (x >= a.width || y >= a.height) return;
  const size_t at = static_cast<size_t>(y) * a.width + x;
  const int own = a.sure[at], need = own + (own + 9) / 10;
  int disparity = a.disparityQ4[at], sure = own;
  if (own > 0 && need <= 255) {
    const int place = kAlongColumns ? y : x, last = (kAlongColumns ? a.height : a.width) - 1;
    const int step = kAlongColumns ? a.width : 1;
    const int before = stepsToSurer(a.sure + at, -step, min(place, kRepairReach), need);
    const int after = before == 0 ? 0 : stepsToSurer(a.sure + at, step, min(last - place, kRepairReach), need);
    if (after > 0) {
      const int16_t* const found = a.disparityQ4 + at;
      const int one = found[-before * step], other = found[after * step];
      if (abs(one - other) <= kRepairAgreementQ4) disparity = (one + other) / 2, sure = need;
    }
  }
  a.repairedQ4[at] = static_cast<int16_t>(disparity);
  a.repairedSure[at] = static_cast<uint8_t>(sure);
}

Status pass(const char* name, void (*kernel)(RepairArguments), const RepairArguments& arguments, bool overlaps,
            cudaStream_t stream) {
  const dim3 grid((arguments.width + kColumns - 1) / kColumns, (arguments.height + kRows - 1) / kRows);
  return launch(name, kernel, LaunchShape{grid, dim3(kColumns, kRows), 0, stream, overlaps}, arguments);
}

}  // namespace

Status repair(int16_t* disparityQ4, uint8_t* sure, int16_t* repairedQ4, uint8_t* repairedSure, int32_t width,
              int32_t height, cudaStream_t stream) {
  static_assert(kRepairPasses == 3, "along the rows, along the columns, along the rows");
  const RepairArguments there = {disparityQ4, sure, repairedQ4, repairedSure, width, height};
  const RepairArguments back = {repairedQ4, repairedSure, disparityQ4, sure, width, height};
  static const bool rowsOverlap = waitsForKernelBefore(reinterpret_cast<const void*>(repairKernel<false>));
  static const bool columnsOverlap = waitsForKernelBefore(reinterpret_cast<const void*>(repairKernel<true>));
  DEPTHWATT_TRY(pass("repairKernel", repairKernel<false>, there, rowsOverlap, stream));
  DEPTHWATT_TRY(pass("repairKernel", repairKernel<true>, back, columnsOverlap, stream));
  return pass("repairKernel", repairKernel<false>, there, rowsOverlap, stream);
}

}  // namespace gpu
}  // namespace depthwatt
