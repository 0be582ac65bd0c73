// SPDX-License-Identifier: Apache-2.0
// The plugin with a kernel that fails before the frames in FAULT_FRAMES ("9" or "9,15"): it writes to an invalid
// address, which ends the process's context, or ("L9") requests too many threads and is not launched.
// test/gpu/faults.mjs builds it from the plugin's objects.
#include <atomic>
#include <cstdlib>
#include <string>

#define depthwatt_plugin depthwatt_sound_plugin
#include "../../../cuda/device/check.h"
#include "../../../cuda/gpu/plugin.cu"
#undef depthwatt_plugin

namespace depthwatt {
namespace {

__global__ void breakKernel() { *reinterpret_cast<volatile int*>(16) = 1; }

std::atomic<int> frames{0};

class FaultyBackend final : public Backend {
 public:
  explicit FaultyBackend(std::unique_ptr<Backend> sound) : sound_(std::move(sound)) {}
  int framesInWork() const override { return sound_->framesInWork(); }
  Status run(int place, const FrameInput& input, FrameOutput& output) override {
    const char* given = std::getenv("FAULT_FRAMES");
    const std::string list = "," + std::string(given == nullptr ? "" : given) + ",";
    const std::string frame = std::to_string(++frames);
    if (list.find("," + frame + ",") != std::string::npos) {
      breakKernel<<<1, 1, 0, nullptr>>>();
    }
    if (list.find(",L" + frame + ",") != std::string::npos) {
      breakKernel<<<1, 4096, 0, nullptr>>>();
      return launched("breakKernel");
    }
    return sound_->run(place, input, output);
  }
  void attach(const FrameOutput& output) override { sound_->attach(output); }
  void attach(const InputMemory& input) override { sound_->attach(input); }
  void detach() override { sound_->detach(); }
  Status adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap) override {
    return sound_->adapt(adaptation, leftMap, rightMap);
  }
  size_t workspaceBytes() const override { return sound_->workspaceBytes(); }
  const char* instructionSet() const override { return sound_->instructionSet(); }
  int threads() const override { return sound_->threads(); }

 private:
  std::unique_ptr<Backend> sound_;
};

Status open(const EngineParameters& parameters, std::unique_ptr<Backend>* backend) {
  std::unique_ptr<Backend> sound;
  const Status status = depthwatt_sound_plugin()->open(parameters, &sound);
  if (status.ok()) backend->reset(new FaultyBackend(std::move(sound)));
  return status;
}

Status probe() { return depthwatt_sound_plugin()->probe(); }

const PluginTable kTable = {kPluginAbiVersion, probe, open};

}  // namespace
}  // namespace depthwatt

extern "C" __attribute__((visibility("default"))) const depthwatt::PluginTable* depthwatt_plugin() {
  return &depthwatt::kTable;
}
