// SPDX-License-Identifier: Apache-2.0
// Every room's vector code, compiled for avx512.
#if defined(__x86_64__)
#include <immintrin.h>

#include "stages.inl.h"

// System headers stand above this line: an inline function of theirs compiled below it could be the copy the linker keeps,
// and would then run on CPUs without these instructions. Everything below has internal linkage but the table.
#if defined(__clang__)
#pragma clang attribute push(                                                                                       \
    __attribute__((target(                                                                                          \
        "avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx512vpopcntdq"))), \
    apply_to = function)
#elif __GNUC__ >= 10
#pragma GCC target( \
    "avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx512vpopcntdq,prefer-vector-width=512")
#else  // g++ 9 does not know the last word, which is about speed alone
#pragma GCC target( \
    "avx2,bmi,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi,avx512bitalg,avx512vpopcntdq")
#endif

// GCC 12 takes the deliberately undefined pass-through operand inside its own intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wuninitialized"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace depthwatt {
namespace avx512 {
#include "scalar_ops.inl.h"
#include "vec_avx512.h"
#include "groups_avx512.h"
#include "stages.inl.h"
}  // namespace avx512

#if defined(__clang__)
#pragma clang attribute pop
#endif

extern const Kernels kAvx512Kernels;
constexpr Kernels kAvx512Kernels = avx512::kernelsOf(InstructionSet::kAvx512);

}  // namespace depthwatt
#endif
