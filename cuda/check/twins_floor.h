// SPDX-License-Identifier: Apache-2.0
// Compares the floor and its grid with their references: planes with noise, holes and an obstacle, over several frames, and noise
// alone.
#pragma once

#include "../output/floor/floor_gpu.h"
#include "../output/grid/grid_gpu.h"
#include "twins.h"

namespace depthwatt {

/// Draws a floor that a camera of this view can see, with a box on it.
inline void drawFloor(Random& random, const Case& c, const FloorSettings& view, std::vector<int16_t>& disparity) {
  const double a = 0.01 * random.whole(-15, 15), b = 0.01 * random.whole(30, 400);
  const double horizon = view.cy - 0.01 * random.whole(-30, 60) * c.height;
  const int left = random.whole(0, c.width), top = random.whole(0, c.height), noise = random.whole(0, 6);
  for (int y = 0; y < c.height; ++y) {
    for (int x = 0; x < c.width; ++x) {
      const bool box = x >= left && x < left + c.width / 5 && y >= top && y < top + c.height / 4;
      const double q = box ? 16.0 * random.whole(30, 31) : a * b * (x - view.cx) + b * (y - horizon);
      const double far = q < 16 ? 16 : q;
      disparity[static_cast<size_t>(y) * c.width + x] =
          random.whole(0, 7) == 0 ? kInvalidDisparity : static_cast<int16_t>(far + random.whole(-noise, noise));
    }
  }
}

inline void checkFloor(Random& random, const Case& c) {
  const size_t pixels = static_cast<size_t>(c.width) * c.height;
  const std::string what = "floor " + c.name;
  FloorSettings settings;
  settings.focalPixels = random.whole(c.width / 2 + 1, 2 * c.width);
  settings.baselineMetres = 0.01 * random.whole(3, 40);
  settings.disparityOffsetPixels = random.whole(0, 2) == 0 ? 0.1 * random.whole(-60, 60) : 0;
  settings.cx = c.width / 2 + 0.1 * random.whole(-90, 90);
  settings.cy = c.height / 2 + 0.1 * random.whole(-90, 90);
  settings.isSet = random.whole(0, 4) == 0;
  settings.plane = {random.whole(-9999, 9999), random.whole(1, 999999), random.whole(0, 1000000000)};
  const FloorParameters parameters = makeFloorParameters(settings, c.width, c.height);
  GridParameters g;
  g.focalPixels = settings.focalPixels, g.baselineMetres = settings.baselineMetres;
  g.disparityOffsetPixels = settings.disparityOffsetPixels, g.cx = settings.cx, g.cy = settings.cy;
  g.cellMetres = 0.01 * random.whole(2, 100);
  g.aheadCells = random.whole(1, 90), g.leftCells = random.whole(1, 90);
  g.obstacleMetres = 0.01 * random.whole(0, 30), g.tallMetres = random.whole(1, 3);
  g.dropMetres = 0.01 * random.whole(0, 30), g.errorPixels = 0.25 * random.whole(0, 8);
  g.minPixels = random.whole(1, 9), g.stepX = random.whole(1, 3);

  gpu::FloorWorkspace floor;
  gpu::GridWorkspace grid;
  require(floor.open(parameters, c.width, c.height), what);
  require(grid.open(g, c.width, c.height), what);
  DeviceBuffer<double> dNumbers;
  DeviceBuffer<uint8_t> dCells;
  require(dNumbers.allocate(kFloorNumbers), what);
  require(dCells.allocate(gridCells(g)), what);
  FloorMemory memory = {};
  std::vector<int16_t> disparity(pixels);
  std::vector<uint8_t> confidence(pixels);
  for (int frame = 0; frame < 4; ++frame) {
    if (frame == 2) random.fill(disparity, random.whole(0, 1) == 0 ? -32768 : -10, random.whole(0, 1) == 0 ? 300 : 32767);
    else drawFloor(random, c, settings, disparity);
    random.fill(confidence, 0, 9);
    // Lost for long: the next floor without one is the last that keeps it.
    if (frame == 2 && memory.isThere != 0 && random.whole(0, 1) == 0) {
      memory.unseenFrames = kFloorKeptFrames - random.whole(0, 1);
      require(floor.remember(memory), what);
    }
    const ImageView<const int16_t> disparityView = packedView<const int16_t>(disparity.data(), c.width, c.height);
    const ImageView<const uint8_t> confidenceView = packedView<const uint8_t>(confidence.data(), c.width, c.height);
    std::vector<double> expected(kFloorNumbers);
    followFloor(parameters, c.height,
                floorReference(withFloorBefore(parameters, memory), disparityView, confidenceView), &memory,
                expected.data());
    std::vector<uint8_t> expectedCells(gridCells(g), kGridUnknown);
    if (expected[kFloorIsThere] != 0) {
      gridReference(makeGridPlan(g, filteredFloor(expected.data()), c.width, c.height), disparityView, confidenceView,
                    expectedCells.data());
    }
    DeviceBuffer<int16_t> dDisparity;
    DeviceBuffer<uint8_t> dConfidence;
    upload(dDisparity, disparity);
    upload(dConfidence, confidence);
    require(floor.compute(dDisparity.get(), dConfidence.get(), dNumbers.get(), nullptr), what);
    require(grid.compute(dDisparity.get(), dConfidence.get(), dNumbers.get(), dCells.get(), nullptr), what);
    require(cudaStatus(cudaDeviceSynchronize(), "floor"), what);
    const std::string which = what + ", frame " + std::to_string(frame);
    expectSame(expected, fetched(dNumbers), kFloorNumbers, which);
    expectSame(expectedCells, fetched(dCells), g.leftCells, which + ", grid");
  }
}

}  // namespace depthwatt
