// SPDX-License-Identifier: Apache-2.0
// Vector form of the left-right check; compiled once per instruction set.
//
// The right winner is read lane by lane (a hardware gather is no faster for 16 bits); the rest uses vectors. A place
// outside the image gives kInvalidDisparity, so that one test rejects it, a right pixel without a match and an invalid
// left one.

#include "left_right.h"

namespace {

inline int16_t rightWinner(const int16_t* left, const int16_t* right, int32_t width, int32_t x) {
  const uint32_t xr = static_cast<uint32_t>(x - left[x]);
  return xr < static_cast<uint32_t>(width) ? right[xr] : kInvalidDisparity;
}

/// Checks kLanesI16 pixels from x on. A second check changes nothing, so the last vector of a row may overlap the one
/// before.
inline void leftRightVector(const int16_t* left, const int16_t* right, int16_t* disparityQ4, uint8_t* confidence,
                            int32_t tolerance, int32_t width, int32_t x) {
  int16_t looked[kLanesI16];
  for (int32_t lane = 0; lane < kLanesI16; ++lane) looked[lane] = rightWinner(left, right, width, x + lane);
  const I16 invalid = splatI16(kInvalidDisparity);
  const I16 dr = loadI16(looked);
  // A wrapped difference is never near 0: that would need dr = -32768 (rejected below) or dl = -32768, and x - dl is
  // then outside every image (widths end at 32768), which made dr = -32768.
  const I16 difference = subI16(loadI16(left + x), dr);
  const I16 near = andI16(lessI16(splatI16(static_cast<int16_t>(-tolerance - 1)), difference),
                          lessI16(difference, splatI16(static_cast<int16_t>(tolerance + 1))));
  const I16 keep = andNotI16(equalI16(dr, invalid), near);
  storeI16(disparityQ4 + x, selectI16(keep, loadI16(disparityQ4 + x), invalid));
  if (confidence != nullptr) keepBytes(confidence + x, keep);
}

inline void leftRightRows(const LeftRightImages& images, int32_t firstRow, int32_t endRow) {
  const int32_t width = images.disparity.width;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const int16_t* left = images.disparity.row(y);
    const int16_t* right = images.rightDisparity.row(y);
    int16_t* disparityQ4 = images.disparityQ4.row(y);
    uint8_t* confidence = images.confidence.data == nullptr ? nullptr : images.confidence.row(y);
    int32_t x = 0;
    for (; x + kLanesI16 <= width; x += kLanesI16)
      leftRightVector(left, right, disparityQ4, confidence, images.tolerance, width, x);
    if (x == width) continue;
    if (width >= kLanesI16) {
      leftRightVector(left, right, disparityQ4, confidence, images.tolerance, width, width - kLanesI16);
      continue;
    }
    for (; x < width; ++x) {
      const int32_t dr = rightWinner(left, right, width, x);
      const int32_t difference = left[x] - dr;
      if (dr != kInvalidDisparity && difference >= -images.tolerance && difference <= images.tolerance) continue;
      disparityQ4[x] = kInvalidDisparity;
      if (confidence != nullptr) confidence[x] = 0;
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(LeftRightKernels, leftRightRows)
