// SPDX-License-Identifier: Apache-2.0
// Adds V4L2 capture to the addon's exports; src/native.ts has the types and units.
#pragma once

#include <napi.h>

namespace v4l2camera {

void addVideo(Napi::Env env, Napi::Object exports);

}  // namespace v4l2camera
