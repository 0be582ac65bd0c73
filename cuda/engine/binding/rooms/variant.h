// SPDX-License-Identifier: Apache-2.0
// Which form of a room a call from JavaScript asks for.
#pragma once

#include "../../../../core/napi/arguments.h"
#include "../../../../core/napi/errors.h"
#include "../../../simd/kernels.h"

namespace depthwatt {

/// The instruction set that property `variant` names, for rooms called one by one; "reference" gives null.
inline const Kernels* kernelsOf(const Napi::Object& object) {
  const std::string variant = stringOf(object, "variant");
  if (variant == "reference") return nullptr;
  const Kernels* kernels = nullptr;
  throwUnlessOk(object.Env(), chooseKernels(variant.c_str(), &kernels));
  return kernels;
}

}  // namespace depthwatt
