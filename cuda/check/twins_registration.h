// SPDX-License-Identifier: Apache-2.0
// Compares registration with its reference: any pose, with and without a lens, holes filled and not.
#pragma once

#include "../output/registration/registration_gpu.h"
#include "twins.h"

namespace depthwatt {

inline void checkRegistration(Random& random, const Case& c) {
  const size_t pixels = static_cast<size_t>(c.width) * c.height;
  std::vector<int16_t> disparity(pixels);
  std::vector<uint8_t> confidence(pixels);
  const int largest = random.whole(0, 2) == 0 ? 32767 : random.whole(80, 900);
  for (int16_t& value : disparity)
    value = static_cast<int16_t>(random.whole(0, 9) == 0 ? kInvalidDisparity : random.whole(-40, largest));
  random.fill(confidence, 0, 255);
  RegistrationParameters p;
  p.width = random.whole(1, 2 * c.width), p.height = random.whole(1, 2 * c.height);
  p.focalPixels = random.whole(50, 900);
  p.baselineMetres = 0.001 * random.whole(20, 300);
  p.disparityOffsetPixels = random.whole(0, 1) == 0 ? 0 : 0.01 * random.whole(-500, 500);
  const auto some = [&](double size) { return size * random.whole(-1000, 1000) / 1000; };
  const double scale = static_cast<double>(p.width) / c.width * (0.8 + 0.01 * random.whole(0, 60));
  const double matrix[12] = {scale,   some(0.05), some(3),      some(2),      some(0.05),     scale,
                             some(3), some(2),    some(0.0005), some(0.0005), 1 + some(0.05), some(0.02)};
  for (int i = 0; i < 12; ++i) p.matrix[i] = matrix[i];
  p.fill = random.whole(0, 1) == 1;
  if (random.whole(0, 1) == 1) {
    p.gridX = -random.whole(0, 900), p.gridY = -random.whole(0, 900);
    p.gridWidth = 2 + (32 * p.width - p.gridX) / kCellSteps, p.gridHeight = 2 + (32 * p.height - p.gridY) / kCellSteps;
    for (int32_t y = 0; y < p.gridHeight; ++y) {
      for (int32_t x = 0; x < p.gridWidth; ++x) {
        const bool none = random.whole(0, 40) == 0;
        p.grid.push_back(none ? kNoNode : p.gridX + x * kCellSteps + random.whole(-300, 300));
        p.grid.push_back(none ? 0 : p.gridY + y * kCellSteps + random.whole(-300, 300));
      }
    }
  }
  const std::string what = "registration " + c.name;
  RegistrationPlan plan;
  require(makeRegistrationPlan(p, c.width, c.height, &plan), what.c_str());
  const size_t others = static_cast<size_t>(p.width) * p.height;
  std::vector<uint16_t> expected(others);
  std::vector<uint8_t> expectedConfidence(others);
  registrationReference(plan, packedView<const int16_t>(disparity.data(), c.width, c.height),
                        packedView<const uint8_t>(confidence.data(), c.width, c.height),
                        packedView(expected.data(), p.width, p.height),
                        packedView(expectedConfidence.data(), p.width, p.height));
  DeviceBuffer<int16_t> dDisparity;
  DeviceBuffer<uint8_t> dConfidence, dRegistered;
  DeviceBuffer<uint16_t> dMillimetres;
  upload(dDisparity, disparity);
  upload(dConfidence, confidence);
  require(dMillimetres.allocate(others), what.c_str());
  require(dRegistered.allocate(others), what.c_str());
  gpu::RegistrationWorkspace registration;
  require(registration.open(plan), what.c_str());
  // Twice: the second frame finds what the first one left.
  for (int frame = 0; frame < 2; ++frame) {
    require(registration.compute(dDisparity.get(), dConfidence.get(), c.width, c.height, dMillimetres.get(),
                                 dRegistered.get(), nullptr),
            what.c_str());
    require(cudaStatus(cudaDeviceSynchronize(), "registration"), what.c_str());
    expectSame(expected, fetched(dMillimetres), p.width, what);
    expectSame(expectedConfidence, fetched(dRegistered), p.width, what + ", confidence");
  }
}

}  // namespace depthwatt
