// SPDX-License-Identifier: Apache-2.0
// Adds PairAligner and turnMap to the addon's exports; native.ts has the contract.
#pragma once

#include <napi.h>

#include "aligner.h"

namespace depthwatt {

void addAlignment(Napi::Env env, Napi::Object exports, RectifyGrey rectify);

}  // namespace depthwatt
