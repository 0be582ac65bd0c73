// SPDX-License-Identifier: Apache-2.0
// The CPU backend: runs every stage on the CPU.
#pragma once

#include <memory>

#include "../../core/workers.h"
#include "../backend.h"

namespace depthwatt {

/// Returns a team of the threads asked for; for 0, the process's team with a thread for each core. Throws as Workers() does.
std::shared_ptr<SharedWorkers> workersFor(int32_t asked);

Status openCpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend);

}  // namespace depthwatt
