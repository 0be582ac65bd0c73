// SPDX-License-Identifier: Apache-2.0
// Voxels on CUDA: the list of voxels.h, from and to device memory.
#pragma once

#include <cuda_runtime.h>

#include "../../device/device_buffer.h"
#include "voxels.h"

namespace depthwatt {
namespace gpu {

/// The plan and a hash table of voxels, made at open for one size.
class VoxelsWorkspace {
 public:
  Status open(const VoxelsPlan& plan, int32_t width, int32_t height);
  size_t bytes() const;
  /// @param disparityQ4 with packed rows. @param voxels voxelBytes(), at a multiple of 8 bytes
  Status compute(const int16_t* disparityQ4, Voxel* voxels, cudaStream_t stream) const;

 private:
  int32_t width_ = 0, pixels_ = 0, shift_ = 0;
  bool robot_ = false;
  DeviceBuffer<int32_t> rays_;  ///< columns, then rows
  DeviceBuffer<uint32_t> depths_;
  DeviceBuffer<int64_t> halfBaseline_;
  DeviceBuffer<unsigned long long> keys_;  ///< the table: a voxel's bits, or all ones
  DeviceBuffer<uint32_t> firsts_;          ///< the first pixel in the voxel, by place in the table
  DeviceBuffer<uint32_t> places_;          ///< of each pixel in the table, or none
  DeviceBuffer<uint32_t> counts_;          ///< new voxels of each block of pixels
};

}  // namespace gpu
}  // namespace depthwatt
