// SPDX-License-Identifier: Apache-2.0
// Compares hsv, sad and pyramid with their references: extreme parameters, and every split of sad into bands and slabs.
#pragma once

#include <cstring>

#include "../match/hsv/hsv.h"
#include "../match/hsv_pixel.cuh"
#include "../match/pyramid/pyramid_workspace.h"
#include "../match/sad/sad_workspace.h"
#include "twins.h"
#include "twins_baselines.h"

namespace depthwatt {

inline HsvWeights randomWeights(Random& random) {
  const HsvWeights some[] = {{30, 30, 30}, {20, 30, 50}, {0, 0, 100}, {100, 0, 0}, {0, 1, 0}, {51, 40, 9}};
  return some[random.whole(0, 5)];
}

/// A colour pair whose right image is the left one shifted, with some noise.
struct ColourPair {
  std::vector<Rgb8> left, right;
  std::vector<HsvPixel> leftHsv, rightHsv;
  DeviceBuffer<HsvPixel> dLeft, dRight;

  ColourPair(Random& random, const Case& c, const HsvWeights& weights) {
    const size_t pixels = static_cast<size_t>(c.width) * c.height;
    std::vector<uint8_t> bytes(3 * pixels);
    const int kind = random.whole(0, 3);
    random.fill(bytes, kind == 0 ? 200 : 0, kind == 1 ? 20 : 255);
    for (size_t i = 0; i < pixels; ++i) left.push_back({bytes[3 * i], bytes[3 * i + 1], bytes[3 * i + 2]});
    right = left;
    const int shift = random.whole(0, c.width - 1);
    for (size_t i = 0; i < pixels; ++i) {
      if (static_cast<int>(i % c.width) + shift < c.width) right[i] = left[i + shift];
      if (random.whole(0, 9) == 0) right[i].green ^= 0x55;
    }
    leftHsv.resize(pixels), rightHsv.resize(pixels);
    const auto view = [&](auto& image) { return packedView(image.data(), c.width, c.height); };
    hsvReference(weights, view(left).asConst(), view(leftHsv));
    hsvReference(weights, view(right).asConst(), view(rightHsv));
    DeviceBuffer<Rgb8> dRgb[2];
    upload(dRgb[0], left);
    upload(dRgb[1], right);
    require(dLeft.allocate(pixels), "hsv");
    require(dRight.allocate(pixels), "hsv");
    require(gpu::hsv(weights, dRgb[0].get(), dRgb[1].get(), dLeft.get(), dRight.get(), c.width, c.height, nullptr),
            "hsv");
    require(cudaStatus(cudaDeviceSynchronize(), "hsv"), c.name);
    expectSame(words(leftHsv), words(fetched(dLeft)), 2 * c.width, "hsv, " + c.name);
    expectSame(words(rightHsv), words(fetched(dRight)), 2 * c.width, "hsv of the right image, " + c.name);
  }

  static std::vector<uint32_t> words(const std::vector<HsvPixel>& pixels) {
    std::vector<uint32_t> of(2 * pixels.size());
    std::memcpy(of.data(), pixels.data(), pixels.size() * sizeof(HsvPixel));
    return of;
  }
};

/// The results of both stages, and their copies on the device.
struct WindowMaps {
  std::vector<int16_t> q4, whole, right;
  std::vector<uint8_t> confidence;
  DeviceBuffer<int16_t> dQ4, dWhole, dRight;
  DeviceBuffer<uint8_t> dConfidence;

  explicit WindowMaps(size_t pixels) : q4(pixels), whole(pixels), right(pixels), confidence(pixels) {
    for (DeviceBuffer<int16_t>* one : {&dQ4, &dWhole, &dRight}) require(one->allocate(pixels), "window");
    require(dConfidence.allocate(pixels), "window");
  }
  void compare(int width, bool wantsRight, const std::string& what) const {
    require(cudaStatus(cudaDeviceSynchronize(), "window"), what);
    expectSame(whole, fetched(dWhole), width, what + " whole");
    expectSame(q4, fetched(dQ4), width, what);
    expectSame(confidence, fetched(dConfidence), width, what + " confidence");
    if (wantsRight) expectSame(right, fetched(dRight), width, what + " right");
  }
};

inline void checkSad(Random& random, const Case& c) {
  SadParameters p;
  p.weights = randomWeights(random);
  p.windowWidth = 3 + 2 * random.whole(0, 6), p.windowHeight = 3 + 2 * random.whole(0, 6);
  p.minDisparity = random.whole(0, 2) == 0 ? random.whole(1, random.whole(0, 9) == 0 ? 1500 : 20) : 0;
  // The reference adds up every window separately.
  p.numDisparities = c.width > 140             ? random.whole(1, 4)
                     : random.whole(0, 9) == 0 ? random.whole(1, 300)
                                               : random.whole(1, 40);
  p.subpixel = random.whole(0, 1) == 0;
  gpu::SadTuning tuning;
  tuning.bandRows = random.whole(0, 2) == 0 ? 0 : random.whole(1, 20);
  tuning.slabRows = random.whole(0, 2) == 0 ? 0 : random.whole(1, 20);
  tuning.stored = random.whole(0, 2) == 0;
  tuning.ring = random.whole(-1, 2);
  if (tuning.ring == 2) {  // wide blocks; a window of one row fits a small device's shared memory too
    tuning.stored = false;
    p.windowWidth = 9, p.windowHeight = random.whole(0, 1) == 0 ? 1 : 1 + 2 * random.whole(1, 4);
  }
  ColourPair pair(random, c, p.weights);
  WindowMaps maps(pair.left.size());
  const auto view = [&](auto& image) { return packedView(image.data(), c.width, c.height); };
  sadReference(p, {view(pair.leftHsv).asConst(), view(pair.rightHsv).asConst()},
               {view(maps.q4), view(maps.whole), view(maps.right), view(maps.confidence)});
  char text[200];
  std::snprintf(text, sizeof text, "sad %s min %d num %d window %dx%d subpixel %d bands %d slabs %d stored %d ring %d",
                c.name.c_str(), p.minDisparity, p.numDisparities, p.windowWidth, p.windowHeight, p.subpixel ? 1 : 0,
                tuning.bandRows, tuning.slabRows, tuning.stored ? 1 : 0, tuning.ring);
  const bool wantsRight = random.whole(0, 3) > 0;
  gpu::SadWorkspace sad;
  require(sad.open(p, c.width, c.height, wantsRight, tuning), text);
  for (int turn = 0; turn < 2; ++turn) {  // the second frame reuses the first one's memory
    require(sad.compute(
                pair.dLeft.get(), pair.dRight.get(),
                {maps.dQ4.get(), maps.dWhole.get(), wantsRight ? maps.dRight.get() : nullptr, maps.dConfidence.get()},
                nullptr),
            text);
    maps.compare(c.width, wantsRight, text);
  }
}

inline void checkPyramid(Random& random, const Case& c) {
  PyramidParameters p;
  const bool square = random.whole(0, 2) > 0;
  p.windowWidth = 3 + 2 * random.whole(0, square ? 3 : 6);
  p.windowHeight = square ? p.windowWidth : 3 + 2 * random.whole(0, 6);
  p.minDisparity = random.whole(0, 2) == 0 ? random.whole(1, random.whole(0, 9) == 0 ? 1500 : 20) : 0;
  p.levels = random.whole(1, kMaxLevels);
  // Keeps the reference's coarsest level small.
  p.numDisparities = c.width > 67              ? random.whole(1, 8 << p.levels)
                     : random.whole(0, 9) == 0 ? random.whole(1, 512)
                                               : random.whole(1, 64);
  p.peakRatio = random.whole(0, 1) == 0 ? 5 : random.whole(0, 50);
  p.subpixel = random.whole(0, 1) == 0;
  ColourPair pair(random, c, randomWeights(random));
  WindowMaps maps(pair.left.size());
  const auto view = [&](auto& image) { return packedView(image.data(), c.width, c.height); };
  pyramidReference(p, {view(pair.leftHsv).asConst(), view(pair.rightHsv).asConst()},
                   {view(maps.q4), view(maps.whole), view(maps.right), view(maps.confidence)});
  char text[200];
  std::snprintf(text, sizeof text, "pyramid %s min %d num %d window %dx%d levels %d peakRatio %d subpixel %d",
                c.name.c_str(), p.minDisparity, p.numDisparities, p.windowWidth, p.windowHeight, p.levels, p.peakRatio,
                p.subpixel ? 1 : 0);
  const bool wantsRight = random.whole(0, 3) > 0;
  gpu::PyramidWorkspace pyramid;
  require(pyramid.open(p, c.width, c.height), text);
  for (int turn = 0; turn < 2; ++turn) {
    require(pyramid.compute(
                pair.dLeft.get(), pair.dRight.get(),
                {maps.dQ4.get(), maps.dWhole.get(), wantsRight ? maps.dRight.get() : nullptr, maps.dConfidence.get()},
                nullptr),
            text);
    maps.compare(c.width, wantsRight, text);
  }
  if (random.whole(0, 3) == 0) checkPyramidBaselines(c, p, pair.dLeft.get(), pair.dRight.get(), maps.whole);
}

}  // namespace depthwatt
