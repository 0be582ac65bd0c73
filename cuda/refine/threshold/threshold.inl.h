// SPDX-License-Identifier: Apache-2.0
// Vector form of the threshold; compiled once per instruction set.
//
// Processing a pixel twice changes and counts nothing more, because a dropped pixel is invalid. The last vector of a
// row may therefore overlap the one before. Each lane counts at most the pixels of one row, which fits 16 bits.

#include "threshold.h"

namespace {

struct ThresholdVectors {
  I16 minConfidence, lowestQ4, highestQ4, drops;  ///< drops: -1 in all lanes if a confidence can be too low

  explicit ThresholdVectors(const ThresholdLimits& limits)
      : minConfidence(splatI16(limits.minConfidence)), lowestQ4(splatI16(limits.lowestQ4)),
        highestQ4(splatI16(limits.highestQ4)), drops(splatI16(limits.minConfidence > 0 ? -1 : 0)) {}

  void apply(int16_t* disparityQ4, uint8_t* confidence, I16 counts[kDropCauses]) const {
    const I16 disparity = loadI16(disparityQ4), sure = loadBytesAsI16(confidence);
    const I16 invalid = equalI16(disparity, splatI16(kInvalidDisparity));
    const I16 unmatched = andI16(equalI16(sure, splatI16(0)), drops);
    I16 droppedLanes = invalid;
    const auto drop = [&](DropCause cause, I16 holds) {
      const I16 now = andNotI16(droppedLanes, holds);
      counts[cause] = subI16(counts[cause], now);
      droppedLanes = selectI16(now, now, droppedLanes);
    };
    drop(kDroppedFilled, unmatched);
    drop(kDroppedUnsure, lessI16(sure, minConfidence));
    drop(kDroppedNear, lessI16(highestQ4, disparity));
    drop(kDroppedFar, lessI16(disparity, lowestQ4));
    storeI16(disparityQ4, selectI16(droppedLanes, splatI16(kInvalidDisparity), disparity));
    keepBytes(confidence, selectI16(invalid, invalid, equalI16(droppedLanes, splatI16(0))));
  }
};

inline void thresholdRows(const ThresholdLimits& limits, ImageView<int16_t> disparityQ4, ImageView<uint8_t> confidence,
                          int32_t dropped[kDropCauses], int32_t firstRow, int32_t endRow) {
  const ThresholdVectors vectors(limits);
  const int32_t width = disparityQ4.width;
  for (int32_t y = firstRow; y < endRow; ++y) {
    int16_t* disparities = disparityQ4.row(y);
    uint8_t* sure = confidence.row(y);
    I16 counts[kDropCauses];
    for (I16& count : counts) count = splatI16(0);
    int32_t x = 0;
    for (; x + kLanesI16 <= width; x += kLanesI16) vectors.apply(disparities + x, sure + x, counts);
    if (x < width && width >= kLanesI16) {
      vectors.apply(disparities + width - kLanesI16, sure + width - kLanesI16, counts);
    } else if (x < width) {
      int16_t paddedDisparities[kLanesI16];
      uint8_t paddedSure[kLanesI16] = {};
      for (int16_t& padded : paddedDisparities) padded = kInvalidDisparity;
      for (int32_t i = 0; i < width; ++i) paddedDisparities[i] = disparities[i], paddedSure[i] = sure[i];
      vectors.apply(paddedDisparities, paddedSure, counts);
      for (int32_t i = 0; i < width; ++i) disparities[i] = paddedDisparities[i], sure[i] = paddedSure[i];
    }
    for (int cause = 0; cause < kDropCauses; ++cause) {
      int16_t lanes[kLanesI16];
      storeI16(lanes, counts[cause]);
      for (const int16_t lane : lanes) dropped[cause] += lane;
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(ThresholdKernels, thresholdRows)
