// SPDX-License-Identifier: Apache-2.0
// native.Session: one engine on its own thread. native.ts documents it.
#pragma once

#include <napi.h>

namespace depthwatt {

void addSession(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
