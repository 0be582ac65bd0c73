// SPDX-License-Identifier: Apache-2.0
// Chooses the instruction set at run time.
#include <cstring>

#include "kernels.h"

namespace depthwatt {

extern const Kernels kScalarKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
extern const Kernels kAvx512Kernels;
#elif defined(__aarch64__)
extern const Kernels kNeonKernels;
#endif

namespace {

struct Available {
  const Kernels* tables[3];
  int count = 0;

  Available() {
#if defined(__x86_64__)
    // __builtin_cpu_supports also asks whether the operating system saves the registers.
    __builtin_cpu_init();
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bitalg") &&
                        __builtin_cpu_supports("avx512vpopcntdq");
    if (avx512) tables[count++] = &kAvx512Kernels;
    if (avx2) tables[count++] = &kAvx2Kernels;
#elif defined(__aarch64__)
    tables[count++] = &kNeonKernels;
#endif
    tables[count++] = &kScalarKernels;
  }
};

}  // namespace

const char* nameOf(InstructionSet instructionSet) {
  switch (instructionSet) {
    case InstructionSet::kAvx2: return "avx2";
    case InstructionSet::kAvx512: return "avx512";
    case InstructionSet::kNeon: return "neon";
    case InstructionSet::kScalar: break;
  }
  return "scalar";
}

const Kernels* const* availableKernels(int* count) {
  static const Available available;
  *count = available.count;
  return available.tables;
}

Status chooseKernels(const char* forced, const Kernels** chosen) {
  int count = 0;
  const Kernels* const* tables = availableKernels(&count);
  if (forced == nullptr || *forced == '\0') {
    *chosen = tables[0];
    return {};
  }
  for (int i = 0; i < count; ++i) {
    if (std::strcmp(nameOf(tables[i]->instructionSet), forced) == 0) {
      *chosen = tables[i];
      return {};
    }
  }
  return Status::error(Code::kBackendUnavailable, "Expected an instruction set that this CPU has (best: %s), got '%s'.",
                       nameOf(tables[0]->instructionSet), forced);
}

}  // namespace depthwatt
