// SPDX-License-Identifier: Apache-2.0
// The instruction sets that the vector code is compiled for, and the choice between them at run time.
#pragma once

#include <vector>

#include "../../core/status.h"

namespace depthwatt {

enum class InstructionSet { kScalar, kAvx2, kAvx512, kNeon };

/// Returns "scalar", "avx2", "avx512" or "neon".
const char* instructionSetName(InstructionSet set);

/// Returns the instruction sets that this build has code for and this CPU can run, best first. The last one is kScalar.
const std::vector<InstructionSet>& availableInstructionSets();

/// Chooses the best instruction set, or the set named by `forced` (null or "": none is forced).
/// Returns kBackendUnavailable if the name is unknown or the CPU cannot run that set. It never chooses another one instead.
Status chooseInstructionSet(const char* forced, InstructionSet* chosen);

}  // namespace depthwatt
