// SPDX-License-Identifier: Apache-2.0
// Turns a native Status into the coded JavaScript error that TypeScript throws. Every native failure passes through
// here.
#pragma once

#include <napi.h>

#include "../status.h"

namespace depthwatt {

/// Returns the name in core/error-catalogue.ts.
const char* catalogueCode(Code code);

/// Returns an Error whose `code` is one of core/error-catalogue.ts. core/errors.ts turns it into a DepthwattError.
Napi::Error errorFrom(Napi::Env env, const Status& status);

/// Throws errorFrom(status) unless the status is ok.
void throwUnlessOk(Napi::Env env, const Status& status);

}  // namespace depthwatt
