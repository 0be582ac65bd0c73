// SPDX-License-Identifier: Apache-2.0
// A plugin for tests whose backend computes two frames at once. A frame ends only while another one is computed at
// another place, and fails if none comes. The first disparity of a frame is its place.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "../../../cuda/engine/plugin_abi.h"

namespace {

using depthwatt::Code;
using depthwatt::Status;

constexpr int kMaxFrames = 64;
constexpr std::chrono::seconds kPatience(60);

class TwoFrames : public depthwatt::Backend {
 public:
  int framesInWork() const override { return 2; }

  Status run(int place, const depthwatt::FrameInput&, depthwatt::FrameOutput& output) override {
    std::unique_lock<std::mutex> lock(mutex_);
    if (begun_ == kMaxFrames) return Status::error(Code::kFailed, "Expected at most %d frames.", kMaxFrames);
    const int frame = begun_++, partner = frame ^ 1;
    places_[frame] = place;
    arrived_.notify_all();
    if (!arrived_.wait_for(lock, kPatience, [&] { return begun_ > partner; }))
      return Status::error(Code::kFailed, "No other frame was in work with frame %d at place %d.", frame, place);
    if (places_[partner] == place)
      return Status::error(Code::kFailed, "Frames %d and %d are both at place %d.", frame, partner, place);
    output.disparityQ4[0] = static_cast<int16_t>(place);
    return {};
  }

  Status adapt(const depthwatt::Adaptation&, const int32_t*, const int32_t*) override { return {}; }
  size_t workspaceBytes() const override { return 0; }
  const char* instructionSet() const override { return "cuda"; }
  int threads() const override { return 1; }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  int begun_ = 0;
  int places_[kMaxFrames] = {};
};

Status probe() { return {}; }

Status open(const depthwatt::EngineParameters&, std::unique_ptr<depthwatt::Backend>* backend) {
  *backend = std::make_unique<TwoFrames>();
  return {};
}

const depthwatt::PluginTable kTable = {depthwatt::kPluginAbiVersion, probe, open};

}  // namespace

extern "C" __attribute__((visibility("default"))) const depthwatt::PluginTable* depthwatt_plugin() { return &kTable; }
