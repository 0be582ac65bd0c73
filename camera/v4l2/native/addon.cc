// SPDX-License-Identifier: Apache-2.0
// The Node-API addon's entry. All that reads napi.h is included here and compiled together: reading it takes a second, which six
// files would each spend in every installation. binding.gyp lists what is left.

// Before napi.h, for the whole addon. A worker thread that is terminated in the middle of a call can neither run JavaScript nor
// take an exception: without the first, node-addon-api ends the process over it. With the second, what C++ throws itself, such
// as std::bad_alloc, is an error in JavaScript and not the end of the process.
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
