// SPDX-License-Identifier: Apache-2.0
// The encoded bodies of a frame, from its images in the CPU's memory: the same for every backend.
#pragma once

#include "../engine/backend.h"

namespace depthwatt {

/// depthMillimetres as RVL into encodedDepth; sets encodedDepthBytes.
void encodeDepthBody(const EngineParameters& parameters, FrameOutput& output);

/// disparityQ4 + 1, 0 = invalid, as RVL or raw words into encodedDisparity; sets encodedDisparityBytes.
void encodeDisparityBody(const EngineParameters& parameters, FrameOutput& output);

}  // namespace depthwatt
