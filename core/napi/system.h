// SPDX-License-Identifier: Apache-2.0
// Puts what no folder owns on the addon's exports: the clocks, locks of files, the service manager's socket. core/native.ts has the types.
#pragma once

#include <napi.h>

namespace depthwatt {

void addSystem(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
