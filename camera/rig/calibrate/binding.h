// SPDX-License-Identifier: Apache-2.0
// Adds board detection and the adjustment to the addon's exports; native.ts has the contract.
#pragma once

#include <napi.h>

namespace depthwatt {

void addCalibrate(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
