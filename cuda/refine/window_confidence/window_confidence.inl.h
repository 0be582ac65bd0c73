// SPDX-License-Identifier: Apache-2.0
// Vector form of the confidence measures; compiled once per instruction set.
//
// Vectors process pixels whose windows are inside the image's columns; pixels at its left and right edge are processed
// one by one. Neighbours mostly have one disparity: if all of a vector do, their partners are contiguous too; otherwise
// each pixel reads its own.

#include "window_confidence.h"

namespace {

constexpr int32_t kMeasureRows = 2 * kMeasureRadius + 1;

/// The rows of a window; rows outside the image are replicated.
struct MeasureRows {
  const uint8_t* left[kMeasureRows];
  const uint8_t* right[kMeasureRows];
  int32_t last;  ///< last column

  MeasureRows(const WindowConfidenceImages& images, int32_t y) : last(images.left.width - 1) {
    for (int32_t j = 0; j < kMeasureRows; ++j) {
      const int32_t row = lesser(greater(y + j - kMeasureRadius, 0), images.left.height - 1);
      left[j] = images.left.row(row);
      right[j] = images.right.row(row);
    }
  }
  int32_t column(int32_t x) const { return lesser(greater(x, 0), last); }
};

inline int32_t deviationAt(const MeasureRows& rows, int32_t x) {
  int32_t sum = 0, deviation = 0;
  for (int32_t j = 0; j < kMeasureRows; ++j) {
    for (int32_t i = -kMeasureRadius; i <= kMeasureRadius; ++i) sum += rows.left[j][rows.column(x + i)];
  }
  const int32_t mean = (sum + kMeasurePixels / 2) / kMeasurePixels;
  for (int32_t j = 0; j < kMeasureRows; ++j) {
    for (int32_t i = -kMeasureRadius; i <= kMeasureRadius; ++i) {
      const int32_t apart = rows.left[j][rows.column(x + i)] - mean;
      deviation += apart < 0 ? -apart : apart;
    }
  }
  return deviation;
}

inline int32_t differenceAt(const MeasureRows& rows, int32_t x, int32_t shift) {
  int32_t difference = 0;
  for (int32_t j = 0; j < kMeasureRows; ++j) {
    for (int32_t i = -kMeasureRadius; i <= kMeasureRadius; ++i) {
      const int32_t at = rows.column(x + i);
      const int32_t apart = rows.left[j][at] - rows.right[j][rows.column(at - shift)];
      difference += apart < 0 ? -apart : apart;
    }
  }
  return difference;
}

/// Computes the deviations of kLanesI16 pixels from x on, whose windows are inside; 49 x 255 fits.
inline void storeDeviations(const MeasureRows& rows, int32_t x, int16_t* deviations) {
  I16 sum = splatI16(0), deviation = splatI16(0);
  for (int32_t j = 0; j < kMeasureRows; ++j) {
    for (int32_t i = -kMeasureRadius; i <= kMeasureRadius; ++i) sum = addI16(sum, loadBytesAsI16(rows.left[j] + x + i));
  }
  // floor(n / 49) = floor(n 42800 / 2^21) for n up to 43689: the upper half of the product, shifted by five more bits.
  int16_t means[kLanesI16];
  storeI16(means, mulHighU16(addI16(sum, splatI16(kMeasurePixels / 2)), splatI16(static_cast<int16_t>(42800))));
  for (int32_t lane = 0; lane < kLanesI16; ++lane)
    means[lane] = static_cast<int16_t>(static_cast<uint16_t>(means[lane]) >> 5);
  const I16 mean = loadI16(means);
  for (int32_t j = 0; j < kMeasureRows; ++j) {
    for (int32_t i = -kMeasureRadius; i <= kMeasureRadius; ++i)
      deviation = addI16(deviation, absoluteI16(subI16(loadBytesAsI16(rows.left[j] + x + i), mean)));
  }
  storeI16(deviations, deviation);
}

/// Computes the differences of pixels that all have the disparity `shift`, and whose partners' windows are inside too.
inline void storeDifferences(const MeasureRows& rows, int32_t x, int32_t shift, int16_t* differences) {
  I16 sum = splatI16(0);
  for (int32_t j = 0; j < kMeasureRows; ++j) {
    for (int32_t i = -kMeasureRadius; i <= kMeasureRadius; ++i) {
      const I16 apart = subI16(loadBytesAsI16(rows.left[j] + x + i), loadBytesAsI16(rows.right[j] + x + i - shift));
      sum = addI16(sum, absoluteI16(apart));
    }
  }
  storeI16(differences, sum);
}

inline int32_t measureFrom(int32_t sum) { return lesser(255, kMeasureScale * sum / kMeasurePixels); }
inline int32_t wholeDisparity(int16_t disparityQ4) { return (disparityQ4 + 8) >> 4; }

/// The measures of up to kLanesI16 pixels from x on.
struct MeasureSums {
  int16_t deviation[kLanesI16], difference[kLanesI16];

  MeasureSums(const MeasureRows& rows, const int16_t* disparityQ4, int32_t x, int32_t count, bool differs) {
    const bool inside = count == kLanesI16 && x >= kMeasureRadius && x + count + kMeasureRadius <= rows.last + 1;
    if (inside) storeDeviations(rows, x, deviation);
    for (int32_t i = 0; i < count && !inside; ++i) deviation[i] = static_cast<int16_t>(deviationAt(rows, x + i));
    if (!differs) return;
    const int32_t shift = wholeDisparity(disparityQ4[x]);
    bool together = inside && disparityQ4[x] != kInvalidDisparity && shift >= 0 && shift <= x - kMeasureRadius;
    for (int32_t i = 1; i < count && together; ++i) together = wholeDisparity(disparityQ4[x + i]) == shift;
    if (together) storeDifferences(rows, x, shift, difference);
    for (int32_t i = 0; i < count && !together; ++i) {
      const int16_t d = disparityQ4[x + i];
      difference[i] =
          d == kInvalidDisparity ? int16_t{0} : static_cast<int16_t>(differenceAt(rows, x + i, wholeDisparity(d)));
    }
  }
};

inline void windowConfidenceRows(ConfidenceMeasure measure, const WindowConfidenceImages& images,
                                 ImageView<uint8_t> sure, int32_t firstRow, int32_t endRow) {
  const bool scores = measure == ConfidenceMeasure::kMatchingScore || measure == ConfidenceMeasure::kProduct;
  for (int32_t y = firstRow; y < endRow; ++y) {
    const MeasureRows rows(images, y);
    const int16_t* disparityQ4 = images.disparityQ4.row(y);
    const uint8_t* certainty = images.certainty.row(y);
    uint8_t* out = sure.row(y);
    const auto write = [&](int32_t x, int32_t value) {
      const bool matched = disparityQ4[x] != kInvalidDisparity && !(images.zeroIsEstimated && certainty[x] == 0);
      out[x] = static_cast<uint8_t>(matched ? greater(value, 1) : 0);
    };
    if (measure == ConfidenceMeasure::kPeakRatio) {
      for (int32_t x = 0; x < sure.width; ++x) write(x, certainty[x]);
      continue;
    }
    // The first and the last columns are processed one by one, so that the vectors between them are inside.
    for (int32_t x = 0; x < sure.width;) {
      const int32_t count =
          x < kMeasureRadius ? lesser(kMeasureRadius - x, sure.width - x) : lesser(kLanesI16, sure.width - x);
      const MeasureSums sums(rows, disparityQ4, x, lesser(count, kLanesI16), scores);
      for (int32_t i = 0; i < lesser(count, kLanesI16); ++i) {
        int32_t value = measureFrom(sums.deviation[i]);
        if (scores) value = (255 - measureFrom(sums.difference[i])) * value / 255;
        if (measure == ConfidenceMeasure::kProduct) value = certainty[x + i] * value / 255;
        write(x + i, value);
      }
      x += lesser(count, kLanesI16);
    }
  }
}

}  // namespace

DEPTHWATT_VECTOR_CODE(WindowConfidenceKernels, windowConfidenceRows)
