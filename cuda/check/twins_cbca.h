// SPDX-License-Identifier: Apache-2.0
// Compares the matcher cbca with its reference: aggregation with extreme parameters and every split into threads, then
// the whole matcher with the parameters of both resolutions.
#pragma once

#include "../match/cbca/cbca_workspace.h"
#include "../refine/left_right/left_right_gpu.h"
#include "twins.h"

namespace depthwatt {

inline CrossParameters randomCross(Random& random, const Case& c, bool small) {
  CrossParameters p;
  const int longest = small ? 24 : kMaxArmOnCuda;
  p.minDisparity = random.whole(0, 2) == 0 ? random.whole(1, random.whole(0, 9) == 0 ? 1500 : 20) : 0;
  p.numDisparities = random.whole(0, 7) == 0 ? random.whole(1, small ? 100 : 512) : random.whole(1, 40);
  if (c.width > 67) p.numDisparities = random.whole(1, 12);  // the reference adds up every sum separately
  const int arms[] = {0, 3, 9, longest, random.whole(0, longest)};
  p.armX = arms[random.whole(0, 4)];
  p.armY = arms[random.whole(0, 4)];
  p.similarity = random.whole(0, 4) == 0 ? 256 : random.whole(1, 60);
  if (random.whole(0, 2) == 0) p.armXRight = arms[random.whole(0, 4)];
  if (random.whole(0, 2) == 0) p.armYRight = arms[random.whole(0, 4)];
  if (random.whole(0, 2) == 0)
    p.lambdaDifference = random.whole(kLeastLambda, random.whole(0, 1) == 0 ? 500 : kMaxLambda);
  if (random.whole(0, 3) == 0) p.differenceScale = kGreyLevel;
  if (random.whole(0, 2) == 0) p.lambdaCensus = random.whole(kLeastLambda, random.whole(0, 1) == 0 ? 100 : kMaxLambda);
  return p;
}

inline CrossTuning randomTuning(Random& random) {
  CrossTuning tuning;
  if (random.whole(0, 3) == 0) return tuning;
  tuning.multiprocessors = random.whole(1, 200);
  tuning.groups = random.whole(0, 1) == 0 ? 0 : random.whole(1, 32);
  tuning.rowSegments = random.whole(0, 1) == 0 ? 0 : random.whole(1, 9);
  tuning.columnSegments = random.whole(0, 1) == 0 ? 0 : random.whole(1, 9);
  tuning.rowThreads = 32 * random.whole(0, 4);
  tuning.columnThreads = 32 * random.whole(0, 4);
  tuning.rowsTogether = random.whole(-1, 1);
  tuning.sums = random.whole(-1, 2);
  tuning.whole = random.whole(-1, 3);
  return tuning;
}

inline std::string describe(const CrossParameters& p) {
  char text[200];
  std::snprintf(text, sizeof text, "min %d num %d armX %d, %d armY %d, %d similarity %d lambdas %d of %d, %d",
                p.minDisparity, p.numDisparities, p.armX, p.sideArmX(1), p.armY, p.sideArmY(1), p.similarity,
                p.lambdaDifference, p.differenceScale, p.lambdaCensus);
  return text;
}

inline void checkCross(Random& random, const Case& c, const std::vector<uint8_t>& left,
                       const std::vector<uint8_t>& right, bool small) {
  const CrossParameters p = randomCross(random, c, small);
  const size_t pixels = left.size();
  std::vector<int16_t> whole[2] = {std::vector<int16_t>(pixels), std::vector<int16_t>(pixels)};
  const auto view = [&](std::vector<int16_t>& image) { return packedView(image.data(), c.width, c.height); };
  crossReference(p, {packedView(left.data(), c.width, c.height), packedView(right.data(), c.width, c.height),
                     view(whole[0]), view(whole[1])});
  DeviceBuffer<uint8_t> grey[2], dConfidence;
  DeviceBuffer<int16_t> dWhole[2], dQ4;
  upload(grey[0], left);
  upload(grey[1], right);
  for (DeviceBuffer<int16_t>* one : {&dWhole[0], &dWhole[1], &dQ4}) require(one->allocate(pixels), "cross");
  require(dConfidence.allocate(pixels), "cross");
  const std::string what = c.name + " " + describe(p);
  gpu::CrossWorkspace cross;
  require(cross.open(p, c.width, c.height, randomTuning(random)), "open " + what);
  for (int turn = 0; turn < 2; ++turn) {  // the second frame reuses the first one's memory
    require(cross.compute(grey[0].get(), grey[1].get(), dWhole[0].get(), dWhole[1].get(), nullptr), "cross " + what);
    require(cudaStatus(cudaDeviceSynchronize(), "cross"), what);
    expectSame(whole[0], fetched(dWhole[0]), c.width, "cross left, " + what);
    expectSame(whole[1], fetched(dWhole[1]), c.width, "cross right, " + what);
  }

  std::vector<int16_t> q4(pixels);
  std::vector<uint8_t> confidence(pixels);
  groundControlPointsReference(view(whole[0]).asConst(), view(whole[1]).asConst(), view(q4),
                               packedView(confidence.data(), c.width, c.height));
  require(gpu::groundControlPoints(dWhole[0].get(), dWhole[1].get(), dQ4.get(), dConfidence.get(), c.width, c.height,
                                   nullptr),
          "points");
  expectSame(q4, fetched(dQ4), c.width, "ground control points, " + what);
  expectSame(confidence, fetched(dConfidence), c.width, "ground control points' confidence, " + what);
}

/// Checks the matcher's own refinement, with the defaults of both resolutions.
inline void checkCbca(Random& random, const Case& c, const std::vector<uint8_t>& left,
                      const std::vector<uint8_t>& right) {
  CrossParameters cross;
  cross.minDisparity = random.whole(0, 3) == 0 ? random.whole(1, 9) : 0;
  cross.numDisparities = c.width > 67 ? random.whole(1, 12) : random.whole(8, 40);
  const bool half = random.whole(0, 1) == 0;
  cross.armX = cross.armY = half ? kCbcaArmAtHalf : kCbcaArm;
  cross.similarity = half ? kCbcaSimilarityAtHalf : kCbcaSimilarity;
  const size_t pixels = left.size();
  std::vector<int16_t> expected(pixels);
  std::vector<uint8_t> confidence(pixels);
  const int32_t thresholdQ4 = 16 * (random.whole(0, 1) == 0 ? kCbcaThreshold : random.whole(0, 64));
  cbcaReference(cross, thresholdQ4, packedView(left.data(), c.width, c.height),
                packedView(right.data(), c.width, c.height), packedView(expected.data(), c.width, c.height),
                packedView(confidence.data(), c.width, c.height));
  DeviceBuffer<uint8_t> dGrey[2], dConfidence;
  DeviceBuffer<int16_t> dQ4;
  upload(dGrey[0], left);
  upload(dGrey[1], right);
  require(dQ4.allocate(pixels), "cbca");
  require(dConfidence.allocate(pixels), "cbca");
  gpu::CbcaWorkspace cbca;
  const std::string what = c.name + (half ? " half " : " full ") + describe(cross);
  require(cbca.open(cross, thresholdQ4, c.width, c.height), "open " + what);
  require(cbca.compute(dGrey[0].get(), dGrey[1].get(), dQ4.get(), dConfidence.get(), nullptr), "cbca " + what);
  expectSame(expected, fetched(dQ4), c.width, "cbca, " + what);
  expectSame(confidence, fetched(dConfidence), c.width, "cbca confidence, " + what);
}

}  // namespace depthwatt
