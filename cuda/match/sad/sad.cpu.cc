// SPDX-License-Identifier: Apache-2.0
// The matcher sad on the CPU (Prehn 2007, section 5.2).
#include "../families/hsv_matcher.h"
#include "sad_task.h"

namespace depthwatt {
namespace {

constexpr Setting kParameters[] = {
    oneOf("windowWidth", "3 5 7 9 11 13 15", 5, "px",
          "Width of the window. Larger windows are less noisy and blur edges more."),
    oneOf("windowHeight", "3 5 7 9 11 13 15", 5, "px",
          "Height of the window. Larger windows are less noisy and blur edges more."),
    wholeNumber("hueWeight", 0, 100, 30, "%", "Weight of differences in hue, where a full circle is 256 grey values."),
    wholeNumber("saturationWeight", 0, 100, 30, "%", "Weight of differences in saturation."),
    wholeNumber("valueWeight", 0, 100, 30, "%",
                "Weight of differences in value (brightness). The three weights add up to 1 to 100."),
    flag("subpixel", false, "Interpolates the disparity to 1/16 px. Turn it off for whole pixels."),
};

BrokenRule check(const MatcherChoice& choice, const MatchSearch&, bool) { return checkHsvWeights(choice); }

/// Returns the reach of the window, its partners, and the windows that compete for the right image's pixels.
MatchReach reach(const MatcherChoice& choice, const MatchSearch& search, bool leftRight) {
  const int32_t columns = choice.at("windowWidth") / 2, steps = search.numDisparities - 1;
  return {columns + search.minDisparity + steps, columns + (leftRight ? steps : 0), choice.at("windowHeight") / 2, 1};
}

constexpr MatcherFacts kFacts = {"sad",
                                 "window sums of absolute colour differences",
                                 ImagesNeeded::kGreyAndRgb,
                                 false,
                                 kParameters,
                                 sizeof kParameters / sizeof *kParameters,
                                 {nullptr, 0, 0, nullptr, 4},
                                 check,
                                 false,
                                 reach};

}  // namespace

const MatcherFacts& sadFacts() { return kFacts; }

Status openSadOnCpu(const MatchTask& task, InstructionSet set, Workers& workers, std::unique_ptr<CpuMatcher>* opened) {
  std::unique_ptr<HsvMatcherOnCpu<Sad, SadImages, SadResult>> matcher(
      new HsvMatcherOnCpu<Sad, SadImages, SadResult>(task, set, workers));
  Sad* stage = nullptr;
  const Status status =
      Sad::open(sadParametersFrom(task), task.width, task.height, task.leftRight, set, workers, &stage);
  if (!status.ok()) return status;
  matcher->adopt(stage);
  *opened = std::move(matcher);
  return {};
}

}  // namespace depthwatt
