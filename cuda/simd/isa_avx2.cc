// SPDX-License-Identifier: Apache-2.0
// The vector code of every stage, or of one group of stages, compiled for AVX2.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels.h"

#include DEPTHWATT_CODE_HEADERS

// Include headers above this line only. The linker keeps one copy of an inline function: one compiled below could be that copy,
// and would then run on CPUs without these instructions. Only the functions that return a stage's table have external linkage.
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,lzcnt,popcnt"))), apply_to = function)
#else
#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt")
#endif

#define DEPTHWATT_ISA avx2

namespace depthwatt {
namespace avx2 {
constexpr InstructionSet kInstructionSet = InstructionSet::kAvx2;
#include "scalar_ops.inl.h"
#include "vec_avx2.h"
#include "groups_avx2.h"
#include DEPTHWATT_CODE
}  // namespace avx2

#if defined(__clang__)
#pragma clang attribute pop
#endif

}  // namespace depthwatt
#endif
