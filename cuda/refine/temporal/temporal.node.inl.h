// SPDX-License-Identifier: Apache-2.0
// native.stages.temporal({variant, width, height, grey: Uint8Array, disparityQ4: Int16Array, mean: Int16Array, weight: Uint8Array,
//   reference: Int16Array}): disparityQ4 and the state are changed in place
#include "temporal.h"

#include <vector>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value temporal(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto grey = readImage<const uint8_t>(call, "grey");
  const auto disparityQ4 = readImage<int16_t>(call, "disparityQ4");
  const TemporalState state = {readImage<int16_t>(call, "mean"), readImage<uint8_t>(call, "weight"),
                               readImage<int16_t>(call, "reference")};
  if (variant.isReference) {
    temporalReference(grey, disparityQ4, state);
  } else {
    const TemporalKernels kernels = kernelsFor<TemporalKernels>(variant.set);
    const int32_t across = temporalTiles(grey.width), down = temporalTiles(grey.height);
    std::vector<uint8_t> counts(static_cast<size_t>(across) * static_cast<size_t>(down));
    const ImageView<uint8_t> moved = packedView(counts.data(), across, down);
    kernels.moved(grey, state, moved, 0, down);
    kernels.mean(grey, disparityQ4, state, moved.asConst(), resetsFrame(moved.asConst(), grey.width, grey.height), 0,
                 grey.height);
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addTemporal(Napi::Env env, Napi::Object stages) {
  stages.Set("temporal", Napi::Function::New(env, temporal, "temporal"));
}

}  // namespace depthwatt
