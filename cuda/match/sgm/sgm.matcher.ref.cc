// SPDX-License-Identifier: Apache-2.0
// The definition of the whole matcher sgm: the references of its stages in order.
#include <vector>

#include "../../refine/left_right/left_right.h"
#include "../cost/census/census.h"
#include "../cost/gradient_census/gradient_census.h"
#include "../cost/two_gradient_census/two_gradient_census.h"
#include "../cost/wide_census/wide_census.h"
#include "../mirror.h"
#include "../select/select.h"
#include "sgm.h"
#include "sgm_task.h"

namespace depthwatt {

namespace {

/// @param rightWhole the right view from the left view's sums
void winnersReference(const MatchTask& task, ImageView<const uint8_t> left, ImageView<const uint8_t> right,
                      const MatcherResult& result, ImageView<int16_t> whole, ImageView<int16_t> rightWhole) {
  const size_t pixels = static_cast<size_t>(task.width) * task.height;
  const SgmParameters parameters = sgmParametersFrom(task);
  std::vector<uint32_t> words[2] = {std::vector<uint32_t>(pixels), std::vector<uint32_t>(pixels)};
  std::vector<uint32_t> more[2] = {std::vector<uint32_t>(pixels), std::vector<uint32_t>(pixels)};
  std::vector<uint16_t> sums(pixels * static_cast<size_t>(parameters.numDisparities));
  const auto view = [&](auto& image) { return packedView(image.data(), task.width, task.height); };
  const ImageView<const uint8_t> sides[2] = {left, right};
  for (int side = 0; side < 2; ++side) {
    switch (matchingCostFrom(task)) {
      case MatchingCost::kWideCensus: wideCensusReference(sides[side], view(words[side]), view(more[side])); break;
      case MatchingCost::kTwoGradientCensus: twoGradientCensusReference(sides[side], view(words[side])); break;
      case MatchingCost::kGradientCensus: gradientCensusReference(sides[side], view(words[side])); break;
      case MatchingCost::kCensus: censusReference<uint8_t>(sides[side], view(words[side])); break;
    }
  }
  sgmSumsReference(
      parameters,
      {view(words[0]).asConst(), view(words[1]).asConst(), left, view(more[0]).asConst(), view(more[1]).asConst()},
      sums.data());
  selectReference(parameters, sums.data(), {result.disparityQ4, whole, rightWhole, result.confidence});
}

}  // namespace

void matchSgmReference(const MatchTask& task, const MatcherImages& images, const MatcherResult& result) {
  const size_t pixels = static_cast<size_t>(task.width) * task.height;
  std::vector<int16_t> whole(pixels), rightWhole(pixels), unused(pixels);
  const auto view = [&](auto& image) { return packedView(image.data(), task.width, task.height); };
  winnersReference(task, images.left, images.right, result, view(whole), view(rightWhole));
  if (!task.leftRight) return;
  if (hasOwnRightView(task)) {
    std::vector<uint8_t> left(pixels), right(pixels), confidence(pixels);
    std::vector<int16_t> disparityQ4(pixels), mirrored(pixels);
    mirrorColumns(images.right, view(left), 0, task.height);
    mirrorColumns(images.left, view(right), 0, task.height);
    winnersReference(task, view(left).asConst(), view(right).asConst(), {view(disparityQ4), view(confidence)},
                     view(mirrored), view(unused));
    mirrorColumns(view(mirrored).asConst(), view(rightWhole), 0, task.height);
  }
  leftRightReference({view(whole).asConst(), view(rightWhole).asConst(), result.disparityQ4, result.confidence});
}

}  // namespace depthwatt
