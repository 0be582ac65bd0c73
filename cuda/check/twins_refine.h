// SPDX-License-Identifier: Apache-2.0
// Compares the refinement stages with their references: speckle, ambiguity, confidence, Prehn's measures and repair,
// fill and boundary, on several kinds of images and on sizes near the edges of the kernels' tiles.
#pragma once

#include <algorithm>

#include "../refine/ambiguity/ambiguity_gpu.h"
#include "../refine/boundary/boundary_gpu.h"
#include "../refine/confidence/confidence_gpu.h"
#include "../refine/fill/fill_gpu.h"
#include "../refine/median/median_gpu.h"
#include "../refine/repair/repair_gpu.h"
#include "../refine/slant/slant_gpu.h"
#include "../refine/speckle/speckle_gpu.h"
#include "../refine/temporal/temporal_gpu.h"
#include "../refine/threshold/threshold_gpu.h"
#include "../refine/threshold/threshold_limits.h"
#include "../refine/window_confidence/window_confidence_gpu.h"
#include "../refine/boundary/boundary.h"
#include "../refine/ambiguity/ambiguity.h"
#include "../refine/confidence/confidence.h"
#include "../refine/median/median.h"
#include "../refine/repair/repair.h"
#include "../refine/window_confidence/window_confidence.h"
#include "twins.h"

namespace depthwatt {

constexpr int kDisparityKinds = 7;

/// Makes a disparity map. @param kind 0, 1: patches with holes of all lengths and empty rows. 2: nothing valid. 3:
/// everything valid. 4: one path that winds through all rows. 5: a chessboard of values and holes. 6: patches that
/// reach the highest disparities
inline std::vector<int16_t> randomDisparities(Random& random, const Case& c, int kind) {
  std::vector<int16_t> disparities(static_cast<size_t>(c.width) * c.height, kInvalidDisparity);
  if (kind == 2) return disparities;
  const int base = kind == 6 ? 30752 : 0, oneHoleIn = random.whole(2, 30), slope = random.whole(-20, 20);
  for (int y = 0; y < c.height; ++y) {
    for (int x = 0; x < c.width; ++x) {
      const size_t i = static_cast<size_t>(y) * c.width + x;
      if (kind == 3) disparities[i] = static_cast<int16_t>(800 + slope * x / 4 % 700 + random.whole(0, 4));
      else if (kind == 4) {
        const int turn = y / 2 % 2 == 0 ? c.width - 1 : 0;
        if (y % 2 == 0 || x == turn) disparities[i] = static_cast<int16_t>(160 + random.whole(0, 8));
      } else if (kind == 5) {
        if ((x + y) % 2 == 0) disparities[i] = static_cast<int16_t>(random.whole(0, 400));
      } else {
        const int what = random.whole(0, 9), before = i == 0 ? kInvalidDisparity : disparities[i - 1];
        if (what == 0 || i == 0) disparities[i] = static_cast<int16_t>(base + random.whole(0, 2000));
        else if (what < 5 || before == kInvalidDisparity) disparities[i] = static_cast<int16_t>(before);
        else disparities[i] = static_cast<int16_t>(std::min(std::max(0, before + random.whole(-9, 9)), 32752));
        if (random.whole(1, oneHoleIn) == 1) disparities[i] = kInvalidDisparity;
      }
    }
  }
  if (kind > 1 && kind != 6) return disparities;
  for (int y = 0; y < c.height; ++y) {
    if (random.whole(0, 4) > 0) continue;
    std::fill_n(disparities.begin() + static_cast<size_t>(y) * c.width, c.width, kInvalidDisparity);
  }
  return disparities;
}

inline void checkSpeckle(Random& random, const Case& c, std::vector<int16_t> disparities) {
  std::vector<uint8_t> confidence(disparities.size());
  random.fill(confidence, 1, 255);
  SpeckleParameters p;
  const int pixels = c.width * c.height;
  p.minPixels = random.whole(0, 1) == 0 ? random.whole(1, 80) : random.whole(1, pixels + 1);
  p.rangeQ4 = random.whole(0, 30);
  DeviceBuffer<int16_t> dDisparities;
  DeviceBuffer<uint8_t> dConfidence;
  DeviceBuffer<int32_t> scratch;
  upload(dDisparities, disparities);
  upload(dConfidence, confidence);
  require(scratch.allocate(2 * disparities.size()), "speckle");
  speckleReference(p, packedView(disparities.data(), c.width, c.height),
                   packedView(confidence.data(), c.width, c.height));
  require(gpu::speckle(p, dDisparities.get(), dConfidence.get(), scratch.get(), c.width, c.height, nullptr), "speckle");
  const std::string what =
      " " + c.name + " minPixels " + std::to_string(p.minPixels) + " rangeQ4 " + std::to_string(p.rangeQ4);
  expectSame(disparities, fetched(dDisparities), c.width, "speckle" + what);
  expectSame(confidence, fetched(dConfidence), c.width, "speckle confidence" + what);
}

/// Checks each of Prehn's measures, and the repair with it. The right image is the left one shifted by some pixels,
/// with noise: windows that agree and windows that do not.
inline void checkMeasuresAndRepair(Random& random, const Case& c, const std::vector<uint8_t>& left,
                                   const std::vector<int16_t>& disparities) {
  const size_t pixels = left.size();
  std::vector<uint8_t> right(pixels), certainty(pixels);
  const int shift = random.whole(0, 40), noise = random.whole(0, 60);
  for (size_t i = 0; i < pixels; ++i) {
    const int value = left[(i + static_cast<size_t>(shift)) % pixels] + random.whole(-noise, noise);
    right[i] = static_cast<uint8_t>(std::min(std::max(value, 0), 255));
  }
  random.fill(certainty, 0, random.whole(1, 255));
  DeviceBuffer<uint8_t> dLeft, dRight, dCertainty, dSure, dRepairedSure;
  DeviceBuffer<int16_t> dRepaired;
  upload(dLeft, left);
  upload(dRight, right);
  upload(dCertainty, certainty);
  require(dSure.allocate(pixels), "measures");
  require(dRepairedSure.allocate(pixels), "repair");
  require(dRepaired.allocate(pixels), "repair");
  const auto packed = [&](const auto& image) { return packedView(image.data(), c.width, c.height); };
  for (int measure = 0; measure < 4; ++measure) {
    const auto which = static_cast<ConfidenceMeasure>(measure);
    const bool zeroIsEstimated = random.whole(0, 1) == 1;
    std::vector<uint8_t> sure(pixels);
    std::vector<int16_t> repaired(disparities);
    windowConfidenceReference(which,
                              {packed(left), packed(right), packed(disparities), packed(certainty), zeroIsEstimated},
                              packedView(sure.data(), c.width, c.height));
    DeviceBuffer<int16_t> dDisparities;
    upload(dDisparities, disparities);
    require(gpu::windowConfidence(which, dLeft.get(), dRight.get(), dDisparities.get(), dCertainty.get(),
                                  zeroIsEstimated, dSure.get(), c.width, c.height, nullptr),
            "measures");
    const std::string what = " by measure " + std::to_string(measure) + " " + c.name;
    expectSame(sure, fetched(dSure), c.width, "confidence" + what);
    repairReference(packedView(repaired.data(), c.width, c.height), packedView(sure.data(), c.width, c.height));
    require(
        gpu::repair(dDisparities.get(), dSure.get(), dRepaired.get(), dRepairedSure.get(), c.width, c.height, nullptr),
        "repair");
    expectSame(repaired, fetched(dRepaired), c.width, "repair" + what);
    expectSame(sure, fetched(dRepairedSure), c.width, "repair, confidence" + what);
  }
}

inline void checkThreshold(Random& random, const Case& c, std::vector<int16_t> disparities) {
  std::vector<uint8_t> confidence(disparities.size());
  random.fill(confidence, 0, random.whole(1, 255));
  ThresholdParameters p;
  p.minConfidence = random.whole(0, 3) == 0 ? 0 : random.whole(1, 255);
  p.minMillimetres = random.whole(0, 1) == 0 ? 0 : random.whole(1, 2000);
  p.maxMillimetres = random.whole(0, 1) == 0 ? 0 : random.whole(2000, 60000);
  p.focalPixels = random.whole(300, 3000), p.baselineMetres = 0.12, p.disparityOffsetPixels = random.whole(-20, 20);
  std::vector<int32_t> dropped(kDropCauses);
  DeviceBuffer<int16_t> dDisparities;
  DeviceBuffer<uint8_t> dConfidence;
  DeviceBuffer<int32_t> dDropped;
  upload(dDisparities, disparities);
  upload(dConfidence, confidence);
  upload(dDropped, std::vector<int32_t>(kDropCauses, 7));
  thresholdReference(p, packedView(disparities.data(), c.width, c.height),
                     packedView(confidence.data(), c.width, c.height), dropped.data());
  require(gpu::threshold(thresholdLimitsFrom(p), dDisparities.get(), dConfidence.get(), dDropped.get(),
                         c.width * c.height, nullptr),
          "threshold");
  expectSame(disparities, fetched(dDisparities), c.width, "threshold " + c.name);
  expectSame(confidence, fetched(dConfidence), c.width, "threshold, confidence " + c.name);
  expectSame(dropped, fetched(dDropped), kDropCauses, "threshold, dropped pixels " + c.name);
}

/// Runs the temporal filter over frames with noise, holes, jumps and sudden changes of the whole image.
inline void checkTemporal(Random& random, const Case& c, std::vector<uint8_t> picture) {
  const size_t pixels = picture.size();
  std::vector<int16_t> depths(pixels), mean(pixels), reference(pixels);
  std::vector<uint8_t> weight(pixels);
  random.fill(depths, 0, 2047);
  DeviceBuffer<int16_t> dMean, dReference;
  DeviceBuffer<uint8_t> dWeight, dMoved;
  DeviceBuffer<uint32_t> dCount;
  upload(dMean, mean);
  upload(dReference, reference);
  upload(dWeight, weight);
  require(dMoved.allocate(static_cast<size_t>(temporalTiles(c.width)) * temporalTiles(c.height)), "temporal");
  require(dCount.allocate(1), "temporal");
  const auto caseView = [&](auto* data) { return packedView(data, c.width, c.height); };
  for (int frame = 0; frame < 7; ++frame) {
    if (random.whole(0, 5) == 0) random.fill(picture, 0, 255);
    std::vector<uint8_t> grey(picture);
    for (uint8_t& value : grey) value = static_cast<uint8_t>(std::min(255, std::max(0, value + random.whole(-3, 3))));
    for (int i = random.whole(0, 12); i > 0; --i) grey[random.whole(0, static_cast<int>(pixels) - 1)] ^= 128;
    std::vector<int16_t> disparities(depths);
    for (int16_t& value : disparities) {
      const int what = random.whole(0, 9);
      value =
          what == 0 ? kInvalidDisparity : static_cast<int16_t>(value + random.whole(-17, 17) + (what == 1 ? 900 : 0));
    }
    DeviceBuffer<uint8_t> dGrey;
    DeviceBuffer<int16_t> dDisparities;
    upload(dGrey, grey);
    upload(dDisparities, disparities);
    temporalReference(caseView(static_cast<const uint8_t*>(grey.data())), caseView(disparities.data()),
                      {caseView(mean.data()), caseView(weight.data()), caseView(reference.data())});
    require(gpu::temporal(dGrey.get(), dDisparities.get(),
                          {caseView(dMean.get()), caseView(dWeight.get()), caseView(dReference.get())}, dMoved.get(),
                          dCount.get(), nullptr),
            "temporal");
    const std::string what = "mean over time, frame " + std::to_string(frame) + " " + c.name;
    expectSame(disparities, fetched(dDisparities), c.width, what);
    expectSame(mean, fetched(dMean), c.width, what + ", mean");
    expectSame(weight, fetched(dWeight), c.width, what + ", weight");
    expectSame(reference, fetched(dReference), c.width, what + ", reference");
  }
}

/// Checks images that repeat along the row, images of noise on one grey value, and others, with the right image shifted
/// by some pixels.
inline void checkAmbiguity(Random& random, const Case& c, const std::vector<int16_t>& disparities) {
  const size_t pixels = disparities.size();
  std::vector<uint8_t> left(pixels), right(pixels),
      limit(static_cast<size_t>(blockColumnCount(c.width)) * blockRowCount(c.height));
  const int kind = random.whole(0, 3), period = random.whole(2, 40), noise = random.whole(0, 4);
  const int shift = random.whole(0, 40);
  for (size_t i = 0; i < pixels; ++i) {
    const int x = static_cast<int>(i % static_cast<size_t>(c.width));
    const int value = kind == 0 ? (x % period < period / 2 ? 60 : 160) : kind == 1 ? random.whole(0, 255) : 128;
    left[i] = static_cast<uint8_t>(std::min(std::max(value + random.whole(-noise, noise), 0), 255));
  }
  for (size_t i = 0; i < pixels; ++i) {
    const int value = left[(i + static_cast<size_t>(shift)) % pixels] + random.whole(-noise, noise);
    right[i] = static_cast<uint8_t>(kind == 2 ? random.whole(0, 255) : std::min(std::max(value, 0), 255));
  }
  const auto packed = [&](const auto& image) { return packedView(image.data(), c.width, c.height); };
  ambiguityReference({packed(left), packed(right), packed(disparities)},
                     packedView(limit.data(), blockColumnCount(c.width), blockRowCount(c.height)));
  DeviceBuffer<uint8_t> dLeft, dRight, dLimit;
  DeviceBuffer<int16_t> dDisparities;
  upload(dLeft, left);
  upload(dRight, right);
  upload(dDisparities, disparities);
  require(dLimit.allocate(limit.size()), "ambiguity");
  DeviceBuffer<uint64_t> sums;
  require(sums.allocate(limit.size()), "ambiguity");
  require(gpu::ambiguity(dLeft.get(), dRight.get(), dDisparities.get(), sums.get(), dLimit.get(), c.width, c.height,
                         nullptr),
          "ambiguity");
  expectSame(limit, fetched(dLimit), blockColumnCount(c.width), "ambiguity " + c.name);
}

/// @param kind of randomDisparities
inline void checkRefinement(Random& random, const Case& c, const std::vector<uint8_t>& grey, int kind) {
  std::vector<int16_t> disparities = randomDisparities(random, c, kind);
  checkSpeckle(random, c, disparities);
  checkThreshold(random, c, disparities);
  checkMeasuresAndRepair(random, c, grey, disparities);
  checkAmbiguity(random, c, disparities);
  std::vector<uint8_t> confidence(grey.size());
  random.fill(confidence, 1, 255);
  FillParameters p;
  p.method = random.whole(0, 1) == 0 ? FillMethod::kBilateral : FillMethod::kBackground;
  p.thresholdQ4 = random.whole(0, 300);
  p.lowestQ4 = 16 * random.whole(0, 3) * random.whole(0, 20);
  p.highestQ4 = p.lowestQ4 + random.whole(0, 2000);

  std::vector<int16_t> edged(grey.size());
  DeviceBuffer<uint8_t> dGrey, dConfidence;
  DeviceBuffer<int16_t> dIn, dOut;
  DeviceBuffer<int32_t> scratch;
  upload(dGrey, grey);
  upload(dConfidence, confidence);
  upload(dIn, disparities);
  require(dOut.allocate(grey.size()), "fill");
  require(scratch.allocate(grey.size() + static_cast<size_t>(c.height)), "fill");
  const auto view = [&](std::vector<int16_t>& image) { return packedView(image.data(), c.width, c.height); };
  const auto greyView = packedView(grey.data(), c.width, c.height);

  boundaryReference(greyView, view(disparities).asConst(), view(edged));
  require(gpu::boundary(dGrey.get(), dIn.get(), dOut.get(), c.width, c.height, nullptr), "boundary");
  expectSame(edged, fetched(dOut), c.width, "boundary " + c.name);

  std::vector<int16_t> planes(grey.size());
  DeviceBuffer<int16_t> dPlanes;
  require(dPlanes.allocate(grey.size()), "slant");
  slantReference(greyView, view(disparities).asConst(), view(planes));
  require(gpu::slant(dGrey.get(), dIn.get(), dPlanes.get(), c.width, c.height, nullptr), "slant");
  expectSame(planes, fetched(dPlanes), c.width, "slant " + c.name);

  // The median after it, then both once more, as with refine.rounds.
  DeviceBuffer<int16_t> dSmoothed, dEdged;
  require(dSmoothed.allocate(grey.size()), "rounds");
  require(dEdged.allocate(grey.size()), "rounds");
  std::vector<int16_t> smoothed(grey.size());
  medianReference(view(edged).asConst(), view(smoothed));
  boundaryReference(greyView, view(smoothed).asConst(), view(edged));
  medianReference(view(edged).asConst(), view(smoothed));
  require(gpu::median(dOut.get(), dSmoothed.get(), c.width, c.height, nullptr), "rounds");
  require(gpu::boundary(dGrey.get(), dSmoothed.get(), dEdged.get(), c.width, c.height, nullptr), "rounds");
  require(gpu::median(dEdged.get(), dSmoothed.get(), c.width, c.height, nullptr), "rounds");
  expectSame(smoothed, fetched(dSmoothed), c.width, "two rounds of boundary and median " + c.name);

  std::vector<uint8_t> certainty(grey.size()), sure(grey.size());
  random.fill(certainty, random.whole(0, 250), 255);
  DeviceBuffer<uint8_t> dCertainty, dSure;
  upload(dCertainty, certainty);
  require(dSure.allocate(grey.size()), "confidence");
  for (size_t i = 0; i < certainty.size(); i += 7) certainty[i] = 0;
  upload(dCertainty, certainty);
  std::vector<uint8_t> limit(static_cast<size_t>(blockColumnCount(c.width)) * blockRowCount(c.height));
  random.fill(limit, 1, 255);
  DeviceBuffer<uint8_t> dLimit;
  upload(dLimit, limit);
  for (const bool zeroIsEstimated : {false, true}) {
    // The same two images, without a limit and with one.
    const uint8_t* const limits = zeroIsEstimated ? dLimit.get() : nullptr;
    confidenceReference(greyView, view(disparities).asConst(),
                        packedView<const uint8_t>(certainty.data(), c.width, c.height), zeroIsEstimated,
                        packedView<const uint8_t>(zeroIsEstimated ? limit.data() : nullptr, blockColumnCount(c.width),
                                                  blockRowCount(c.height)),
                        packedView(sure.data(), c.width, c.height));
    require(gpu::confidence(dGrey.get(), dIn.get(), dCertainty.get(), zeroIsEstimated, limits, dSure.get(), c.width,
                            c.height, nullptr),
            "confidence");
    expectSame(sure, fetched(dSure), c.width, "confidence " + c.name);
  }

  std::vector<int16_t> filled(grey.size());
  fillReference(p, greyView, view(disparities).asConst(), view(filled),
                packedView(confidence.data(), c.width, c.height));
  require(
      gpu::fill(p, dGrey.get(), dIn.get(), dOut.get(), dConfidence.get(), scratch.get(), c.width, c.height, nullptr),
      "fill");
  expectSame(filled, fetched(dOut), c.width, "fill " + c.name);
  expectSame(confidence, fetched(dConfidence), c.width, "fill confidence " + c.name);
}

/// Checks one row, one column, one pixel, and one pixel less and more than the kernels' tiles, with every kind of
/// image.
inline void checkRefinedShapes(Random& random) {
  const int shapes[][2] = {{1, 1},   {1, 37},  {67, 1}, {2, 2},  {31, 33}, {32, 32}, {33, 31},
                           {34, 34}, {70, 66}, {63, 9}, {64, 8}, {65, 7},  {130, 17}};
  for (const auto& shape : shapes) {
    for (int kind = 0; kind < kDisparityKinds; ++kind) {
      Case c;
      c.width = shape[0], c.height = shape[1];
      c.name = std::to_string(c.width) + "x" + std::to_string(c.height) + " picture " + std::to_string(kind);
      std::vector<uint8_t> grey(static_cast<size_t>(c.width) * c.height);
      random.fill(grey, 0, random.whole(0, 1) == 0 ? 255 : 40);
      checkRefinement(random, c, grey, kind);
    }
  }
}

}  // namespace depthwatt
