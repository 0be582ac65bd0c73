// SPDX-License-Identifier: Apache-2.0
// Adds the engine to the addon's exports: Session, its stages, and the backends of this machine. cuda/engine/native.ts
// has the types.
#pragma once

#include <napi.h>

namespace depthwatt {

void addEngine(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
