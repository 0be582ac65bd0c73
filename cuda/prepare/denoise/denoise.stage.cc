// SPDX-License-Identifier: Apache-2.0
// Denoising as a stage: its setting and CPU adapter for both images of a pair. The estimated noise of the pairs gives
// the range (engine/pair_observer.h); a pair with little noise is matched unchanged.
#include <vector>

#include "../../simd/kernels.h"
#include "../../stage.h"
#include "denoise.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    word(
        "match.denoise", "auto off on",
        "Denoises both images before matching, by the estimated noise level. auto: only between 2.75 and 16 grey levels.")
        .restart(),
};

class DenoiseOnCpu final : public CpuStage {
 public:
  DenoiseOnCpu(const StageTask& task, const CpuContext& cpu)
      : kernels_(kernelsFor<DenoiseKernels>(cpu.instructionSet)), workers_(cpu.workers) {
    for (std::vector<uint8_t>& image : guide_) image.resize(static_cast<size_t>(task.width) * task.height);
  }

  Status run(const StageImages& images) override {
    const ImageView<uint8_t>* in = images.matched.grey;
    const int32_t width = in[0].width, height = in[0].height;
    const ImageView<uint8_t> guide[2] = {packedView(guide_[0].data(), width, height),
                                         packedView(guide_[1].data(), width, height)};
    workers_.rows(height, [&](int32_t first, int32_t end) {
      for (int side = 0; side < 2; ++side) kernels_.smooth(in[side].asConst(), guide[side], first, end);
    });
    workers_.rows(height, [&](int32_t first, int32_t end) {
      for (int side = 0; side < 2; ++side)
        kernels_.bilateral(in[side].asConst(), guide[side].asConst(), range_, images.denoisedGrey[side], first, end);
    });
    return {};
  }
  void adapt(const Adaptation& adaptation, const int32_t*, const int32_t*) override { range_ = adaptation.smoothRange; }
  bool active() const override { return range_ > 0; }
  size_t workspaceBytes() const override { return guide_[0].size() + guide_[1].size(); }

 private:
  const DenoiseKernels& kernels_;
  Workers& workers_;
  std::vector<uint8_t> guide_[2];
  int32_t range_ = 0;  ///< grey values; 0: the stage is skipped
};

}  // namespace

const StageFacts& denoiseFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "denoise";
    f.has(kSettings);
    f.isOn = [](const EngineParameters& p) { return p.adaptation.denoise != Denoise::kOff && !bringsDisparity(p); };
    return f;
  }();
  return facts;
}

Status openDenoiseOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<DenoiseOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
