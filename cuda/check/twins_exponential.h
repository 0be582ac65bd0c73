// SPDX-License-Identifier: Apache-2.0
// Compares exponential-step aggregation (esaw, esmp) with its reference, with extreme parameters, and the left-right
// check after it.
#pragma once

#include <cstring>

#include "../match/families/exponential_matcher.cuh"
#include "../match/mirror_gpu.h"
#include "../refine/left_right/left_right_gpu.h"
#include "twins.h"
#include "twins_baselines.h"

namespace depthwatt {

inline ExponentialParameters randomExponential(Random& random, const Case& c) {
  ExponentialParameters p;
  const int truncations[] = {1, 12, 17, 255}, bases[] = {100, 190, 260, 280, 400}, gammas[] = {1, 17, 36, 1000};
  p.minDisparity = random.whole(0, 2) == 0 ? random.whole(1, random.whole(0, 9) == 0 ? 1500 : 20) : 0;
  p.numDisparities = c.width > 67 ? random.whole(1, 20) : random.whole(1, 60);
  p.steps = random.whole(1, 9);
  p.basePercent = bases[random.whole(0, 4)];
  p.gammaColour = gammas[random.whole(0, 3)];
  p.gammaDistance = gammas[random.whole(0, 3)];
  p.colourDistance = random.whole(0, 2) == 0 ? ColourDistance::kLab : ColourDistance::kRgb;
  p.truncation = truncations[random.whole(0, 3)];
  p.cost = random.whole(0, 1) == 0 ? 65535 / p.truncation : random.whole(1, 65535 / p.truncation);
  if (random.whole(0, 1) == 0) {
    p.gradientTruncation = random.whole(1, 255);
    p.gradientCost = random.whole(0, (65535 - p.cost * p.truncation) / p.gradientTruncation);
  }
  p.slope = random.whole(0, 1) == 0 ? 0 : random.whole(1, random.whole(0, 1) == 0 ? 500 : 65535);
  p.cap = random.whole(0, 3) == 0 ? 0 : random.whole(0, 65535);
  p.subpixel = random.whole(0, 1) == 0;
  return p;
}

inline std::string describe(const ExponentialParameters& p) {
  char text[300];
  std::snprintf(
      text, sizeof text,
      "min %d num %d steps %d base %d gammas %d %d lab %d truncation %d cost %d gradient %d %d slope %d cap %d subpixel %d",
      p.minDisparity, p.numDisparities, p.steps, p.basePercent, p.gammaColour, p.gammaDistance,
      static_cast<int>(p.colourDistance), p.truncation, p.cost, p.gradientTruncation, p.gradientCost, p.slope, p.cap,
      p.subpixel ? 1 : 0);
  return text;
}

inline void checkExponential(Random& random, const Case& c, const std::vector<uint8_t>& left,
                             const std::vector<uint8_t>& right) {
  const ExponentialParameters p = randomExponential(random, c);
  const size_t pixels = left.size();
  std::vector<uint8_t> bytes(3 * pixels);
  random.fill(bytes, 0, random.whole(0, 1) == 0 ? 255 : 20);
  std::vector<Rgb8> rgb(pixels);
  for (size_t i = 0; i < pixels; ++i) rgb[i] = {bytes[3 * i], bytes[3 * i + 1], bytes[3 * i + 2]};
  std::vector<int16_t> q4(pixels), whole(pixels), rightWhole(pixels);
  std::vector<uint8_t> confidence(pixels);
  const auto view = [&](std::vector<int16_t>& image) { return packedView(image.data(), c.width, c.height); };
  const auto grey = [&](const std::vector<uint8_t>& image) { return packedView(image.data(), c.width, c.height); };
  const auto confidenceView = packedView(confidence.data(), c.width, c.height);
  exponentialReference(p, {grey(left), grey(right), packedView<const Rgb8>(rgb.data(), c.width, c.height)},
                       {view(q4), view(whole), view(rightWhole), confidenceView});

  DeviceBuffer<uint8_t> dGrey[2], dConfidence;
  DeviceBuffer<Rgb8> dRgb;
  DeviceBuffer<int16_t> dQ4, dWhole, dRight;
  upload(dGrey[0], left);
  upload(dGrey[1], right);
  upload(dRgb, rgb);
  for (DeviceBuffer<int16_t>* one : {&dQ4, &dWhole, &dRight}) require(one->allocate(pixels), "exponential");
  require(dConfidence.allocate(pixels), "exponential");
  const std::string what = c.name + " " + describe(p);
  gpu::ExponentialWorkspace exponential;
  require(exponential.open(p, c.width, c.height), "open " + what);
  for (int turn = 0; turn < 2; ++turn) {  // the second frame reuses the first one's memory
    require(exponential.compute(dGrey[0].get(), dGrey[1].get(), dRgb.get(),
                                {dQ4.get(), dWhole.get(), dRight.get(), dConfidence.get()}, nullptr),
            "exponential " + what);
    require(cudaStatus(cudaDeviceSynchronize(), "exponential"), what);
    expectSame(q4, fetched(dQ4), c.width, "exponential, " + what);
    expectSame(whole, fetched(dWhole), c.width, "exponential whole, " + what);
    expectSame(rightWhole, fetched(dRight), c.width, "exponential right, " + what);
    expectSame(confidence, fetched(dConfidence), c.width, "exponential confidence, " + what);
  }
  if (p.slope == 0 && p.colourDistance == ColourDistance::kRgb && random.whole(0, 3) == 0)
    checkExponentialBaselines(random, c, p, left, right, rgb, whole);
  const auto mirrored = [&](const auto& image) {
    auto other = image;
    for (int y = 0; y < c.height; ++y) {
      for (int x = 0; x < c.width; ++x)
        other[static_cast<size_t>(y) * c.width + x] = image[static_cast<size_t>(y + 1) * c.width - 1 - x];
    }
    return other;
  };
  DeviceBuffer<Rgb8> dMirroredRgb;
  require(dMirroredRgb.allocate(pixels), "mirror");
  require(gpu::mirrorColumns(dGrey[0].get(), dConfidence.get(), c.width, c.height, nullptr), "mirror");
  expectSame(mirrored(left), fetched(dConfidence), c.width, "mirrored, " + what);
  require(gpu::mirrorColumns(dWhole.get(), dQ4.get(), c.width, c.height, nullptr), "mirror");
  expectSame(mirrored(whole), fetched(dQ4), c.width, "mirrored disparities, " + what);
  require(gpu::mirrorColumns(dRgb.get(), dMirroredRgb.get(), c.width, c.height, nullptr), "mirror");
  const std::vector<Rgb8> back = mirrored(fetched(dMirroredRgb));
  require(std::memcmp(back.data(), rgb.data(), 3 * pixels) == 0
              ? Status()
              : Status::error(Code::kFailed, "mirrored colours differ"),
          what);
  upload(dConfidence, confidence);
  upload(dQ4, q4);
  const int tolerance = random.whole(0, 2);
  LeftRightImages check = {view(whole).asConst(), view(rightWhole).asConst(), view(q4), confidenceView};
  check.tolerance = tolerance;
  leftRightReference(check);
  require(
      gpu::leftRight(dWhole.get(), dRight.get(), dQ4.get(), dConfidence.get(), tolerance, c.width, c.height, nullptr),
      "left-right");
  expectSame(q4, fetched(dQ4), c.width, "left-right, " + what);
  expectSame(confidence, fetched(dConfidence), c.width, "left-right confidence, " + what);
}

}  // namespace depthwatt
