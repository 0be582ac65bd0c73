// SPDX-License-Identifier: Apache-2.0
// Registers power's native functions on the addon's exports.
#pragma once

#include <napi.h>

namespace depthwatt {

/// exports.power = {nvmlOpen, nvmlRead, nvmlErrorText, createSampler}; power/native.ts has their types.
void addPower(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
