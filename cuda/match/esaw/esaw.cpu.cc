// SPDX-License-Identifier: Apache-2.0
// ESAW as a matcher on the CPU (Yu et al. 2010, section III.A).
#include "../exponential_matcher.h"
#include "esaw_task.h"

namespace depthwatt {
namespace {

constexpr MatcherParameter kParameters[] = {
    wholeNumber("steps", 1, kMaxSteps, 9, "", "Rounds of aggregation, each along x and then along y."),
    wholeNumber(
        "basePercent", 100, 400, 190, "%",
        "Round t reaches round((basePercent / 100)^(t - 1)) pixels to each side; the paper has 190 for 9 rounds, 260 for 5."),
    wholeNumber("gammaColour", 1, kMaxGamma, 17, "grey",
                "Colour difference at which a neighbour's weight falls to 1/e."),
    wholeNumber("gammaDistance", 1, kMaxGamma, 36, "px", "Distance at which a neighbour's weight falls to 1/e."),
    wholeNumber("truncation", 1, 255, 12, "grey", "Grey difference from which on two pixels differ no more."),
    wholeNumber(
        "gradientTruncation", 0, 127, 0, "grey / 2",
        "Difference of horizontal gradients from which on two pixels differ no more; 0: gradients are not compared, as in the paper."),
    wholeNumber("gradientPercent", 1, 2000, 400, "%", "Cost of a unit of gradient, as a part of that of a grey value."),
    word(
        "rightView", "own diagonal",
        "What the left-right check compares with: own aggregates again from the right image, at the cost of another matching; diagonal reads it off the left one's costs."),
    flag("subpixel", false, "Interpolates the winner to 1/16 px."),
};

constexpr QualityStep kSteps[] = {{"steps", 7}, {"steps", 5}};

constexpr MatcherFacts kFacts = {"esaw",
                                 "adaptive weights in exponential steps",
                                 ImagesNeeded::kGreyAndLeftRgb,
                                 false,
                                 kParameters,
                                 sizeof kParameters / sizeof *kParameters,
                                 {kSteps, sizeof kSteps / sizeof *kSteps, 1, "steps", 0},
                                 nullptr};

}  // namespace

const MatcherFacts& esawFacts() { return kFacts; }

Status openEsawOnCpu(const MatchTask& task, const Kernels& kernels, Workers& workers,
                     std::unique_ptr<CpuMatcher>* opened) {
  return openExponentialOnCpu(esawParametersOf(task), task, kernels, workers, opened);
}

}  // namespace depthwatt
