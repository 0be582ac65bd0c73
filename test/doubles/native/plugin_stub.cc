// SPDX-License-Identifier: Apache-2.0
// A plugin for tests whose ABI version and probe result are set on the compiler's command line.
#include "../../../cuda/engine/plugin_abi.h"

namespace {

depthwatt::Status probe() {
  return depthwatt::Status::error(depthwatt::Code::kBackendUnavailable, "CUDA unavailable: this is a stand-in.");
}

const depthwatt::PluginTable kTable = {depthwatt::kPluginAbiVersion + ABI_OFFSET, probe, nullptr};

}  // namespace

extern "C" __attribute__((visibility("default"))) const depthwatt::PluginTable* depthwatt_plugin() { return &kTable; }
