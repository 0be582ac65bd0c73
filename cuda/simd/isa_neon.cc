// SPDX-License-Identifier: Apache-2.0
// Every room's vector code, compiled for neon.
#if defined(__aarch64__)
#include <arm_neon.h>

#include "stages.inl.h"

namespace depthwatt {
namespace neon {
#include "scalar_ops.inl.h"
#include "vec_neon.h"
#include "groups_neon.h"
#include "stages.inl.h"
}  // namespace neon

extern const Kernels kNeonKernels;
constexpr Kernels kNeonKernels = neon::kernelsOf(InstructionSet::kNeon);

}  // namespace depthwatt
#endif
