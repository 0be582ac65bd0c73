// SPDX-License-Identifier: Apache-2.0
// Pyramid SAD as a matcher on the CPU (Prehn 2007, section 5.3).
#include "../families/hsv_matcher.h"
#include "pyramid_task.h"

namespace depthwatt {
namespace {

constexpr Setting kParameters[] = {
    oneOf("windowWidth", "3 5 7 9 11 13 15", 7, "px",
          "Width of the window at every level. Larger windows are less noisy and blur edges more."),
    oneOf("windowHeight", "3 5 7 9 11 13 15", 7, "px",
          "Height of the window. Larger windows are less noisy and blur edges more."),
    wholeNumber("levels", 1, kMaxLevels, 3, "",
                "Number of smaller copies to match first, each half the size. More are faster and lose thin objects."),
    wholeNumber(
        "peakRatio", 0, 50, 5, "%",
        "Margin by which a disparity must win to replace the coarser level's, per pixel of distance to the second best. 0: no margin."),
    wholeNumber("hueWeight", 0, 100, 20, "%", "Weight of differences in hue, where a full circle is 256 grey values."),
    wholeNumber("saturationWeight", 0, 100, 30, "%", "Weight of differences in saturation."),
    wholeNumber("valueWeight", 0, 100, 50, "%",
                "Weight of differences in value (brightness). The three weights add up to 1 to 100."),
    flag("subpixel", false, "Interpolates the disparity to 1/16 px. Turn it off for whole pixels."),
};

BrokenRule check(const MatcherChoice& choice, const MatchSearch&, bool) { return checkHsvWeights(choice); }

/// As sad, in pixels of the smallest copies, which read furthest; one more for a candidate beyond a guess.
MatchReach reach(const MatcherChoice& choice, const MatchSearch& search, bool leftRight) {
  const int32_t step = 1 << choice.at("levels");
  const auto whole = [&](int32_t pixels) { return (pixels + step - 1) / step + 1; };
  const int32_t columns = choice.at("windowWidth") / 2 + 1, steps = search.numDisparities - 1;
  return {step * (columns + whole(search.minDisparity + steps)), step * (columns + (leftRight ? whole(steps) : 0)),
          step * (choice.at("windowHeight") / 2 + 1), step};
}

constexpr MatcherFacts kFacts = {"pyramid",
                                 "window sums refined from small copies of the images",
                                 ImagesNeeded::kGreyAndRgb,
                                 false,
                                 kParameters,
                                 sizeof kParameters / sizeof *kParameters,
                                 {nullptr, 0, 0, nullptr, 1},
                                 check,
                                 false,
                                 reach};

}  // namespace

const MatcherFacts& pyramidFacts() { return kFacts; }

Status openPyramidOnCpu(const MatchTask& task, InstructionSet set, Workers& workers,
                        std::unique_ptr<CpuMatcher>* opened) {
  std::unique_ptr<HsvMatcherOnCpu<Pyramid, PyramidImages, PyramidResult>> matcher(
      new HsvMatcherOnCpu<Pyramid, PyramidImages, PyramidResult>(task, set, workers));
  Pyramid* stage = nullptr;
  const Status status =
      Pyramid::open(pyramidParametersFrom(task), task.width, task.height, task.leftRight, set, workers, &stage);
  if (!status.ok()) return status;
  matcher->adopt(stage);
  *opened = std::move(matcher);
  return {};
}

}  // namespace depthwatt
