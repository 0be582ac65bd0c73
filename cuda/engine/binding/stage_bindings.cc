// SPDX-License-Identifier: Apache-2.0
// The functions of every stage for JavaScript, compiled together because napi.h takes a second to parse.
#include "stage_bindings.h"

#include "../../../build/generated/stage_bindings.inl.h"

namespace depthwatt {

void addStages(Napi::Env env, Napi::Object exports) {
  auto stages = Napi::Object::New(env);
  addStageBindings(env, stages);
  exports.Set("stages", stages);
}

}  // namespace depthwatt
