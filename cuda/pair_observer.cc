// SPDX-License-Identifier: Apache-2.0
// Looks at a pair every so many frames; see pair_observer.h.
#include "pair_observer.h"

#include <algorithm>
#include <cstdlib>

namespace depthwatt {

int32_t RowDecision::take(int32_t quarterRows) {
  estimates_[count_++ % kRowEstimates] = quarterRows;
  const int32_t known = std::min(count_, kRowEstimates);
  int32_t sorted[kRowEstimates];
  std::copy_n(estimates_, known, sorted);
  std::sort(sorted, sorted + known);
  median_ = sorted[(known - 1) / 2];
  otherCount_ = median_ == applied_ ? 0 : median_ == otherValue_ ? otherCount_ + 1 : 1;
  otherValue_ = median_;
  if (count_ == 1 || std::abs(median_ - applied_) >= 2 || otherCount_ >= kSteadyEstimates) {
    applied_ = median_;
    otherCount_ = 0;
  }
  return applied_;
}

PairObserver::PairObserver(const EngineParameters& parameters, const Kernels& kernels)
    : p_(parameters), kernels_(kernels) {
  const size_t pixels = static_cast<size_t>(p_.width) * p_.height;
  for (std::vector<uint8_t>& image : grey_) image.resize(pixels);
  for (std::vector<uint32_t>& image : words_) image.resize(p_.adaptation.watchesRows ? pixels : 0);
  seen_.adaptation = {p_.adaptation.quarterRows, p_.adaptation.denoise == Denoise::kOn};
}

void PairObserver::look(const FrameInput& input) {
  const RectifySource sources[2] = {{input.left, p_.inputWidth, p_.inputHeight, p_.leftStrideBytes, p_.leftFormat},
                                    {input.right, p_.inputWidth, p_.inputHeight, p_.rightStrideBytes, p_.rightFormat}};
  const std::vector<int32_t>* maps[2] = {&p_.leftMap, &p_.rightMap};
  NoiseCounts counts;
  for (int side = 0; side < 2; ++side) {
    const ImageView<uint8_t> grey = packedView(grey_[side].data(), p_.width, p_.height);
    kernels_.rectify(sources[side], maps[side]->empty() ? nullptr : maps[side]->data(), grey, 0, p_.height);
    if (p_.adaptation.denoise == Denoise::kAuto) kernels_.countNoise(grey.asConst(), counts);
    if (!p_.adaptation.watchesRows) continue;
    kernels_.twoGradientCensus(grey.asConst(), packedView(words_[side].data(), p_.width, p_.height), 0, p_.height);
  }
  if (p_.adaptation.denoise == Denoise::kAuto) {
    seen_.noiseSigmaQ8 = noiseSigmaQ8(counts);
    seen_.noiseKnown = true;
    seen_.adaptation.smooth = seen_.noiseSigmaQ8 >= (seen_.adaptation.smooth ? kQuietSigmaQ8 : kNoisySigmaQ8);
  }
  if (!p_.adaptation.watchesRows) return;
  const auto words = [&](int side) { return packedView(words_[side].data(), p_.width, p_.height).asConst(); };
  const RowOffsetSearch search{p_.search.minDisparity, p_.search.numDisparities};
  const RowOffset offset = rowOffsetOf(kernels_.countRowOffset(search, words(0), words(1)));
  if (!offset.known) return;
  seen_.rowsAtLimit = offset.atLimit;
  if (offset.atLimit) return;
  seen_.rowsKnown = true;
  seen_.adaptation.quarterRows = rows_.take(offset.quarterRows);
  seen_.medianQuarterRows = rows_.median();
}

void PairObserver::read(const std::vector<int32_t>& rightMap) {
  p_.rightMap = rightMap;
  if (!p_.adaptation.watchesRows) return;
  rows_ = RowDecision();
  seen_.rowsKnown = seen_.rowsAtLimit = false;
  seen_.medianQuarterRows = seen_.adaptation.quarterRows = 0;
}

size_t PairObserver::workspaceBytes() const { return 2 * grey_[0].size() + 2 * words_[0].size() * sizeof(uint32_t); }

}  // namespace depthwatt
