// SPDX-License-Identifier: Apache-2.0
// The CPU backend: runs every stage on the CPU.
#pragma once

#include <memory>

#include "../backend.h"

namespace depthwatt {

Status openCpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend);

}  // namespace depthwatt
