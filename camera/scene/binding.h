// SPDX-License-Identifier: Apache-2.0
// Adds the synthetic scene to the addon's exports as `createScene`; native.ts has the contract.
#pragma once

#include <napi.h>

namespace depthwatt {

void addScene(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
