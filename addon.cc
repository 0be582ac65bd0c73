// SPDX-License-Identifier: Apache-2.0
// The entry point of the Node-API addon. It registers the exports of every folder and connects folders that may not
// include each other. All files that include napi.h are included here and compiled together, because napi.h takes a
// second to parse, which each of a dozen files would cost in every installation. native-sources.mjs leaves these files
// out of the list of sources.

// Both settings must precede napi.h and apply to the whole addon. A worker thread that is terminated during a call can
// neither run JavaScript nor take an exception: without the first setting, node-addon-api would abort the process. With
// the second one, C++ exceptions such as std::bad_alloc become JavaScript errors.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS
#define NODE_ADDON_API_CPP_EXCEPTIONS_ALL

#include "camera/rig/alignment/binding.cc"
#include "camera/rig/calibrate/binding.cc"
#include "camera/scene/binding.cc"
#include "clients/cpp/ring_reader.cc"
#include "core/napi/arguments.cc"
#include "core/napi/call.cc"
#include "core/napi/captured_pair.cc"
#include "core/napi/environment.cc"
#include "core/napi/errors.cc"
#include "core/napi/notify.cc"
#include "core/napi/system.cc"
#include "core/ring/binding.cc"
#include "cuda/engine/binding/binding.cc"
#include "cuda/engine/binding/facts.cc"
#include "cuda/engine/binding/session.cc"
#include "cuda/engine/binding/session_options.cc"
#include "cuda/engine/binding/stage_bindings.cc"
#include "cuda/simd/kernels.h"
#include "power/native/binding.cc"

namespace depthwatt {
namespace {

/// Rectifies for the rig alignment with the fastest code for this CPU. camera/ must not include cuda/, so it gets this
/// function here. Every instruction set gives identical results.
void rectifyForAlignment(const CapturedImage& image, const int32_t* map, ImageView<uint8_t> out) {
  const RectifyRows rectify = kernelsFor<RectifyKernels>(availableInstructionSets().front()).rectify;
  rectify({image.data, image.width, image.height, image.strideBytes, image.format}, map, out, 0, out.height);
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  keepEnvironment(env);
  addSystem(env, exports);
  addEngine(env, exports);
  addScene(env, exports);
  addAlignment(env, exports, rectifyForAlignment);
  addCalibrate(env, exports);
  addPower(env, exports);
  addRingWriter(env, exports);
  addRingReader(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(depthwatt, initialise)

}  // namespace depthwatt
