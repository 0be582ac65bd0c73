// SPDX-License-Identifier: Apache-2.0
// Opens the CUDA plugin, or returns one sentence that says why it cannot.
#pragma once

#include <memory>

#include "../backend.h"

namespace depthwatt {

/// Returns ok if the plugin exists and works, else kBackendUnavailable with a sentence for each cause.
Status probeCudaPlugin();

Status openCudaBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend);

}  // namespace depthwatt
