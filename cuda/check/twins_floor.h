// SPDX-License-Identifier: Apache-2.0
// Compares the floor and its grid with their references: planes with noise, holes and an obstacle, over several frames, and noise
// alone.
#pragma once

#include "../output/floor/floor_gpu.h"
#include "../output/grid/grid_gpu.h"
#include "twins.h"

namespace depthwatt {

/// Draws a floor that the cameras can see, with a box on it and a drop-off. @param slope sixteenths of a pixel for each row
inline void drawFloor(Random& random, const Case& c, const FloorSettings& view, double slope,
                      std::vector<int16_t>& disparity) {
  const double aside = 0.01 * random.whole(-30, 30) * slope;
  const double horizon = view.cy - 0.01 * random.whole(-10, 40) * c.height - view.disparityOffsetPixels * 16 / slope;
  const int left = random.whole(0, c.width), top = random.whole(0, c.height), noise = random.whole(0, 6);
  const double lower = random.whole(0, 2) == 0 ? 0.8 : 1;
  for (int y = 0; y < c.height; ++y) {
    for (int x = 0; x < c.width; ++x) {
      const bool box = x >= left && x < left + c.width / 5 && y >= top && y < top + c.height / 4;
      const double floor = aside * (x - view.cx) + slope * (y - horizon);
      const double q = box ? floor + 16 * 4 : x > 3 * c.width / 4 ? lower * floor : floor;
      disparity[static_cast<size_t>(y) * c.width + x] =
          random.whole(0, 7) == 0 ? kInvalidDisparity
                                  : static_cast<int16_t>((q < 16 ? 16 : q) + random.whole(-noise, noise));
    }
  }
}

inline void checkFloor(Random& random, const Case& c) {
  const size_t pixels = static_cast<size_t>(c.width) * c.height;
  const std::string what = "floor " + c.name;
  FloorSettings settings;
  settings.focalPixels = random.whole(c.width / 2 + 1, 2 * c.width);
  // The lowest row is 25 to 80 px, from a camera 0.3 to 2 m above the floor.
  const double slope = 16.0 * random.whole(25, 80) / (0.6 * c.height);
  settings.baselineMetres = slope / 16 * 0.1 * random.whole(3, 20);
  settings.disparityOffsetPixels = random.whole(0, 2) == 0 ? 0.1 * random.whole(-60, 60) : 0;
  settings.cx = c.width / 2 + 0.1 * random.whole(-90, 90);
  settings.cy = c.height / 2 + 0.1 * random.whole(-90, 90);
  settings.isSet = random.whole(0, 4) == 0;
  settings.plane.a = random.whole(-9999, 9999);
  settings.plane.b = static_cast<int64_t>(65536 * slope);
  settings.plane.c = random.whole(0, 30000000);
  const FloorParameters parameters = makeFloorParameters(settings, c.width, c.height);
  GridParameters g;
  g.focalPixels = settings.focalPixels, g.baselineMetres = settings.baselineMetres;
  g.disparityOffsetPixels = settings.disparityOffsetPixels, g.cx = settings.cx, g.cy = settings.cy;
  g.cellMetres = 0.01 * random.whole(2, 40);
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
    if (frame == 2)
      random.fill(disparity, random.whole(0, 1) == 0 ? -32768 : -10, random.whole(0, 1) == 0 ? 300 : 32767);
    else drawFloor(random, c, settings, slope, disparity);
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
