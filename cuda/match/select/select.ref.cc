// SPDX-License-Identifier: Apache-2.0
// The definition of the selection; see select.h.
#include "select.h"

#include "../winner.ref.h"

namespace depthwatt {
namespace {

/// The sums of one row, by absolute disparity. Only candidates may be read.
struct Row {
  const SgmParameters& parameters;
  const uint16_t* sums;
  int32_t width;

  bool isCandidate(int32_t x, int32_t d) const {
    return d >= parameters.minDisparity && d < parameters.minDisparity + parameters.numDisparities && x >= 0 &&
           x < width && (x - d >= 0 || parameters.outsideCost < 63) && x - d < width && sum(x, d) != kNotSearched;
  }
  int32_t sum(int32_t x, int32_t d) const {
    return sums[static_cast<size_t>(x) * parameters.numDisparities + (d - parameters.minDisparity)];
  }
};

int32_t fractionQ4(const Row& row, int32_t x, int32_t d0) {
  if (!row.isCandidate(x, d0 - 1) || !row.isCandidate(x, d0 + 1)) return 0;
  return subpixelQ4(row.sum(x, d0 - 1), row.sum(x, d0), row.sum(x, d0 + 1));
}

struct Selection {
  int16_t disparityQ4 = kInvalidDisparity;
  int16_t disparity = kInvalidDisparity;
  uint8_t confidence = 0;
};

Selection select(const SgmParameters& parameters, const Row& row, int32_t x) {
  const int32_t width = row.width;
  const int32_t first = parameters.minDisparity, end = first + parameters.numDisparities;
  int32_t d0 = -1;
  for (int32_t d = first; d < end; ++d) {
    if (row.isCandidate(x, d) && (d0 < 0 || row.sum(x, d) < row.sum(x, d0))) d0 = d;
  }
  Selection selection;
  if (d0 < 0) return selection;
  if (parameters.outsideCost < 63 && (x - d0 < 0 || (x < first + 8 && x < width / 8))) return selection;
  selection.disparity = static_cast<int16_t>(d0);

  const int32_t best = row.sum(x, d0);
  int32_t second = -1;
  for (int32_t d = first; d < end; ++d) {
    if (!row.isCandidate(x, d) || (d >= d0 - 1 && d <= d0 + 1)) continue;
    if (second < 0 || row.sum(x, d) < second) second = row.sum(x, d);
    if (parameters.uniqueness > 0 && row.sum(x, d) * (100 - parameters.uniqueness) < 100 * best) return selection;
  }
  selection.disparityQ4 = static_cast<int16_t>(16 * d0 + (parameters.subpixel ? fractionQ4(row, x, d0) : 0));
  if (second >= 0) selection.confidence = static_cast<uint8_t>(255 * (second - best) / (second > 1 ? second : 1));
  return selection;
}

int16_t selectRight(const SgmParameters& parameters, const Row& row, int32_t rightX) {
  int32_t best = -1;
  for (int32_t d = parameters.minDisparity; d < parameters.minDisparity + parameters.numDisparities; ++d) {
    if (!row.isCandidate(rightX + d, d)) continue;
    if (best < 0 || row.sum(rightX + d, d) < row.sum(rightX + best, best)) best = d;
  }
  return best < 0 ? kInvalidDisparity : static_cast<int16_t>(best);
}

}  // namespace

void selectReference(const SgmParameters& parameters, const uint16_t* sums, const SgmResult& result) {
  const int32_t width = result.disparityQ4.width, height = result.disparityQ4.height;
  for (int32_t y = 0; y < height; ++y) {
    const Row row{parameters, sums + static_cast<size_t>(y) * width * parameters.numDisparities, width};
    for (int32_t x = 0; x < width; ++x) {
      const Selection selection = select(parameters, row, x);
      result.disparityQ4.row(y)[x] = selection.disparityQ4;
      result.disparity.row(y)[x] = selection.disparity;
      if (result.confidence.data != nullptr) result.confidence.row(y)[x] = selection.confidence;
      if (result.rightDisparity.data != nullptr) result.rightDisparity.row(y)[x] = selectRight(parameters, row, x);
    }
  }
}

}  // namespace depthwatt
