// SPDX-License-Identifier: Apache-2.0
// A plugin for tests whose devices are lost: FAILING_PLUGIN holds, for each device, how many frames it computes before
// it fails. A number below 0 is a device that fails before its first frame, where rows are moved. No further device is
// there. Frame n of a device takes 10 n microseconds to read its input and 20 n to write its result.
#include <cstdlib>
#include <sstream>

#include "../../../cuda/engine/plugin_abi.h"

namespace {

using depthwatt::Code;
using depthwatt::Status;

class FailingDevice : public depthwatt::Backend {
 public:
  FailingDevice(int frames, int pixels) : framesLeft_(frames), pixels_(pixels) {}

  Status run(int, const depthwatt::FrameInput&, depthwatt::FrameOutput& output) override {
    if (framesLeft_-- == 0) return Status::error(Code::kFailed, "The device fell off the bus.");
    ++computed_;
    for (int i = 0; i < pixels_; ++i) output.disparityQ4[i] = 16, output.confidence[i] = 255;
    output.paths.timed = true;
    output.paths.inputMicroseconds = 10.0F * computed_;
    output.paths.resultMicroseconds = 20.0F * computed_;
    return {};
  }
  Status adapt(const depthwatt::Adaptation&, const int32_t*, const int32_t*) override {
    return framesLeft_ < 0 ? Status::error(Code::kFailed, "The device takes no map.") : Status();
  }
  size_t workspaceBytes() const override { return 0; }
  const char* instructionSet() const override { return "cuda"; }
  int threads() const override { return 1; }

 private:
  int framesLeft_;
  const int pixels_;
  int computed_ = 0;
};

Status probe() { return {}; }

Status open(const depthwatt::EngineParameters& parameters, std::unique_ptr<depthwatt::Backend>* backend) {
  static std::istringstream devices(std::getenv("FAILING_PLUGIN"));
  int frames = 0;
  if (!(devices >> frames)) return Status::error(Code::kBackendUnavailable, "No device is left.");
  *backend = std::make_unique<FailingDevice>(frames, parameters.width * parameters.height);
  return {};
}

const depthwatt::PluginTable kTable = {depthwatt::kPluginAbiVersion, probe, open};

}  // namespace

extern "C" __attribute__((visibility("default"))) const depthwatt::PluginTable* depthwatt_plugin() { return &kTable; }
