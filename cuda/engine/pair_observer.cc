// SPDX-License-Identifier: Apache-2.0
// Observes some of the pairs; see pair_observer.h.
#include "pair_observer.h"

#include <algorithm>
#include <cstdlib>

#include "../simd/kernels.h"

namespace depthwatt {

int32_t RowDecision::take(int32_t quarterRows) {
  estimates_[count_++ % kRowEstimates] = quarterRows;
  const int32_t known = std::min(count_, kRowEstimates);
  int32_t sorted[kRowEstimates] = {};
  std::copy_n(estimates_, known, sorted);
  std::nth_element(sorted, sorted + (known - 1) / 2, sorted + known);
  median_ = sorted[(known - 1) / 2];
  otherCount_ = median_ == applied_ ? 0 : median_ == otherValue_ ? otherCount_ + 1 : 1;
  otherValue_ = median_;
  if (count_ == 1 || std::abs(median_ - applied_) >= 2 || otherCount_ >= kSteadyEstimates) {
    applied_ = median_;
    otherCount_ = 0;
  }
  return applied_;
}

int32_t smoothRangeFor(int32_t sigmaQ8, int32_t applied) {
  const int32_t wantedQ8 = std::max((14 * sigmaQ8 - 31 * 256) / 4, 0);
  if (applied > 0 && 2 * std::abs(wantedQ8 - 256 * applied) < 3 * 256) return applied;
  return std::min(std::max((wantedQ8 + 128) / 256, kMinSmoothRange), kMaxSmoothRange);
}

PairObserver::PairObserver(const EngineParameters& parameters, InstructionSet set)
    : p_(parameters), rectify_(kernelsFor<RectifyKernels>(set).rectify),
      census_(kernelsFor<TwoGradientCensusKernels>(set).twoGradientCensus),
      countNoise_(kernelsFor<DenoiseKernels>(set).countNoise),
      countRowOffset_(kernelsFor<RowOffsetKernels>(set).countRowOffset) {
  const size_t pixels = static_cast<size_t>(p_.width) * p_.height;
  for (std::vector<uint8_t>& image : grey_) image.resize(pixels);
  for (std::vector<uint32_t>& image : words_) image.resize(p_.adaptation.watchesRows ? pixels : 0);
  observation_.adaptation = {p_.adaptation.quarterRows, 0, 0};
}

void PairObserver::prepare(const FrameInput& input, int side, const std::vector<int32_t>& map) {
  const RectifySource source =
      side == 0 ? RectifySource{input.left, p_.inputWidth, p_.inputHeight, p_.leftStrideBytes, p_.leftFormat}
                : RectifySource{input.right, p_.inputWidth, p_.inputHeight, p_.rightStrideBytes, p_.rightFormat};
  const ImageView<uint8_t> grey = packedView(grey_[side].data(), p_.width, p_.height);
  rectify_(source, map.empty() ? nullptr : map.data(), grey, 0, p_.height);
  if (!p_.adaptation.watchesRows) return;
  census_(grey.asConst(), packedView(words_[side].data(), p_.width, p_.height), 0, p_.height);
}

void PairObserver::look(const FrameInput& input) {
  NoiseCounts counts;
  for (int side = 0; side < 2; ++side) {
    prepare(input, side, side == 0 ? p_.leftMap : p_.rightMap);
    if (p_.adaptation.denoise != Denoise::kOff)
      countNoise_(packedView(grey_[side].data(), p_.width, p_.height).asConst(), counts);
  }
  if (p_.adaptation.denoise != Denoise::kOff) {
    observation_.noiseSigmaQ8 = noiseSigmaQ8(counts);
    observation_.noiseKnown = true;
    int32_t& range = observation_.adaptation.smoothRange;
    const int32_t sigmaQ8 = p_.halfResolution ? observation_.noiseSigmaQ8 / 3 : observation_.noiseSigmaQ8;
    const bool noisy = sigmaQ8 >= (range > 0 ? kQuietSigmaQ8 : kNoisySigmaQ8) &&
                       observation_.noiseSigmaQ8 < (range > 0 ? kSurelyTextureSigmaQ8 : kTextureSigmaQ8);
    range = noisy || p_.adaptation.denoise == Denoise::kOn ? smoothRangeFor(sigmaQ8, range) : 0;
  }
  if (p_.adaptation.watchesRows) lookAtRows(input);
}

RowBands PairObserver::bands() const {
  const auto words = [&](int side) { return packedView(words_[side].data(), p_.width, p_.height).asConst(); };
  const RowOffsetSearch search{p_.search.minDisparity, p_.search.numDisparities};
  return countRowBands(search, words(0), words(1), countRowOffset_);
}

RowLine PairObserver::rowLine(const FrameInput& input, const RowBands& bands) {
  const RowLine first = estimateRowLine(bands);
  const int32_t turned = observation_.adaptation.quarterRowsOverWidth == 0 ? kTurnedOverWidth : kStraightOverWidth;
  if (!first.known || std::abs(first.quarterRowsOverWidth) < turned) return {};
  prepare(input, 1,
          mapFurtherDown(p_.rightMap, p_.width, p_.height, first.middleQuarterRows, first.quarterRowsOverWidth));
  const RowBands through = this->bands();
  const RowLine rest = estimateRowLine(through);
  // A few samples of a noisy pair may form a line by chance. Then the census agrees no better along it than at the best
  // whole row.
  const RowOffsetSums before = mergeSums(bands), after = mergeSums(through);
  const int64_t best = *std::min_element(before.sums, before.sums + kRowOffsets);
  if (!rest.known || after.sums[kMaxRowOffset] * before.samples >= best * after.samples) return {};
  return {true, first.middleQuarterRows + rest.middleQuarterRows,
          first.quarterRowsOverWidth + rest.quarterRowsOverWidth};
}

void PairObserver::lookAtRows(const FrameInput& input) {
  const RowBands estimated = bands();
  const RowLine line = rowLine(input, estimated);
  int32_t quarterRows = line.middleQuarterRows;
  if (line.known) {
    observation_.rowsAtLimit = false;
  } else {
    const RowOffset offset = estimateRowOffset(estimated);
    if (!offset.known) return;
    observation_.rowsAtLimit = offset.atLimit;
    if (offset.atLimit) return;
    quarterRows = offset.quarterRows;
  }
  observation_.rowsKnown = true;
  observation_.adaptation.quarterRows = rows_.take(quarterRows);
  observation_.medianQuarterRows = rows_.median();
  observation_.adaptation.quarterRowsOverWidth = overWidth_.take(line.quarterRowsOverWidth);
  observation_.medianQuarterRowsOverWidth = overWidth_.median();
}

void PairObserver::read(const std::vector<int32_t>& rightMap) {
  p_.rightMap = rightMap;
  if (!p_.adaptation.watchesRows) return;
  rows_ = overWidth_ = RowDecision();
  observation_.rowsKnown = observation_.rowsAtLimit = false;
  observation_.medianQuarterRows = observation_.adaptation.quarterRows = 0;
  observation_.medianQuarterRowsOverWidth = observation_.adaptation.quarterRowsOverWidth = 0;
}

size_t PairObserver::workspaceBytes() const { return 2 * grey_[0].size() + 2 * words_[0].size() * sizeof(uint32_t); }

}  // namespace depthwatt
