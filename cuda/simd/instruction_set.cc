// SPDX-License-Identifier: Apache-2.0
// Chooses the instruction set at run time.
#include "instruction_set.h"

#include <cstring>

#if defined(__x86_64__) && !defined(DEPTHWATT_SCALAR_ONLY)
#include <cpuid.h>
#endif

namespace depthwatt {
namespace {

#if defined(__x86_64__) && !defined(DEPTHWATT_SCALAR_ONLY)
/// Reports whether QEMU translates this program's instructions. QEMU 7.2 reads wrong addresses in AVX2's gathers.
bool isTranslatedByQemu() {
  unsigned leaf = 0;
  unsigned signature[3] = {};
  __cpuid(0x40000000, leaf, signature[0], signature[1], signature[2]);
  return std::memcmp(signature, "TCGTCGTCGTCG", sizeof signature) == 0;
}
#endif

std::vector<InstructionSet> detectInstructionSets() {
  std::vector<InstructionSet> sets;
#if defined(DEPTHWATT_SCALAR_ONLY)
  // See kernels.h.
#elif defined(__x86_64__)
  // __builtin_cpu_supports also asks whether the operating system saves the registers.
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
                    __builtin_cpu_supports("popcnt") && !isTranslatedByQemu();
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512bitalg") &&
                      __builtin_cpu_supports("avx512vpopcntdq");
  if (avx512) sets.push_back(InstructionSet::kAvx512);
  if (avx2) sets.push_back(InstructionSet::kAvx2);
#elif defined(__aarch64__)
  sets.push_back(InstructionSet::kNeon);
#endif
  sets.push_back(InstructionSet::kScalar);
  return sets;
}

}  // namespace

const char* instructionSetName(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx2: return "avx2";
    case InstructionSet::kAvx512: return "avx512";
    case InstructionSet::kNeon: return "neon";
    case InstructionSet::kScalar: break;
  }
  return "scalar";
}

const std::vector<InstructionSet>& availableInstructionSets() {
  static const std::vector<InstructionSet> sets = detectInstructionSets();
  return sets;
}

Status chooseInstructionSet(const char* forced, InstructionSet* chosen) {
  const std::vector<InstructionSet>& sets = availableInstructionSets();
  *chosen = sets.front();
  if (forced == nullptr || *forced == '\0') return {};
  for (const InstructionSet set : sets) {
    if (std::strcmp(instructionSetName(set), forced) != 0) continue;
    *chosen = set;
    return {};
  }
  return Status::error(Code::kBackendUnavailable, "Expected an instruction set that this CPU has (best: %s), got '%s'.",
                       instructionSetName(sets.front()), forced);
}

}  // namespace depthwatt
