// SPDX-License-Identifier: Apache-2.0
// Vector form of depth from disparity; compiled once per instruction set.
//
// The same roundings in the same order as the definition. An invalid disparity is exactly -32768.0f as a float.

#include "depth.h"

namespace {

struct DepthVectors {
  F32 numerator, offsetQ4;

  explicit DepthVectors(const DepthGeometry& geometry)
      : numerator(splatF32(static_cast<float>(geometry.focalPixels * geometry.baselineMetres * 16.0 * 1000.0))),
        offsetQ4(splatF32(static_cast<float>(16.0 * geometry.disparityOffsetPixels))) {}

  /// Computes kLanesF32 depths in millimetres and a mask of the valid ones. Invalid lanes are arbitrary.
  F32 millimetres(const int16_t* disparityQ4, MaskF32* holds) const {
    const F32 disparity = loadI16AsF32(disparityQ4);
    const F32 denominator = addF32(disparity, offsetQ4);
    *holds = bothF32(notEqualF32(disparity, splatF32(kInvalidDisparity)), lessF32(splatF32(0), denominator));
    return divF32(numerator, denominator);
  }
};

inline void depthVector(const DepthVectors& vectors, const int16_t* disparityQ4, uint16_t* out) {
  MaskF32 holds;
  const F32 rounding = addF32(vectors.millimetres(disparityQ4, &holds), splatF32(0.5f));
  const MaskF32 fits = bothF32(holds, lessF32(rounding, splatF32(65536.0f)));
  storeTruncatedU16(out, selectF32(fits, rounding, splatF32(0)));  // positive: truncation is the floor
}

inline void depthVector(const DepthVectors& vectors, const int16_t* disparityQ4, float* out) {
  MaskF32 holds;
  const F32 metres = divF32(vectors.millimetres(disparityQ4, &holds), splatF32(1000.0f));
  storeF32(out, selectF32(holds, metres, splatF32(__builtin_nanf(""))));
}

template <class Depth>
void depthRows(const DepthGeometry& geometry, ImageView<const int16_t> disparityQ4, ImageView<Depth> depth,
               int32_t firstRow, int32_t endRow) {
  const DepthVectors vectors(geometry);
  const int32_t width = disparityQ4.width;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const int16_t* in = disparityQ4.row(y);
    Depth* out = depth.row(y);
    int32_t x = 0;
    for (; x + kLanesF32 <= width; x += kLanesF32) depthVector(vectors, in + x, out + x);
    if (x == width) continue;
    if (width >= kLanesF32) {
      depthVector(vectors, in + width - kLanesF32, out + width - kLanesF32);  // overlaps the previous vector
      continue;
    }
    int16_t padded[kLanesF32] = {};
    Depth results[kLanesF32];
    for (int32_t i = 0; i < width; ++i) padded[i] = in[i];
    depthVector(vectors, padded, results);
    for (int32_t i = 0; i < width; ++i) out[i] = results[i];
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(DepthKernels, depthRows<uint16_t>, depthRows<float>)
