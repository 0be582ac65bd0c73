// SPDX-License-Identifier: Apache-2.0
// native.stages.guided({variant, width, height, threads?, the parameters of sgm, words?, censusLeft, censusRight: Uint32Array,
//   moreLeft?, moreRight?: Uint32Array, greyLeft: Uint8Array, blocks?: Uint8Array (chosen for each tile; without them all are searched),
//   either the results of sgm, or winner, second: Int16Array, the votes for the next finer level;
//   sums?: Uint16Array (reference only)})
// With `coarseWinner, coarseSecond: Int16Array` and no images it only chooses `blocks` from those votes.
#include "sgm.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "../select/select.h"
#include "sgm_arguments.node.h"

namespace depthwatt {
namespace {

CoarseVotes readVotes(const Napi::Object& call, const char* winner, const char* second, int32_t width, int32_t height) {
  const auto row = static_cast<size_t>(width) * sizeof(int16_t);
  return {readImage<int16_t>(call, winner, width, height, row), readImage<int16_t>(call, second, width, height, row)};
}

void matchGuided(const Napi::Object& call, const Variant& variant, const SgmParameters& parameters, int32_t width,
                 int32_t height, const uint8_t* blocks) {
  const auto words = [&](const char* name) {
    return readImage<const uint32_t>(call, name, width, height, static_cast<size_t>(width) * sizeof(uint32_t));
  };
  SgmImages images{words("censusLeft"),
                   words("censusRight"),
                   readImage<const uint8_t>(call, "greyLeft", width, height, static_cast<size_t>(width)),
                   {},
                   {}};
  if (parameters.words == 2) {
    images.moreLeft = words("moreLeft");
    images.moreRight = words("moreRight");
  }
  const bool coarse = !call.Get("winner").IsUndefined();
  CoarseVotes votes;
  SgmResult result;
  if (coarse) votes = readVotes(call, "winner", "second", width, height);
  else result = readSgmResult(call, width, height);
  if (!variant.isReference) {
    Workers workers(readInteger(call, "threads", 1, 256, 1));
    GuidedSgm* opened = nullptr;
    throwUnlessOk(call.Env(), GuidedSgm::open(parameters, width, height, coarse, variant.set, workers, &opened));
    const std::unique_ptr<GuidedSgm> level(opened);
    const size_t count = static_cast<size_t>(tilesAlong(width)) * tilesAlong(height) * kGuidedBlocks;
    if (blocks != nullptr) std::copy_n(blocks, count, level->blocks());
    if (coarse) level->compute(images, votes);
    else level->compute(images, result);
    return;
  }
  throwUnlessOk(call.Env(), checkGuidedParameters(parameters));
  const size_t cells = static_cast<size_t>(width) * height * parameters.numDisparities;
  std::vector<uint16_t> own(call.Get("sums").IsUndefined() ? cells : 0);
  uint16_t* sums = own.empty() ? readElements<uint16_t>(call, "sums", cells) : own.data();
  sgmSumsReference(parameters, images, sums, blocks);
  if (coarse) {
    coarseVotesReference(parameters, sums, votes);
    return;
  }
  SgmResult left = result;
  left.rightDisparity = {};
  selectReference(parameters, sums, left);
  if (result.rightDisparity.data != nullptr)
    rightFromWinnersReference(parameters, sums, result.disparity.asConst(), result.rightDisparity);
}

Napi::Value guided(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  SgmParameters parameters = sgmParametersFrom(call);
  parameters.words = readInteger(call, "words", 1, 2, 1);
  const int32_t width = readInteger(call, "width", 1, 32768), height = readInteger(call, "height", 1, 32768);
  const size_t count = static_cast<size_t>(tilesAlong(width)) * tilesAlong(height) * kGuidedBlocks;
  if (call.Get("coarseWinner").IsUndefined()) {
    const bool chosen = !call.Get("blocks").IsUndefined();
    matchGuided(call, variant, parameters, width, height,
                chosen ? readElements<const uint8_t>(call, "blocks", count) : nullptr);
  } else {
    const CoarseVotes votes = readVotes(call, "coarseWinner", "coarseSecond", (width + 1) / 2, (height + 1) / 2);
    auto* blocks = readElements<uint8_t>(call, "blocks", count);
    if (variant.isReference) chooseBlocksReference(parameters, width, height, votes, blocks);
    else chooseBlocks(parameters, width, height, votes, blocks, 0, tilesAlong(height));
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addGuided(Napi::Env env, Napi::Object stages) { stages.Set("guided", Napi::Function::New(env, guided, "guided")); }

}  // namespace depthwatt
