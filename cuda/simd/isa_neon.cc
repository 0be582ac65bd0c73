// SPDX-License-Identifier: Apache-2.0
// The vector code of every stage, or of one group of stages, compiled for NEON.
#if defined(__aarch64__)
#include <arm_neon.h>

#include <cstdint>
#include <cstring>

#include "kernels.h"

#include DEPTHWATT_CODE_HEADERS

#define DEPTHWATT_ISA neon

namespace depthwatt {
namespace neon {
constexpr InstructionSet kInstructionSet = InstructionSet::kNeon;
#include "scalar_ops.inl.h"
#include "vec_neon.h"
#include "groups_neon.h"
#include DEPTHWATT_CODE
}  // namespace neon
}  // namespace depthwatt
#endif
