// SPDX-License-Identifier: Apache-2.0
// Turns a native Status into the coded error that TypeScript throws: the one place where native failure meets JavaScript.
#pragma once

#include <napi.h>

#include "../status.h"

namespace depthwatt {

/// The name in core/error-catalogue.ts.
const char* catalogueCode(Code code);

/// An Error whose `code` is one of core/error-catalogue.ts. core/errors.ts turns it into a DepthwattError.
Napi::Error errorOf(Napi::Env env, const Status& status);

/// Throws errorOf(status) unless it is ok.
void throwUnlessOk(Napi::Env env, const Status& status);

}  // namespace depthwatt
