// SPDX-License-Identifier: Apache-2.0
// The vector code of every stage, compiled for any CPU.
#include <cstdint>
#include <cstring>

#include "../../build/generated/vector_code.h"
#include "kernels.h"

#define DEPTHWATT_ISA scalar

namespace depthwatt {
namespace scalar {
constexpr InstructionSet kInstructionSet = InstructionSet::kScalar;
#include "scalar_ops.inl.h"
#include "vec_scalar.h"
#include "groups_scalar.h"
#include "../../build/generated/vector_code.inl.h"
}  // namespace scalar
}  // namespace depthwatt
