// SPDX-License-Identifier: Apache-2.0
// native.createScene: the synthetic scene behind JavaScript; cuda/binding/native.ts has the contract.
#pragma once

#include <napi.h>

namespace depthwatt {

Napi::Value createScene(const Napi::CallbackInfo& info);

}  // namespace depthwatt
