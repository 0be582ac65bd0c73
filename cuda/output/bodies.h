// SPDX-License-Identifier: Apache-2.0
// Encodes the bodies of a frame from images in CPU memory with packed rows, for every backend.
#pragma once

#include "../stage.h"

namespace depthwatt {

/// Encodes depth in millimetres as RVL.
void encodeDepthBody(ImageView<const uint16_t> depthMillimetres, const EncodedBody& body);

/// Encodes disparityQ4 + 1, 0 = invalid, as RVL or raw words.
void encodeDisparityBody(Encoding encoding, ImageView<const int16_t> disparityQ4, const EncodedBody& body);

}  // namespace depthwatt
