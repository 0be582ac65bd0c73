// SPDX-License-Identifier: Apache-2.0
// The temporal filter as a stage: its setting and CPU adapter.
#include <algorithm>
#include <vector>

#include "../../simd/kernels.h"
#include "../../stage.h"
#include "temporal.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    flag(
        "refine.temporal", false,
        "Averages the disparity over the last frames, except where something moves. Turn it on to reduce flicker. Results then "
        "depend on earlier frames."),
};

/// The state of a whole image.
struct TemporalMemory {
  std::vector<int16_t> mean, reference;
  std::vector<uint8_t> weight;

  explicit TemporalMemory(size_t pixels) : mean(pixels), reference(pixels), weight(pixels) {}
  TemporalState state(int32_t width, int32_t height) {
    return {packedView(mean.data(), width, height), packedView(weight.data(), width, height),
            packedView(reference.data(), width, height)};
  }
  size_t bytes() const { return 2 * mean.size() + 2 * reference.size() + weight.size(); }
};

class TemporalOnCpu final : public CpuStage {
 public:
  TemporalOnCpu(const StageTask& task, const CpuContext& cpu)
      : width_(task.width), height_(task.height), kernels_(kernelsFor<TemporalKernels>(cpu.instructionSet)),
        workers_(cpu.workers), memory_(pixels()),
        moved_(static_cast<size_t>(temporalTiles(width_)) * static_cast<size_t>(temporalTiles(height_))),
        repetitions_(task.frame.repeatedStage == kTemporalStage ? task.frame.repetitions : 1),
        before_(repetitions_ > 1 ? pixels() : 0) {}

  Status run(const StageImages& images) override {
    // A repeated stage starts each run from the state before the frame, so that the result stays the same.
    if (repetitions_ > 1) {
      if (runs_++ % repetitions_ == 0) before_ = memory_;
      else memory_ = before_;
    }
    const ImageView<const uint8_t> grey = images.matcherGrey[0].asConst();
    const TemporalState state = memory_.state(width_, height_);
    const ImageView<uint8_t> moved = packedView(moved_.data(), temporalTiles(width_), temporalTiles(height_));
    workers_.rows(moved.height, [&](int32_t first, int32_t end) { kernels_.moved(grey, state, moved, first, end); });
    const bool all = resetsFrame(moved.asConst(), width_, height_);
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      kernels_.mean(grey, images.disparityOut, state, moved.asConst(), all, first, end);
    });
    return {};
  }

  void forget() override { std::fill(memory_.weight.begin(), memory_.weight.end(), uint8_t{0}); }
  size_t workspaceBytes() const override { return memory_.bytes() + before_.bytes() + moved_.size(); }

 private:
  size_t pixels() const { return static_cast<size_t>(width_) * static_cast<size_t>(height_); }

  const int32_t width_, height_;
  const TemporalKernels kernels_;
  Workers& workers_;
  TemporalMemory memory_;
  std::vector<uint8_t> moved_;
  const int32_t repetitions_;
  TemporalMemory before_;
  int32_t runs_ = 0;
};

}  // namespace

const StageFacts& temporalFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "temporal";
    f.has(kSettings);
    f.writes = kWritesDisparity;
    f.inPlace = kWritesDisparity;
    f.remembers = true;
    f.isOn = [](const EngineParameters& p) { return p.at("refine.temporal") != 0; };
    f.reach = 2 * kTemporalTile;
    return f;
  }();
  return facts;
}

Status openTemporalOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<TemporalOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
