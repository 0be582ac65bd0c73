// SPDX-License-Identifier: Apache-2.0
// Adds system functions to the addon's exports: clocks, file locks, the service manager's socket. core/native.ts has
// the types.
#pragma once

#include <napi.h>

namespace depthwatt {

void addSystem(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
