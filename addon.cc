// SPDX-License-Identifier: Apache-2.0
// The Node-API addon's entry: collects what each folder registers, and joins what folders may not include of each other.
// All that reads napi.h is included here and compiled together: reading it takes a second, which a dozen files would each
// spend in every installation. native-sources.mjs leaves out what is included here; a file that is not compiles on its own.

// Before napi.h, for the whole addon. A worker thread that is terminated in the middle of a call can neither run JavaScript nor
// take an exception: without the first, node-addon-api ends the process over it. With the second, what C++ throws itself, such
// as std::bad_alloc, is an error in JavaScript and not the end of the process.
#define NODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS
#define NODE_ADDON_API_CPP_EXCEPTIONS_ALL

#include "camera/rig/alignment/binding.cc"
#include "camera/rig/calibrate/binding.cc"
#include "camera/scene/binding.cc"
#include "core/napi/arguments.cc"
#include "core/napi/call.cc"
#include "core/napi/captured_pair.cc"
#include "core/napi/errors.cc"
#include "core/napi/notify.cc"
#include "core/napi/system.cc"
#include "cuda/engine/binding/binding.cc"
#include "cuda/engine/binding/facts.cc"
#include "cuda/engine/binding/session.cc"
#include "cuda/engine/binding/session_options.cc"
#include "cuda/engine/binding/stage_bindings.cc"
#include "cuda/simd/kernels.h"
#include "power/native/binding.cc"

namespace depthwatt {
namespace {

/// camera/ must not include cuda/, so the rig alignment is given the engine's rectification here: the fastest that this CPU
/// runs. Every instruction set computes the same bits.
void rectifyForAlignment(const CapturedImage& image, const int32_t* map, ImageView<uint8_t> out) {
  const RectifyRows rectify = kernelsFor<RectifyKernels>(availableInstructionSets().front()).rectify;
  rectify({image.data, image.width, image.height, image.strideBytes, image.format}, map, out, 0, out.height);
}

Napi::Object initialise(Napi::Env env, Napi::Object exports) {
  addSystem(env, exports);
  addEngine(env, exports);
  addScene(env, exports);
  addAlignment(env, exports, rectifyForAlignment);
  addCalibrate(env, exports);
  addPower(env, exports);
  return exports;
}

}  // namespace

NODE_API_MODULE(depthwatt, initialise)

}  // namespace depthwatt
