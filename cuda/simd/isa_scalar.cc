// SPDX-License-Identifier: Apache-2.0
// Every room's vector code, compiled for scalar.

#include "stages.inl.h"

namespace depthwatt {
namespace scalar {
#include "scalar_ops.inl.h"
#include "vec_scalar.h"
#include "groups_scalar.h"
#include "stages.inl.h"
}  // namespace scalar

extern const Kernels kScalarKernels;
constexpr Kernels kScalarKernels = scalar::kernelsOf(InstructionSet::kScalar);

}  // namespace depthwatt
