// SPDX-License-Identifier: Apache-2.0
// Fast form of window SAD. The right image's channels are separated and reversed, so that a pixel's partners are in the
// order of their disparities; then each thread processes its own rows.
#include "sad.h"

#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "../../../core/aligned_vector.h"
#include "../../simd/kernels.h"
#include "../ranges.h"
#include "sad_band.h"

namespace depthwatt {
namespace {

class SadOnCpu final : public Sad {
 public:
  SadOnCpu(const SadParameters& p, int32_t width, int32_t height, const SadKernels& kernels, Workers& workers)
      : p_(p), width_(width), height_(height), kernels_(kernels), workers_(workers),
        chunks_((p.numDisparities + kernels.lanes - 1) / kernels.lanes),
        channels_(sadChannels(p.weights, kernels.pixelCosts)),
        pitch_(static_cast<size_t>(width) + p.minDisparity + static_cast<size_t>(chunks_) * kernels.lanes) {
    right_.resize(static_cast<size_t>(height) * sadChannelCount(channels_) * pitch_);
    const size_t span = kSadStrip + kLargestWindow - 1, vectors = static_cast<size_t>(chunks_) * kernels.lanes;
    threads_.resize(static_cast<size_t>(workers.count()));
    for (Thread& thread : threads_) {
      thread.costs.resize(vectors * p.windowHeight * span);
      thread.columns.resize(vectors * span);
      thread.running.resize(vectors);
      thread.block.resize(vectors * kSadBlock);
      for (AlignedVector<uint16_t>& one : thread.picked) one.resize(kSadBlock + kSadSlack);
    }
  }

  void compute(const SadImages& images, const SadResult& result) override {
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      for (int32_t y = first; y < end; ++y) {
        kernels_.turnRow(images.right.row(y), width_, channels_, pitch_,
                         right_.data() + y * sadChannelCount(channels_) * pitch_);
      }
    });
    const bool wantsRight = !rightBest_.empty();
    workers_.each([&](int worker) {
      SadBand band;
      band.firstRow = static_cast<int32_t>(int64_t{height_} * worker / workers_.count());
      band.endRow = static_cast<int32_t>(int64_t{height_} * (worker + 1) / workers_.count());
      if (band.firstRow >= band.endRow) return;
      Thread& thread = threads_[static_cast<size_t>(worker)];
      band.parameters = p_;
      band.width = width_, band.height = height_, band.chunks = chunks_;
      band.channels = channels_;
      band.right = right_.data(), band.pitch = pitch_;
      band.scratch.costs = thread.costs.data(), band.scratch.columns = thread.columns.data();
      band.scratch.running = thread.running.data(), band.scratch.block = thread.block.data();
      for (int32_t i = 0; i < 5; ++i) band.scratch.picked[i] = thread.picked[i].data();
      band.rightBest = wantsRight ? rightBest_.data() : nullptr;
      band.rightPlace = wantsRight ? rightPlace_.data() : nullptr;
      band.images = images, band.result = result;
      if (wantsRight) forgetRight(band.firstRow, band.endRow);
      kernels_.band(band);
      if (wantsRight) finishRight(band.firstRow, band.endRow, result.rightDisparity);
    });
  }

  void wantRight() {
    rightBest_.resize(static_cast<size_t>(height_) * pitch_);
    rightPlace_.resize(rightBest_.size());
  }

  size_t workspaceBytes() const override {
    size_t bytes = right_.size() + (rightBest_.size() + rightPlace_.size()) * sizeof(uint16_t);
    for (const Thread& thread : threads_) {
      bytes += thread.costs.size() +
               (thread.columns.size() + thread.running.size() + thread.block.size()) * sizeof(uint16_t);
      bytes += 5 * thread.picked[0].size() * sizeof(uint16_t);
    }
    return bytes;
  }

 private:
  struct Thread {
    AlignedVector<uint8_t> costs;
    AlignedVector<uint16_t> columns, running, block, picked[5];
  };

  void forgetRight(int32_t first, int32_t end) {
    const size_t from = static_cast<size_t>(first) * pitch_, count = static_cast<size_t>(end - first) * pitch_;
    std::memset(rightBest_.data() + from, 0xff, count * sizeof(uint16_t));
    std::memset(rightPlace_.data() + from, 0xff, count * sizeof(uint16_t));
  }

  void finishRight(int32_t first, int32_t end, ImageView<int16_t> right) const {
    for (int32_t y = first; y < end; ++y) {
      const uint16_t* places = rightPlace_.data() + static_cast<size_t>(y) * pitch_;
      for (int32_t x = 0; x < width_; ++x) {
        const uint16_t place = places[width_ - 1 - x];
        right.row(y)[x] = place == 65535 ? kInvalidDisparity : static_cast<int16_t>(p_.minDisparity + place);
      }
    }
  }

  const SadParameters p_;
  const int32_t width_, height_;
  const SadKernels& kernels_;
  Workers& workers_;
  const int32_t chunks_;
  const SadChannels channels_;
  const size_t pitch_;
  std::vector<uint8_t> right_;
  std::vector<uint16_t> rightBest_, rightPlace_;
  std::vector<Thread> threads_;
};

}  // namespace

Status checkSadParameters(const SadParameters& p) {
  const Status status = checkWindowParameters(p);
  if (!status.ok()) return status;
  const int32_t sum = p.weights.hue + p.weights.saturation + p.weights.value;
  return checkRanges({{"hue", p.weights.hue, 0, 100},
                      {"saturation", p.weights.saturation, 0, 100},
                      {"value", p.weights.value, 0, 100},
                      {"the sum of hue, saturation and value", sum, 1, 100}});
}

Status Sad::open(const SadParameters& parameters, int32_t width, int32_t height, bool wantsRight, InstructionSet set,
                 Workers& workers, Sad** opened) {
  const Status status = checkSadParameters(parameters);
  if (!status.ok()) return status;
  try {
    std::unique_ptr<SadOnCpu> sad(new SadOnCpu(parameters, width, height, kernelsFor<SadKernels>(set), workers));
    if (wantsRight) sad->wantRight();
    *opened = sad.release();
  } catch (const std::bad_alloc&) {
    return Status::error(Code::kMemoryExhausted,
                         "Expected memory for window SAD of %dx%d with %d disparities, the allocation failed.", width,
                         height, parameters.numDisparities);
  }
  return {};
}

}  // namespace depthwatt
