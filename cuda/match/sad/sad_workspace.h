// SPDX-License-Identifier: Apache-2.0
// Window SAD on the device: memory allocated at open, and the kernels of a frame.
#pragma once

#include "../../device/device_buffer.h"
#include "sad.h"

namespace depthwatt {
namespace gpu {

/// Device images with packed rows. rightDisparity may be null.
struct SadDeviceResult {
  int16_t* disparityQ4;
  int16_t* disparity;
  int16_t* rightDisparity;
  uint8_t* confidence;
};

/// How the work is split; 0: chosen for the device. Results do not depend on it.
struct SadTuning {
  int32_t bandRows = 0;  ///< rows per block
  int32_t slabRows = 0;  ///< rows whose sums are held at a time, if they are stored
  bool stored = false;   ///< store sums in memory, as with more than 128 disparities
  int32_t ring =
      -1;  ///< 1: costs are kept in shared memory where they fit; 2: and in wide blocks where those fit; 0: computed twice;
           ///< -1: as the device suggests
};

class SadWorkspace {
 public:
  Status open(const SadParameters& parameters, int32_t width, int32_t height, bool wantsRight,
              const SadTuning& tuning = {});
  size_t bytes() const { return sums_.bytes() + rightKeys_.bytes(); }
  Status compute(const HsvPixel* left, const HsvPixel* right, const SadDeviceResult& result, cudaStream_t stream);

 private:
  SadParameters p_;
  int32_t width_ = 0, height_ = 0, groups_ = 0, bandRows_ = 0, slabRows_ = 0;
  bool stored_ = false;
  int32_t ringPixels_ = 0;  ///< of a block that keeps costs in shared memory
  size_t keysBytes_ = 0, ringBytes_ = 0;
  DeviceBuffer<uint2> sums_;          ///< [slab rows][width][groups][32]: four disparities each, in their order
  DeviceBuffer<uint32_t> rightKeys_;  ///< [height][width] if sums are not stored
};

}  // namespace gpu
}  // namespace depthwatt
