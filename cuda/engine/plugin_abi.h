// SPDX-License-Identifier: Apache-2.0
// The interface of libdepthwatt_cuda.so: one function that returns one table. The addon never links CUDA. It opens this
// library at run time and checks the version first; if that differs, it uses nothing else.
#pragma once

#include <memory>

#include "../backend.h"

namespace depthwatt {

/// Increase it with every change of this header, backend.h or a header that they include.
constexpr uint32_t kPluginAbiVersion = 30;

struct PluginTable {
  uint32_t abiVersion;
  /// Returns ok if there is a device that this build has code for, else kBackendUnavailable with a sentence for each
  /// cause.
  Status (*probe)();
  Status (*open)(const EngineParameters& parameters, std::unique_ptr<Backend>* backend);
};

constexpr const char* kPluginSymbol = "depthwatt_plugin";
using PluginEntry = const PluginTable* (*)();

}  // namespace depthwatt
