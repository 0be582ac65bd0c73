// SPDX-License-Identifier: Apache-2.0
// Converts capture data to JavaScript objects; src/native.ts has their types.
#pragma once

#include <napi.h>

#include <string>
#include <vector>

#include "controls.h"
#include "device.h"
#include "formats.h"

namespace v4l2camera {

Napi::Object toJs(Napi::Env env, const Identity& identity, const std::string& path);
Napi::Object toJs(Napi::Env env, const AgreedFormat& format);
Napi::Array toJs(Napi::Env env, const std::vector<OfferedFormat>& formats);
Napi::Array toJs(Napi::Env env, const std::vector<Control>& controls);

}  // namespace v4l2camera
