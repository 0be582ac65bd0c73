// SPDX-License-Identifier: Apache-2.0
// Compares points with their reference: both frames, both elements, with and without colours, over every kind of
// disparity.
#pragma once

#include "../output/points/points_gpu.h"
#include "twins.h"

namespace depthwatt {

inline void checkPoints(Random& random, const Case& c) {
  const size_t pixels = static_cast<size_t>(c.width) * c.height;
  PointsParameters p;
  p.focalPixels = 0.01 * random.whole(100, 200000);
  p.baselineMetres = random.whole(0, 9) == 0 ? 1000.0 : 0.001 * random.whole(1, 2000);
  p.disparityOffsetPixels = random.whole(0, 1) == 0 ? 0 : 0.01 * random.whole(-5000, 5000);
  p.cx = 0.01 * random.whole(-1000, 100 * c.width), p.cy = 0.01 * random.whole(-1000, 100 * c.height);
  std::vector<int16_t> disparity(pixels);
  const int largest = random.whole(0, 2) == 0 ? 32767 : random.whole(1, 4000);
  for (int16_t& value : disparity) {
    const int kind = random.whole(0, 9);
    value = static_cast<int16_t>(kind == 0   ? kInvalidDisparity
                                 : kind == 1 ? 0
                                 : kind == 2 ? -random.whole(1, 32768)
                                             : random.whole(1, largest));
  }
  std::vector<uint8_t> grey(pixels), bytes(3 * pixels);
  random.fill(grey, 0, 255);
  random.fill(bytes, 0, 255);
  std::vector<Rgb8> rgb(pixels);
  for (size_t i = 0; i < pixels; ++i) rgb[i] = {bytes[3 * i], bytes[3 * i + 1], bytes[3 * i + 2]};
  DeviceBuffer<int16_t> dDisparity;
  DeviceBuffer<uint8_t> dGrey, dPoints;
  DeviceBuffer<Rgb8> dRgb;
  upload(dDisparity, disparity);
  upload(dGrey, grey);
  upload(dRgb, rgb);
  for (const PointFrame frame : {PointFrame::kCamera, PointFrame::kRobot}) {
    for (const PointElement element : {PointElement::kF32, PointElement::kI16}) {
      for (const bool colours : {false, true}) {
        p.frame = frame, p.element = element, p.colours = colours;
        char text[160];
        std::snprintf(text, sizeof text, "points %s frame %d element %d colours %d", c.name.c_str(),
                      static_cast<int>(frame), static_cast<int>(element), colours ? 1 : 0);
        std::vector<uint8_t> expected(pixels * pointBytes(p));
        PointsImages images;
        images.disparityQ4 = packedView<const int16_t>(disparity.data(), c.width, c.height);
        images.grey = packedView<const uint8_t>(grey.data(), c.width, c.height);
        images.rgb = packedView<const Rgb8>(rgb.data(), c.width, c.height);
        pointsReference(p, images, expected.data());
        require(dPoints.allocate(expected.size()), text);
        gpu::PointsWorkspace points;
        require(points.open(p, c.width, c.height), text);
        require(points.compute(dDisparity.get(), dGrey.get(), dRgb.get(), dPoints.get(), nullptr), text);
        require(cudaStatus(cudaDeviceSynchronize(), "points"), text);
        expectSame(expected, fetched(dPoints), c.width * static_cast<int>(pointBytes(p)), text);
      }
    }
  }
}

}  // namespace depthwatt
