// SPDX-License-Identifier: Apache-2.0
// Every room's vector code, compiled for avx2.
#if defined(__x86_64__)
#include <immintrin.h>

#include "stages.inl.h"

// System headers stand above this line: an inline function of theirs compiled below it could be the copy the linker keeps,
// and would then run on CPUs without these instructions. Everything below has internal linkage but the table.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt")
#endif

namespace depthwatt {
namespace avx2 {
#include "scalar_ops.inl.h"
#include "vec_avx2.h"
#include "groups_avx2.h"
#include "stages.inl.h"
}  // namespace avx2

#if defined(__clang__)
#pragma clang attribute pop
#endif

extern const Kernels kAvx2Kernels;
constexpr Kernels kAvx2Kernels = avx2::kernelsOf(InstructionSet::kAvx2);

}  // namespace depthwatt
#endif
