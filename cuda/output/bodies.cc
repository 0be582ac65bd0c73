// SPDX-License-Identifier: Apache-2.0
// Fills the encoded bodies; see bodies.h.
#include "bodies.h"

#include "rvl/rvl.h"

namespace depthwatt {
namespace {

template <class T>
size_t pixelCount(const ImageView<T>& image) {
  return static_cast<size_t>(image.width) * static_cast<size_t>(image.height);
}

}  // namespace

void encodeDepthBody(ImageView<const uint16_t> depthMillimetres, const EncodedBody& body) {
  *body.bytes = static_cast<uint32_t>(rvlEncodeDepth(depthMillimetres.data, pixelCount(depthMillimetres), body.data));
}

void encodeDisparityBody(Encoding encoding, ImageView<const int16_t> disparityQ4, const EncodedBody& body) {
  const size_t pixels = pixelCount(disparityQ4);
  if (encoding == Encoding::kRvl) {
    *body.bytes = static_cast<uint32_t>(rvlEncodeDisparity(disparityQ4.data, pixels, body.data));
    return;
  }
  auto* words = reinterpret_cast<uint16_t*>(body.data);
  for (size_t i = 0; i < pixels; ++i) {
    const int16_t value = disparityQ4.data[i];
    words[i] = value == kInvalidDisparity ? 0 : static_cast<uint16_t>(value + 1);
  }
  *body.bytes = static_cast<uint32_t>(pixels * sizeof(uint16_t));
}

}  // namespace depthwatt
