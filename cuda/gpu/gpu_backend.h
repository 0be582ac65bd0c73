// SPDX-License-Identifier: Apache-2.0
// The CUDA backend: runs the stages on the first CUDA device.
#pragma once

#include <memory>

#include "../backend.h"

namespace depthwatt {
namespace gpu {

/// Opens it. kBackendUnavailable: only the CPU supports these settings. kFailed: memory or the device failed.
Status openGpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend);

}  // namespace gpu
}  // namespace depthwatt
