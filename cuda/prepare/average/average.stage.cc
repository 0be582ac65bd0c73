// SPDX-License-Identifier: Apache-2.0
// The average over time as a stage: its setting and CPU adapter for both images of a pair.
#include <algorithm>
#include <vector>

#include "../../simd/kernels.h"
#include "../../stage.h"
#include "average.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    flag(
        "match.average", false,
        "Averages both images over the last frames before matching, except where something moves. Turn it on for a still camera in "
        "low light. Results then depend on earlier frames."),
};

class AverageOnCpu final : public CpuStage {
 public:
  AverageOnCpu(const StageTask& task, const CpuContext& cpu)
      : kernels_(kernelsFor<AverageKernels>(cpu.instructionSet)), workers_(cpu.workers), width_(task.width),
        height_(task.height), repetitions_(task.frame.repeatedStage == kAverageStage ? task.frame.repetitions : 1) {
    for (std::vector<int16_t>& state : states_) state.resize(2 * static_cast<size_t>(width_) * height_);
  }

  Status run(const StageImages& images) override {
    // A repeated stage starts each run from the state before the frame, so that the result stays the same.
    if (runs_++ % repetitions_ == 0) newest_ ^= 1;
    AverageTask tasks[2];
    for (int side = 0; side < 2; ++side) {
      tasks[side] = {images.matched.grey[side].asConst(),
                     images.denoisedGrey[side].asConst(),
                     state(newest_ ^ 1, side).asConst(),
                     state(newest_, side),
                     images.matcherGrey[side],
                     limit_};
    }
    workers_.rows(height_, [&](int32_t first, int32_t end) {
      for (const AverageTask& task : tasks) kernels_.average(task, first, end);
    });
    return {};
  }
  void adapt(const Adaptation& adaptation, const int32_t*, const int32_t*) override {
    limit_ = averageLimit(adaptation.smoothRange);
  }
  void forget() override { std::fill(states_[newest_].begin(), states_[newest_].end(), int16_t{0}); }
  size_t workspaceBytes() const override { return 2 * states_[0].size() * sizeof(int16_t); }

 private:
  ImageView<int16_t> state(int which, int side) {
    return packedView(states_[which].data() + side * static_cast<size_t>(width_) * height_, width_, height_);
  }

  const AverageKernels& kernels_;
  Workers& workers_;
  const int32_t width_, height_, repetitions_;
  std::vector<int16_t> states_[2];  ///< before and after a frame in turn; each holds both images
  int newest_ = 0;
  int32_t runs_ = 0, limit_ = averageLimit(0);
};

}  // namespace

const StageFacts& averageFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "average";
    f.has(kSettings);
    f.remembers = true;
    f.isOn = [](const EngineParameters& p) { return p.at("match.average") != 0 && !bringsDisparity(p); };
    f.reach = 1;
    return f;
  }();
  return facts;
}

Status openAverageOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<AverageOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
