// SPDX-License-Identifier: Apache-2.0
// All that reads napi.h, compiled together: reading it takes a second, which a dozen files would each spend in every
// installation. native-sources.mjs leaves out what is included here; a file that is not compiles on its own.
#include "../../camera/capture/v4l2/binding.cc"
#include "../../camera/capture/v4l2/camera_handle.cc"
#include "../../camera/capture/v4l2/convert.cc"
#include "../../power/native/binding.cc"
#include "addon.cc"
#include "arguments.cc"
#include "errors.cc"
#include "notify.cc"
#include "rooms.cc"
#include "scene.cc"
#include "session.cc"
#include "session_options.cc"
