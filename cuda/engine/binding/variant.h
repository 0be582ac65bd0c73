// SPDX-License-Identifier: Apache-2.0
// Selects which form of a stage's code a call from JavaScript runs.
#pragma once

#include "../../../core/napi/arguments.h"
#include "../../../core/napi/errors.h"
#include "../../simd/kernels.h"

namespace depthwatt {

/// The reference, or the code of one instruction set.
struct Variant {
  bool isReference = false;
  InstructionSet set = InstructionSet::kScalar;

  const char* name() const { return isReference ? "reference" : instructionSetName(set); }
};

/// Reads the property `variant`: "reference" or an instruction set that this CPU has.
inline Variant readVariant(const Napi::Object& call) {
  const std::string name = readString(call, "variant");
  Variant variant;
  variant.isReference = name == "reference";
  if (!variant.isReference) throwUnlessOk(call.Env(), chooseInstructionSet(name.c_str(), &variant.set));
  return variant;
}

}  // namespace depthwatt
