// SPDX-License-Identifier: Apache-2.0
// Compares the whole matcher sgm with the references of its stages: each matching cost, with the right view from the
// left one's sums and from a separate match.
#pragma once

#include "../match/gpu_matcher.h"
#include "twins.h"

namespace depthwatt {

void matchSgmReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result);
namespace gpu {
Status openSgmOnGpu(const MatchTask& task, std::unique_ptr<Matcher>* matcher);
}

inline MatcherFacts sgmKeys() {
  static const Setting keys[] = {
      word("cost", "", ""),
      oneOf("paths", "", 4, "", ""),
      wholeNumber("p1", 0, 0, 0, "", ""),
      wholeNumber("p2", 0, 0, 0, "", ""),
      wholeNumber("adaptiveP2", 0, 0, 0, "", ""),
      wholeNumber("uniqueness", 0, 0, 0, "", ""),
      wholeNumber("outsideCost", 0, 0, 0, "", ""),
      word("rightView", "", ""),
      word("search", "", ""),
      flag("subpixel", true, ""),
  };
  MatcherFacts facts{};
  facts.name = "sgm";
  facts.parameters = keys;
  facts.parameterCount = sizeof keys / sizeof *keys;
  return facts;
}

inline void checkSgmMatcher(Random& random, const Case& c, const std::vector<uint8_t>& left,
                            const std::vector<uint8_t>& right, bool small) {
  static const MatcherFacts facts = sgmKeys();
  const int paths[] = {2, 4, 8};
  const int p2 = random.whole(1, 127);
  const bool coarseToFine = random.whole(0, 1) != 0;
  MatchTask task;
  task.width = c.width, task.height = c.height;
  task.search.minDisparity = random.whole(0, 3) == 0 ? random.whole(1, 20) : 0;
  task.search.numDisparities =
      coarseToFine && random.whole(0, 7) != 0 ? random.whole(65, small ? 200 : 512) : random.whole(8, 70);
  task.leftRight = random.whole(0, 7) != 0;
  task.matcher.facts = &facts;
  task.matcher.values = {random.whole(0, 3),                                  // cost
                         paths[random.whole(0, coarseToFine ? 1 : 2)],        // paths
                         random.whole(1, p2),                                 // p1
                         p2,                                                  // p2
                         random.whole(0, 1) * random.whole(1, 255),           // adaptiveP2
                         random.whole(0, 1) * random.whole(1, 99),            // uniqueness
                         random.whole(0, 1) == 0 ? 63 : random.whole(0, 62),  // outsideCost
                         random.whole(0, 2) == 0 ? 0 : 1,                     // rightView
                         coarseToFine ? 1 : 0,                                // search
                         random.whole(0, 3) == 0 ? 0 : 1};                    // subpixel
  std::string what = "sgm as a matcher, " + c.name + (task.leftRight ? ", checked:" : ":");
  for (size_t i = 0; i < task.matcher.values.size(); ++i) {
    what += std::string(" ") + facts.parameters[i].key + " " + std::to_string(task.matcher.values[i]);
  }
  what += " min " + std::to_string(task.search.minDisparity) + " num " + std::to_string(task.search.numDisparities);

  std::vector<int16_t> q4(left.size());
  std::vector<uint8_t> confidence(left.size());
  MatcherImages images;
  images.left = packedView(left.data(), c.width, c.height);
  images.right = packedView(right.data(), c.width, c.height);
  matchSgmReference(task, images,
                    {packedView(q4.data(), c.width, c.height), packedView(confidence.data(), c.width, c.height)});

  DeviceBuffer<uint8_t> dLeft, dRight, dConfidence;
  DeviceBuffer<int16_t> dQ4;
  upload(dLeft, left);
  upload(dRight, right);
  require(dQ4.allocate(left.size()), what);
  require(dConfidence.allocate(left.size()), what);
  std::unique_ptr<gpu::Matcher> matcher;
  require(gpu::openSgmOnGpu(task, &matcher), "open " + what);
  // Twice: the second frame reuses the first one's workspace.
  for (int frame = 0; frame < 2; ++frame) {
    require(matcher->compute({dLeft.get(), dRight.get(), nullptr, nullptr}, {dQ4.get(), dConfidence.get()}, nullptr),
            what);
    require(cudaStatus(cudaDeviceSynchronize(), "matching"), what);
    expectSame(q4, fetched(dQ4), c.width, "disparityQ4, " + what);
    expectSame(confidence, fetched(dConfidence), c.width, "confidence, " + what);
  }
}

}  // namespace depthwatt
