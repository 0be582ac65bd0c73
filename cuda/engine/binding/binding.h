// SPDX-License-Identifier: Apache-2.0
// Puts the engine on the addon's exports: Session, its stages, and what this machine can compute with. addon.ts has the types.
#pragma once

#include <napi.h>

namespace depthwatt {

void addEngine(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
