// SPDX-License-Identifier: Apache-2.0
// Compares voxels with their reference: both frames, any size and growth, over every kind of disparity.
#pragma once

#include "../output/voxels/voxels_gpu.h"
#include "twins.h"

namespace depthwatt {

inline void checkVoxels(Random& random, const Case& c) {
  const size_t pixels = static_cast<size_t>(c.width) * c.height;
  std::vector<int16_t> disparity(pixels);
  const int largest = random.whole(0, 2) == 0 ? 32767 : random.whole(80, 4000);
  for (int16_t& value : disparity)
    value = static_cast<int16_t>(random.whole(0, 9) == 0 ? kInvalidDisparity : random.whole(-40, largest));
  VoxelsParameters p;
  p.focalPixels = random.whole(50, 900);
  p.baselineMetres = 0.001 * random.whole(20, 300);
  p.disparityOffsetPixels = random.whole(0, 1) == 0 ? 0 : 0.01 * random.whole(-500, 500);
  p.cx = 0.01 * random.whole(-1000, 100 * c.width), p.cy = 0.01 * random.whole(-1000, 100 * c.height);
  p.sizeMillimetres = random.whole(5, 400);
  p.uncertaintyPixels = random.whole(0, 32) / 16.0;
  DeviceBuffer<int16_t> dDisparity;
  upload(dDisparity, disparity);
  for (const PointFrame frame : {PointFrame::kCamera, PointFrame::kRobot}) {
    p.frame = frame;
    const std::string what = "voxels " + c.name + (frame == PointFrame::kCamera ? ", camera" : ", robot");
    std::vector<Voxel> expected(pixels + 1);
    const int32_t count =
        voxelsReference(p, packedView<const int16_t>(disparity.data(), c.width, c.height), expected.data());
    expected.resize(static_cast<size_t>(count) + 1);
    DeviceBuffer<Voxel> dVoxels;
    require(dVoxels.allocate(pixels + 1), what.c_str());
    // Places behind the list are fetched too.
    require(cudaStatus(cudaMemset(dVoxels.get(), 0, dVoxels.bytes()), "clearing of the voxels"), what.c_str());
    gpu::VoxelsWorkspace voxels;
    require(voxels.open(makeVoxelsPlan(p, c.width, c.height), c.width, c.height), what.c_str());
    // Twice: the second frame finds what the first one left.
    for (int run = 0; run < 2; ++run) {
      require(voxels.compute(dDisparity.get(), dVoxels.get(), nullptr), what.c_str());
      require(cudaStatus(cudaDeviceSynchronize(), "voxels"), what.c_str());
      const std::vector<Voxel> got = fetched(dVoxels);
      const auto cells = [&](const std::vector<Voxel>& list) {
        const auto* first = reinterpret_cast<const int16_t*>(list.data());
        return std::vector<int16_t>(first, first + 4 * expected.size());
      };
      expectSame(cells(expected), cells(got), 4, what);
    }
  }
}

}  // namespace depthwatt
