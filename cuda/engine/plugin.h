// SPDX-License-Identifier: Apache-2.0
// Opens the CUDA plugin, or says in one sentence why it cannot.
#pragma once

#include <memory>

#include "backend.h"

namespace depthwatt {

/// Where the plugin was found and works: ok. Each refusal has its own sentence, kBackendUnavailable.
Status probeCudaPlugin();

Status openCudaBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend);

}  // namespace depthwatt
