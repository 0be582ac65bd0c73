// SPDX-License-Identifier: Apache-2.0
// native.facts(): names, ranges, defaults, units and descriptions of every matcher and stage, from which cuda/facts.ts is generated.
// native.brokenRule({algorithm, parameters, halfResolution, minDisparity, numDisparities}): {keys, text} of the first rule between a
// matcher's settings that does not hold, or null.
// native.chooseSearch(match, {width, height}, {instructionSet, multiprocessors}): {chosen, reason} of the search that a matcher runs
// for images of this size, or null if it has one search.
#pragma once

#include <napi.h>

namespace depthwatt {

void addFacts(Napi::Env env, Napi::Object exports);

}  // namespace depthwatt
