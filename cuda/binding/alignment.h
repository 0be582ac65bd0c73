// SPDX-License-Identifier: Apache-2.0
// Puts PairAligner on the addon's exports: figures of how the cameras lie to each other, at once or on a thread of its own.
#pragma once

#include <napi.h>

namespace depthwatt {

void addAlignment(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
