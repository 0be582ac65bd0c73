// SPDX-License-Identifier: Apache-2.0
// ESMP as a matcher on the CPU (Yu et al. 2010, section III.B).
#include "../families/exponential_matcher.h"
#include "esmp_task.h"

namespace depthwatt {
namespace {

/// The limit of slope and cost in thousandths: 65535 cells.
constexpr int32_t kMaxThousandths = 65535 / kEsmpPerThousandth;

constexpr Setting kParameters[] = {
    wholeNumber("steps", 1, kMaxSteps, 8, "",
                "Rounds of aggregation, each along x and then along y. More rounds reach farther and take more time."),
    wholeNumber(
        "basePercent", 100, 400, 180, "%",
        "Round t reaches round((basePercent / 100)^(t - 1)) pixels. The paper prints 280, but its results need 180."),
    wholeNumber("gammaColour", 1, kMaxGamma, 18, "grey",
                "Colour difference at which a neighbour's weight falls to 1/e. Lower it for sharper edges."),
    kColourDistance,
    wholeNumber("gammaDistance", 1, kMaxGamma, 29, "px",
                "Distance at which a neighbour's weight falls to 1/e. Raise it to smooth over larger areas."),
    wholeNumber("truncation", 1, 255, 17, "grey",
                "Largest grey difference that counts. Lower it to limit the effect of occlusions and reflections."),
    wholeNumber("lambdaThousandths", 1, kMaxThousandths, 150, "1/1000",
                "Cost of one grey value, relative to the smoothness penalties. Times truncation, at most 3276."),
    wholeNumber("slopeThousandths", 1, kMaxThousandths, 1000, "1/1000",
                "Penalty per pixel of disparity difference between neighbours. Raise it for smoother surfaces."),
    wholeNumber("capTenThousandths", 0, 10000, 375, "1/10000",
                "Largest smoothness penalty, times numDisparities - 1. Lower it to keep disparity edges."),
    kGradientTruncation,
    kGradientPercent,
    kRightView,
    kSubpixel,
};

constexpr QualityStep kSteps[] = {{"steps", 6}, {"steps", 4}};

BrokenRule check(const MatcherChoice& choice, const MatchSearch&, bool) {
  const int32_t truncation = choice.at("truncation"), lambda = choice.at("lambdaThousandths");
  const int32_t gradient = choice.at("gradientTruncation"), percent = choice.at("gradientPercent");
  const int32_t maxLambda = 100 * kMaxThousandths / (100 * truncation + percent * gradient);
  if (lambda <= maxLambda) return {};
  if (gradient == 0) {
    return BrokenRule::of({"match.esmp.lambdaThousandths", "match.esmp.truncation"},
                          "expected at most %d with match.esmp.truncation of %d, got %d", maxLambda, truncation,
                          lambda);
  }
  return BrokenRule::of({"match.esmp.lambdaThousandths", "match.esmp.truncation", "match.esmp.gradientTruncation",
                         "match.esmp.gradientPercent"},
                        "expected at most %d with match.esmp.truncation of %d, match.esmp.gradientTruncation of %d and "
                        "match.esmp.gradientPercent of %d, got %d",
                        maxLambda, truncation, gradient, percent, lambda);
}

constexpr MatcherFacts kFacts = {"esmp",
                                 "message propagation in exponential steps",
                                 ImagesNeeded::kGreyAndLeftRgb,
                                 false,
                                 kParameters,
                                 sizeof kParameters / sizeof *kParameters,
                                 {kSteps, sizeof kSteps / sizeof *kSteps, 1, "steps", 0},
                                 check};

}  // namespace

const MatcherFacts& esmpFacts() { return kFacts; }

Status openEsmpOnCpu(const MatchTask& task, InstructionSet set, Workers& workers, std::unique_ptr<CpuMatcher>* opened) {
  return openExponentialOnCpu(esmpParametersFrom(task), task, set, workers, opened);
}

}  // namespace depthwatt
