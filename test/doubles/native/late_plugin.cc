// SPDX-License-Identifier: Apache-2.0
// A plugin for tests that does what a file says at each call: the file named by LATE_PLUGIN holds one word.
//   absent   the driver is there, but no GPU (also if there is no such file)
//   crash    ends the process, as NVIDIA's library does without the module host1x_fence
//   nvmap    prints what NVIDIA's library prints without permission, and finds no GPU
//   memory   finds a GPU, but opening an engine fails for want of memory
//   ready    finds a GPU, whose engines give a disparity of 1 pixel everywhere
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "../../../cuda/engine/plugin_abi.h"

namespace {

using depthwatt::Code;
using depthwatt::Status;

std::string mood() {
  std::ifstream file(std::getenv("LATE_PLUGIN"));
  std::string word = "absent";
  file >> word;
  return word;
}

class OnePixel : public depthwatt::Backend {
 public:
  explicit OnePixel(const depthwatt::EngineParameters& p) : pixels_(p.width * p.height) {}
  int framesInWork() const override { return 1; }
  Status run(int, const depthwatt::FrameInput&, depthwatt::FrameOutput& output) override {
    for (int i = 0; i < pixels_; ++i) output.disparityQ4[i] = 16, output.confidence[i] = 255;
    return {};
  }
  Status adapt(const depthwatt::Adaptation&, const int32_t*, const int32_t*) override { return {}; }
  size_t workspaceBytes() const override { return 0; }
  const char* instructionSet() const override { return "cuda"; }
  int threads() const override { return 1; }

 private:
  const int pixels_;
};

Status probe() {
  const std::string now = mood();
  if (now == "crash") std::raise(SIGSEGV);
  if (now == "nvmap") std::fprintf(stderr, "NvRmMemInitNvmap failed with Permission denied\n");
  if (now == "memory" || now == "ready") return {};
  return Status::error(Code::kBackendUnavailable, "CUDA unavailable: the NVIDIA driver is there, but it sees no GPU.");
}

Status open(const depthwatt::EngineParameters& parameters, std::unique_ptr<depthwatt::Backend>* backend) {
  if (mood() == "memory")
    return Status::error(Code::kFailed, "CUDA: device memory: out of memory (cudaErrorMemoryAllocation).");
  *backend = std::make_unique<OnePixel>(parameters);
  return {};
}

const depthwatt::PluginTable kTable = {depthwatt::kPluginAbiVersion, probe, open};

}  // namespace

extern "C" __attribute__((visibility("default"))) const depthwatt::PluginTable* depthwatt_plugin() { return &kTable; }
