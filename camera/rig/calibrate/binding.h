// SPDX-License-Identifier: Apache-2.0
// Puts board detection and the adjustment on the addon's exports; native.ts has the contract.
#pragma once

#include <napi.h>

namespace depthwatt {

void addCalibrate(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
