// SPDX-License-Identifier: Apache-2.0
// The vector code of a stage: a table of functions (its struct XKernels), compiled once per instruction set.
//
// x.h declares the table's type, x.inl.h has the code and ends with DEPTHWATT_VECTOR_CODE. scripts/native-sources.mjs lists every
// x.inl.h that has this line, and each isa_*.cc includes that list. The addon's build compiles a unit per group of stages and
// instruction set instead, so that a change compiles one group again: build/generated/isa_*.cc.
#pragma once

#include "instruction_set.h"

/// The code that isa_*.cc compiles, and the headers of that code.
#ifndef DEPTHWATT_CODE
#define DEPTHWATT_CODE "../../build/generated/vector_code.inl.h"
#define DEPTHWATT_CODE_HEADERS "../../build/generated/vector_code.h"
#endif

namespace depthwatt {

/// A stage's table for one instruction set. DEPTHWATT_VECTOR_CODE defines it, in isa_*.cc.
template <class Kernels, InstructionSet kSet>
const Kernels& compiledKernels();

/// Returns a stage's table for one of availableInstructionSets(): kernelsFor<MedianKernels>(set).median(...).
template <class Kernels>
const Kernels& kernelsFor(InstructionSet set) {
  switch (set) {
// DEPTHWATT_SCALAR_ONLY builds a program without vector code, which takes minutes to compile under a sanitizer.
#if defined(DEPTHWATT_SCALAR_ONLY)
#elif defined(__x86_64__)
    case InstructionSet::kAvx512: return compiledKernels<Kernels, InstructionSet::kAvx512>();
    case InstructionSet::kAvx2: return compiledKernels<Kernels, InstructionSet::kAvx2>();
#elif defined(__aarch64__)
    case InstructionSet::kNeon: return compiledKernels<Kernels, InstructionSet::kNeon>();
#endif
    default: return compiledKernels<Kernels, InstructionSet::kScalar>();
  }
}

}  // namespace depthwatt

/// Defines a stage's table for the instruction set being compiled: the last line of its x.inl.h. The arguments are the table's
/// type and its members. isa_*.cc defines DEPTHWATT_ISA, the namespace of its code; it is closed for the definition, because a
/// template is specialized in its own namespace. The table is a constant: no code runs before the instruction set is chosen.
#define DEPTHWATT_VECTOR_CODE(Kernels, ...)                                   \
  namespace {                                                                 \
  constexpr Kernels k##Kernels = {__VA_ARGS__};                               \
  }                                                                           \
  }                                                                           \
  template <>                                                                 \
  const Kernels& compiledKernels<Kernels, DEPTHWATT_ISA::kInstructionSet>() { \
    return DEPTHWATT_ISA::k##Kernels;                                         \
  }                                                                           \
  namespace DEPTHWATT_ISA {
