// SPDX-License-Identifier: Apache-2.0
// The vector code of every stage, or of one group of stages, compiled for AVX-512.
#if defined(__x86_64__)
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "kernels.h"

#include DEPTHWATT_CODE_HEADERS

// Include headers above this line only. The linker keeps one copy of an inline function: one compiled below could be that copy,
// and would then run on CPUs without these instructions. Only the functions that return a stage's table have external linkage.
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

#define DEPTHWATT_ISA avx512

namespace depthwatt {
namespace avx512 {
constexpr InstructionSet kInstructionSet = InstructionSet::kAvx512;
#include "scalar_ops.inl.h"
#include "vec_avx512.h"
#include "groups_avx512.h"
#include DEPTHWATT_CODE
}  // namespace avx512

#if defined(__clang__)
#pragma clang attribute pop
#endif

}  // namespace depthwatt
#endif
