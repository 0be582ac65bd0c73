// SPDX-License-Identifier: Apache-2.0
// The stages on the first CUDA device.
#pragma once

#include <memory>

#include "../engine/backend.h"

namespace depthwatt {
namespace gpu {

/// kBackendUnavailable for what the CPU alone can do; kFailed where memory or the device says no.
Status openGpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend);

}  // namespace gpu
}  // namespace depthwatt
