// SPDX-License-Identifier: Apache-2.0
// What libdepthwatt_cuda.so exports: one function that gives one table. The addon never links CUDA; it opens this library
// at run time, asks for the version first and for nothing else when that differs.
#pragma once

#include <memory>

#include "backend.h"

namespace depthwatt {

/// Raised with every change of this header, backend.h or a header they include.
constexpr uint32_t kPluginAbiVersion = 23;

struct PluginTable {
  uint32_t abiVersion;
  /// Ok where a device is there that this build has code for; else kBackendUnavailable with its own sentence.
  Status (*probe)();
  Status (*open)(const EngineParameters& parameters, std::unique_ptr<Backend>* backend);
};

constexpr const char* kPluginSymbol = "depthwatt_plugin";
using PluginEntry = const PluginTable* (*)();

}  // namespace depthwatt
