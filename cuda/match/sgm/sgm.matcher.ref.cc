// SPDX-License-Identifier: Apache-2.0
// The definition of the whole matcher sgm: the references of its stages in order.
#include <vector>

#include "../../prepare/half/half.h"
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

struct Level {
  int32_t width, height;
  SgmParameters parameters;
  std::vector<uint32_t> words[2], more[2];
  std::vector<uint16_t> sums;
  std::vector<int16_t> winner, second;
  std::vector<uint8_t> blocks;

  template <class T>
  ImageView<T> view(std::vector<T>& image) const {
    return packedView(image.data(), width, height);
  }
};

/// Computes a level's sums, and those of the coarser levels before them.
void computeSums(const MatchTask& task, ImageView<const uint8_t> left, ImageView<const uint8_t> right, Level& level) {
  level.width = left.width;
  level.height = left.height;
  const size_t pixels = static_cast<size_t>(left.width) * left.height;
  const ImageView<const uint8_t> sides[2] = {left, right};
  for (int side = 0; side < 2; ++side) {
    level.words[side].resize(pixels);
    level.more[side].resize(pixels);
    const auto words = level.view(level.words[side]), more = level.view(level.more[side]);
    switch (matchingCostFrom(task)) {
      case MatchingCost::kWideCensus: wideCensusReference(sides[side], words, more); break;
      case MatchingCost::kTwoGradientCensus: twoGradientCensusReference(sides[side], words); break;
      case MatchingCost::kGradientCensus: gradientCensusReference(sides[side], words); break;
      case MatchingCost::kCensus: censusReference<uint8_t>(sides[side], words); break;
    }
  }
  if (searchesCoarseToFine(task) && level.parameters.numDisparities > kFullRange) {
    const int32_t width = halfSide(left.width), height = halfSide(left.height);
    std::vector<uint8_t> halves[2];
    for (int side = 0; side < 2; ++side) {
      halves[side].resize(static_cast<size_t>(width) * height);
      halfReference(sides[side], packedView(halves[side].data(), width, height));
    }
    Level coarser;
    coarser.parameters = coarserParameters(level.parameters);
    computeSums(task, packedView<const uint8_t>(halves[0].data(), width, height),
                packedView<const uint8_t>(halves[1].data(), width, height), coarser);
    coarser.winner.resize(halves[0].size());
    coarser.second.resize(halves[0].size());
    const CoarseVotes votes{coarser.view(coarser.winner), coarser.view(coarser.second)};
    coarseVotesReference(coarser.parameters, coarser.sums.data(), votes);
    level.blocks.resize(static_cast<size_t>(tilesAlong(left.width)) * tilesAlong(left.height) * kGuidedBlocks);
    chooseBlocksReference(level.parameters, left.width, left.height, votes, level.blocks.data());
  }
  level.sums.resize(pixels * static_cast<size_t>(level.parameters.numDisparities));
  sgmSumsReference(level.parameters,
                   {level.view(level.words[0]).asConst(), level.view(level.words[1]).asConst(), left,
                    level.view(level.more[0]).asConst(), level.view(level.more[1]).asConst()},
                   level.sums.data(), level.blocks.empty() ? nullptr : level.blocks.data());
}

/// @param rightWhole the right view from the left view's sums or, with blocks, from its winners
void winnersReference(const MatchTask& task, ImageView<const uint8_t> left, ImageView<const uint8_t> right,
                      const MatcherResult& result, ImageView<int16_t> whole, ImageView<int16_t> rightWhole) {
  Level level;
  level.parameters = sgmParametersFrom(task);
  computeSums(task, left, right, level);
  const bool guided = !level.blocks.empty();
  selectReference(level.parameters, level.sums.data(),
                  {result.disparityQ4, whole, guided ? ImageView<int16_t>{} : rightWhole, result.confidence});
  if (guided) rightFromWinnersReference(level.parameters, level.sums.data(), whole.asConst(), rightWhole);
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
