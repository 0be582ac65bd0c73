// SPDX-License-Identifier: Apache-2.0
// Turns a Status into a coded JavaScript error.
#pragma once

#include <napi.h>

#include "status.h"

namespace v4l2camera {

/// Returns an Error whose `code` is one of src/errors.ts.
Napi::Error errorFrom(Napi::Env env, const Status& status);

/// Throws errorFrom(status) unless the status is ok.
void throwUnlessOk(Napi::Env env, const Status& status);

}  // namespace v4l2camera
