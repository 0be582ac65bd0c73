// SPDX-License-Identifier: Apache-2.0
// The stages on the CPU's own cores.
#pragma once

#include <memory>

#include "../engine/backend.h"

namespace depthwatt {

Status openCpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend);

}  // namespace depthwatt
