// SPDX-License-Identifier: Apache-2.0
// The entry point of the Node-API addon. All files that include napi.h are included here and compiled together, because
// napi.h takes a second to parse, which each of six files would cost in every installation. binding.gyp lists the other
// files.

// Both settings must precede napi.h and apply to the whole addon. A worker thread that is terminated during a call can
// neither run JavaScript nor take an exception: without the first setting, node-addon-api would abort the process. With
// the second one, C++ exceptions such as std::bad_alloc become JavaScript errors.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS
#define NODE_ADDON_API_CPP_EXCEPTIONS_ALL

#include "arguments.cc"
#include "binding.cc"
#include "call.cc"
#include "camera_handle.cc"
#include "convert.cc"
#include "status_error.cc"

namespace v4l2camera {
namespace {

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  addVideo(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(v4l2_camera, initialise)

}  // namespace v4l2camera
