// SPDX-License-Identifier: Apache-2.0
// native.stages.repair({variant, width, height, disparityQ4: Int16Array, sure: Uint8Array}): runs all passes in place
#include "repair.h"

#include <vector>

#include "../../engine/binding/variant.h"

namespace depthwatt {
namespace {

Napi::Value repair(const Napi::CallbackInfo& info) {
  const auto call = objectAt(info, 0, "the call");
  const Variant variant = readVariant(call);
  const auto disparityQ4 = readImage<int16_t>(call, "disparityQ4");
  const auto sure = readImage<uint8_t>(call, "sure");
  if (variant.isReference) {
    repairReference(disparityQ4, sure);
    return Napi::String::New(info.Env(), variant.name());
  }
  const size_t pixels = static_cast<size_t>(sure.width) * static_cast<size_t>(sure.height);
  std::vector<int16_t> disparities(pixels);
  std::vector<uint8_t> sures(pixels);
  const auto before = packedView(disparities.data(), sure.width, sure.height);
  const auto sureBefore = packedView(sures.data(), sure.width, sure.height);
  for (int32_t pass = 0; pass < kRepairPasses; ++pass) {
    for (int32_t y = 0; y < sure.height; ++y) {
      std::memcpy(before.row(y), disparityQ4.row(y), static_cast<size_t>(sure.width) * sizeof(int16_t));
      std::memcpy(sureBefore.row(y), sure.row(y), static_cast<size_t>(sure.width));
    }
    kernelsFor<RepairKernels>(variant.set)
        .repair(pass == 1, {before.asConst(), sureBefore.asConst()}, {disparityQ4, sure}, 0, sure.height);
  }
  return Napi::String::New(info.Env(), variant.name());
}

}  // namespace

void addRepair(Napi::Env env, Napi::Object stages) { stages.Set("repair", Napi::Function::New(env, repair, "repair")); }

}  // namespace depthwatt
