// SPDX-License-Identifier: Apache-2.0
// native.stages.select({variant: "reference", width, height, minDisparity, numDisparities, uniqueness?, subpixel,
//   sums: Uint16Array, disparityQ4, disparity: Int16Array, rightDisparity?: Int16Array, confidence?: Uint8Array})
// The selection alone has no fast form: native.stages.sgm fuses it into the last aggregation.
#include "select.h"

#include "../sgm/sgm_arguments.node.h"

namespace depthwatt {
namespace {

Napi::Value select(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  if (!readVariant(call).isReference) {
    throw errorFrom(info.Env(),
                    Status::error(Code::kBackendUnavailable,
                                  "Expected the variant reference for select, whose fast form is part of sgm."));
  }
  const SgmParameters parameters = sgmParametersFrom(call);
  throwUnlessOk(info.Env(), checkSgmParameters(parameters));
  const int32_t width = readInteger(call, "width", 1, 32768), height = readInteger(call, "height", 1, 32768);
  const size_t cells = static_cast<size_t>(width) * static_cast<size_t>(height) * parameters.numDisparities;
  selectReference(parameters, readElements<const uint16_t>(call, "sums", cells), readSgmResult(call, width, height));
  return Napi::String::New(info.Env(), "reference");
}

}  // namespace

void addSelect(Napi::Env env, Napi::Object stages) { stages.Set("select", Napi::Function::New(env, select, "select")); }

}  // namespace depthwatt
