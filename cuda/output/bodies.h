// SPDX-License-Identifier: Apache-2.0
// The encoded bodies of a frame, from images in the CPU's memory with packed rows: the same for every backend.
#pragma once

#include "../stage.h"

namespace depthwatt {

/// Depth in millimetres as RVL.
void encodeDepthBody(ImageView<const uint16_t> depthMillimetres, const EncodedBody& body);

/// disparityQ4 + 1, 0 = invalid, as RVL or raw words.
void encodeDisparityBody(Encoding encoding, ImageView<const int16_t> disparityQ4, const EncodedBody& body);

}  // namespace depthwatt
