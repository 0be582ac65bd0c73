// SPDX-License-Identifier: Apache-2.0
// The match stage: the settings that all matchers share, and on the CPU the chosen matcher, or the disparity that pairs bring.
#include "../stage.h"
#include "foreign.h"
#include "match_task.h"
#include "registry.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    wholeNumber("match.minDisparity", 0, kMaxDisparity - kMinNumDisparities, 0, "px",
                "Smallest disparity searched. Raise it to ignore distant objects."),
    wholeNumber(
        "match.numDisparities", kMinNumDisparities, kMaxNumDisparities, 64, "px",
        "Number of disparities searched, from minDisparity on. More of them see nearer objects; time grows in proportion."),
    flag("refine.leftRight", true,
         "Drops pixels whose disparity differs by more than 1 px from the right image's match, such as occlusions."),
};

class MatchOnCpu final : public CpuStage {
 public:
  Status open(const StageTask& task, const CpuContext& cpu) {
    MatchTask match = matchTaskFrom(task);
    chooseSearch(&match, {instructionSetName(cpu.instructionSet)});
    return openCpuMatcher(match, cpu.instructionSet, cpu.workers, &matcher_);
  }
  Status run(const StageImages& images) override {
    const ImageView<uint8_t>* grey = images.matcherGrey;
    const ImageView<Rgb8>* rgb = images.matched.rgb;
    matcher_->compute({grey[0].asConst(), grey[1].asConst(), rgb[0].asConst(), rgb[1].asConst()},
                      {images.disparityOut, images.confidenceOut});
    return {};
  }
  size_t workspaceBytes() const override { return matcher_->workspaceBytes(); }

 private:
  std::unique_ptr<CpuMatcher> matcher_;
};

}  // namespace

const StageFacts& matchFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "match";
    f.has(kSettings);
    f.writes = kWritesDisparity | kWritesConfidence;
    f.check = [](const EngineParameters& p) { return checkMatcher(p.matcher, p.search, p.halfResolution); };
    return f;
  }();
  return facts;
}

Status openMatchOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  if (bringsDisparity(task.frame)) {
    *opened = rowsStage(cpu, task.height, [task](const StageImages& images, int32_t first, int32_t end) {
      const ForeignMatch found = foreignMatch(images.captured[1], task);
      for (int32_t y = first; y < end; ++y) {
        for (int32_t x = 0; x < task.width; ++x) {
          found.read(x, y, &images.disparityOut.row(y)[x], &images.confidenceOut.row(y)[x]);
        }
      }
    });
    return {};
  }
  auto match = std::make_unique<MatchOnCpu>();
  const Status status = match->open(task, cpu);
  if (status.ok()) *opened = std::move(match);
  return status;
}

}  // namespace depthwatt
