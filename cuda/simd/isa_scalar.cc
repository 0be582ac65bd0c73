// SPDX-License-Identifier: Apache-2.0
// The vector code of every stage, or of one group of stages, compiled for any CPU.
#include <cstdint>
#include <cstring>

#include "kernels.h"

#include DEPTHWATT_CODE_HEADERS

#define DEPTHWATT_ISA scalar

namespace depthwatt {
namespace scalar {
constexpr InstructionSet kInstructionSet = InstructionSet::kScalar;
#include "scalar_ops.inl.h"
#include "vec_scalar.h"
#include "groups_scalar.h"
#include DEPTHWATT_CODE
}  // namespace scalar
}  // namespace depthwatt
