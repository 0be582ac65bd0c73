// SPDX-License-Identifier: Apache-2.0
// Fills the encoded bodies; see bodies.h.
#include "bodies.h"

#include "rvl/rvl.h"

namespace depthwatt {
namespace {

size_t pixelsOf(const EngineParameters& p) { return static_cast<size_t>(p.width) * static_cast<size_t>(p.height); }

}  // namespace

void encodeDepthBody(const EngineParameters& parameters, FrameOutput& output) {
  output.encodedDepthBytes = rvlEncodeDepth(output.depthMillimetres, pixelsOf(parameters), output.encodedDepth);
}

void encodeDisparityBody(const EngineParameters& parameters, FrameOutput& output) {
  const size_t pixels = pixelsOf(parameters);
  if (parameters.encodeDisparity == Encoding::kRvl) {
    output.encodedDisparityBytes = rvlEncodeDisparity(output.disparityQ4, pixels, output.encodedDisparity);
    return;
  }
  auto* words = reinterpret_cast<uint16_t*>(output.encodedDisparity);
  for (size_t i = 0; i < pixels; ++i) {
    const int16_t value = output.disparityQ4[i];
    words[i] = value == kInvalidDisparity ? 0 : static_cast<uint16_t>(value + 1);
  }
  output.encodedDisparityBytes = pixels * sizeof(uint16_t);
}

}  // namespace depthwatt
