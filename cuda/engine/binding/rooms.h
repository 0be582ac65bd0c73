// SPDX-License-Identifier: Apache-2.0
// Rooms one by one, for tests and benchmarks: native.rooms.x. Every function takes one object; `variant` is "reference" or an
// instruction set, and the function answers with the name of what ran.
#pragma once

#include <napi.h>

namespace depthwatt {

/// Adds `rooms` to the exports, with one function for each file of rooms/.
void addRooms(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
