// SPDX-License-Identifier: Apache-2.0
// ESAW as a matcher on the CPU (Yu et al. 2010, section III.A).
#include "../families/exponential_matcher.h"
#include "esaw_task.h"

namespace depthwatt {
namespace {

constexpr Setting kParameters[] = {
    wholeNumber("steps", 1, kMaxSteps, 9, "",
                "Rounds of aggregation, each along x and then along y. More rounds reach farther and take more time."),
    wholeNumber(
        "basePercent", 100, 400, 190, "%",
        "Round t reaches round((basePercent / 100)^(t - 1)) pixels. Use 190 with 9 rounds and 260 with 5, as the paper does."),
    wholeNumber("gammaColour", 1, kMaxGamma, 17, "grey",
                "Colour difference at which a neighbour's weight falls to 1/e. Lower it for sharper edges."),
    kColourDistance,
    wholeNumber("gammaDistance", 1, kMaxGamma, 36, "px",
                "Distance at which a neighbour's weight falls to 1/e. Raise it to smooth over larger areas."),
    wholeNumber("truncation", 1, 255, 12, "grey",
                "Largest grey difference that counts. Lower it to limit the effect of occlusions and reflections."),
    kGradientTruncation,
    kGradientPercent,
    kRightView,
    kSubpixel,
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

Status openEsawOnCpu(const MatchTask& task, InstructionSet set, Workers& workers, std::unique_ptr<CpuMatcher>* opened) {
  return openExponentialOnCpu(esawParametersFrom(task), task, set, workers, opened);
}

}  // namespace depthwatt
