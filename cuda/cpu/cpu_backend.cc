// SPDX-License-Identifier: Apache-2.0
// Runs the chain of stages on the CPU, in memory allocated at open; see cpu_backend.h.
#include "cpu_backend.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include "../chain.h"

namespace depthwatt {

#define DEPTHWATT_DECLARE(name, Name) \
  Status open##Name##OnCpu(const StageTask&, const CpuContext&, std::unique_ptr<CpuStage>*);
DEPTHWATT_STAGES(DEPTHWATT_DECLARE)
#undef DEPTHWATT_DECLARE

namespace {

using Clock = std::chrono::steady_clock;

#define DEPTHWATT_OPEN(name, Name) open##Name##OnCpu,
constexpr Status (*kOpen[])(const StageTask&, const CpuContext&,
                            std::unique_ptr<CpuStage>*) = {DEPTHWATT_STAGES(DEPTHWATT_OPEN)};
#undef DEPTHWATT_OPEN

class CpuBackend final : public Backend {
 public:
  CpuBackend(const EngineParameters& parameters, InstructionSet set, std::shared_ptr<SharedWorkers> shared)
      : p_(parameters), set_(set), shared_(std::move(shared)), chain_(p_, WindowForm::kView) {}

  Status open() {
    const Status sizes = chain_.check();
    if (!sizes.ok()) return sizes;
    memory_.denoised = false;
    for (int buffer = 0; buffer < kScratchCount; ++buffer) {
      scratch_[buffer].resize(chain_.bytes(static_cast<Buffer>(buffer)));
      if (!scratch_[buffer].empty()) memory_.buffers[buffer] = scratch_[buffer].data();
    }
    for (int i = 0; i < kStageCount; ++i) {
      const Stage stage = static_cast<Stage>(i);
      if (!chain_.runs(stage)) continue;
      const Status status = chain_.named(stage, kOpen[stage](chain_.task(), {set_, shared_->team()}, &stages_[stage]));
      if (!status.ok()) return status;
    }
    return {};
  }

  Status run(int, const FrameInput& input, FrameOutput& output) override {
    const SharedWorkers::Turn turn(*shared_);
    give(input, output);
    for (double& milliseconds : output.stageMilliseconds) milliseconds = std::nan("");
    if (!input.follows) {
      for (const std::unique_ptr<CpuStage>& stage : stages_) {
        if (stage) stage->forget();
      }
    }
    for (const Chain::Step& step : chain_.steps()) {
      CpuStage& stage = *stages_[step.stage];
      if (!stage.active()) continue;
      const Clock::time_point start = Clock::now();
      const StageImages images = chain_.images(step, memory_);
      const Status status = chain_.runStep(
          step, images, memory_, [&] { return stage.run(images); },
          [&](const Chain::RefinedImages& from, const Chain::RefinedImages& to) { return copy(from, to); });
      if (!status.ok()) return status;
      const double taken = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
      double& total = output.stageMilliseconds[step.stage];
      total = (std::isnan(total) ? 0 : total) + taken;
    }
    output.encodedDepthBytes = bodyBytes_[0];
    output.encodedDisparityBytes = bodyBytes_[1];
    return {};
  }

  Status adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap) override {
    for (const std::unique_ptr<CpuStage>& stage : stages_) {
      if (stage) stage->adapt(adaptation, leftMap, rightMap);
    }
    memory_.denoised = stages_[kDenoiseStage] && stages_[kDenoiseStage]->active();
    return {};
  }

  size_t workspaceBytes() const override {
    size_t bytes = (p_.leftMap.size() + p_.rightMap.size()) * sizeof(int32_t);
    for (const std::vector<uint8_t>& buffer : scratch_) bytes += buffer.size();
    for (const std::unique_ptr<CpuStage>& stage : stages_) bytes += stage ? stage->workspaceBytes() : 0;
    return bytes;
  }
  const char* instructionSet() const override { return instructionSetName(set_); }
  int threads() const override { return shared_->team().count(); }

 private:
  void give(const FrameInput& input, FrameOutput& output) {
    memory_.captured[0] = input.left;
    memory_.captured[1] = input.right;
    memory_.buffers[kLeftResult] = output.left;
    memory_.buffers[kLeftRgbResult] = reinterpret_cast<uint8_t*>(output.leftRgb);
    memory_.buffers[kRightResult] = output.right;
    memory_.buffers[kDisparityResult] = reinterpret_cast<uint8_t*>(output.disparityQ4);
    memory_.buffers[kConfidenceResult] = output.confidence;
    memory_.buffers[kDepthResult] = reinterpret_cast<uint8_t*>(output.depthMillimetres);
    memory_.buffers[kPointsResult] = output.points;
    memory_.buffers[kVoxelsResult] = output.voxels;
    memory_.buffers[kRegisteredResult] = reinterpret_cast<uint8_t*>(output.registered);
    memory_.buffers[kRegisteredConfidenceResult] = output.registeredConfidence;
    memory_.buffers[kFloorResult] = reinterpret_cast<uint8_t*>(output.floor);
    memory_.buffers[kGridResult] = output.grid;
    memory_.buffers[kDroppedResult] = reinterpret_cast<uint8_t*>(output.droppedPixels);
    bodyBytes_[0] = bodyBytes_[1] = 0;
    memory_.depthBody = {p_.encodeDepth != Encoding::kNone ? output.encodedDepth : nullptr, &bodyBytes_[0]};
    memory_.disparityBody = {p_.encodeDisparity != Encoding::kNone ? output.encodedDisparity : nullptr, &bodyBytes_[1]};
  }

  Status copy(const Chain::RefinedImages& from, const Chain::RefinedImages& to) {
    shared_->team().rows(from.disparity.height, [&](int32_t first, int32_t end) {
      for (int32_t y = first; y < end; ++y) {
        std::copy_n(from.disparity.row(y), from.disparity.width, to.disparity.row(y));
        std::copy_n(from.confidence.row(y), from.confidence.width, to.confidence.row(y));
      }
    });
    return {};
  }

  const EngineParameters p_;
  const InstructionSet set_;
  const std::shared_ptr<SharedWorkers> shared_;
  const Chain chain_;
  std::vector<uint8_t> scratch_[kScratchCount];
  std::unique_ptr<CpuStage> stages_[kStageCount];
  FrameMemory memory_;
  uint32_t bodyBytes_[2] = {};
};

/// Returns how many cores this process may use. hardware_concurrency() counts cores outside of a container's cpuset too,
/// and threads above the set slow each other down.
int allowedCores() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) return CPU_COUNT(&allowed);
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

std::shared_ptr<SharedWorkers> workersFor(int32_t asked) {
  return asked > 0 ? std::make_shared<SharedWorkers>(asked) : SharedWorkers::ofProcess(allowedCores());
}

Status openCpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend) {
  InstructionSet set = InstructionSet::kScalar;
  Status status = chooseInstructionSet(parameters.instructionSet.c_str(), &set);
  if (!status.ok()) return status;
  try {
    auto opened = std::make_unique<CpuBackend>(parameters, set, workersFor(parameters.threads));
    status = opened->open();
    if (status.ok()) *backend = std::move(opened);
    return status;
  } catch (const std::bad_alloc&) {
    return Status::error(Code::kMemoryExhausted,
                         "Expected enough memory for %dx%d with %d disparities, the allocation failed.",
                         parameters.width, parameters.height, parameters.search.numDisparities);
  } catch (const std::system_error& error) {
    return noThread(error);
  }
}

}  // namespace depthwatt
