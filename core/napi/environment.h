// SPDX-License-Identifier: Apache-2.0
// Keeps Node-API's state of an environment until the finalizers that wait for it have run.
#pragma once

#include <node_api.h>

namespace depthwatt {

/// Keeps the state until the event loop has run once more after the environment's end began. To be called once when the addon is
/// loaded. Node 20 frees that state first and then runs finalizers that garbage collection had queued (EnqueueFinalizer of
/// node_napi_env__), so a worker thread that is terminated in that moment would take the process along.
void keepEnvironment(napi_env env);

}  // namespace depthwatt
