// SPDX-License-Identifier: Apache-2.0
// Adds the reader of a ring of frames to the addon's exports. core/ring/ring.ts has the types.
#pragma once

#include <napi.h>

namespace depthwatt {

void addRingReader(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
