// SPDX-License-Identifier: Apache-2.0
// The vector code of every stage, compiled for NEON.
#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "../../build/generated/vector_code.h"
#include "kernels.h"

#define DEPTHWATT_ISA neon

namespace depthwatt {
namespace neon {
constexpr InstructionSet kInstructionSet = InstructionSet::kNeon;
#include "scalar_ops.inl.h"
#include "vec_neon.h"
#include "groups_neon.h"
#include "../../build/generated/vector_code.inl.h"
}  // namespace neon
}  // namespace depthwatt
#endif
