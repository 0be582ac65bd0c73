// SPDX-License-Identifier: Apache-2.0
// Exposes single stages to tests and benchmarks: native.stages.x. Every function takes one object. Its property
// `variant` is "reference" or an instruction set, and the function returns the name of the variant that ran.
#pragma once

#include <napi.h>

namespace depthwatt {

/// Adds `stages` to the exports. The file x.node.inl.h of a stage's folder defines addX, which adds its functions.
void addStages(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
