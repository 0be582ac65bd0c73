// SPDX-License-Identifier: Apache-2.0
// Estimates how many rows the right image is above or below the left one: the error of a calibration that no longer
// fits.
//   c(x, y, dy) = min over d in [min, min + num) of popcount(L(x, y) ^ R(x - d, y + dy)),   dy = -4..4
//   samples     y = 4, 10, 16, ... below height - 4; x = min + num - 1, then every fifth, below width. A sample whose largest and
//               smallest c differ by less than 4 does not distinguish rows and is dropped.
//   S(dy)       sum of c over the samples that are kept; m the dy with the smallest S, of equal ones the lowest
//   offset      with n = 4 (S(m - 1) - S(m + 1)), q = S(m - 1) + S(m + 1) - 2 S(m): quarter rows 4 m + floor((n + q) / (2 q));
//               4 m where q <= 0. atLimit where m is -4 or 4. unknown with fewer than kFewestRowSamples samples, and where m is
//               between them but S(-4) or S(4) exceeds S(m) by less than a sixteenth, or by less than kChanceBits times the root of
//               the number of samples: then no row fits, and S(m) is the smallest by chance.
// A sample of the left image at row y is found at row y + offset of the right one. Any census works.
//
// A camera that is rotated about its axis has another offset in every column. Four bands of columns have one each:
//   bands       n = ceil((width - min - num + 1) / 5) columns of samples; bands 0 to 2 have floor(n / 4) each from the left, band 3
//               the rest. o0..o3: the offset of each, from at least kFewestBandSamples. kChanceBits is not checked: four bands do
//               not form a line by chance
//   over width  t = round((3 (o3 - o0) + o2 - o1) width / (50 floor(n / 4))), halves upwards: by how many quarter rows the
//               least-squares line through the bands rises from the left border to the right one
//   middle      round((o0 + o1 + o2 + o3) / 4), halves upwards: quarter rows in the middle of the bands
//   unknown if one of the four is unknown or at its limit, if a band has no whole column, or if a band is more than kBandsOffLine
//   quarter rows off the line.
// in   census [height][width] uint32        same bits on every backend: integer only.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kMaxRowOffset = 4;
constexpr int32_t kRowOffsets = 2 * kMaxRowOffset + 1;
constexpr int32_t kRowSampleRows = 6, kRowSampleColumns = 5, kFewestRowSpread = 4;
constexpr int32_t kFewestRowSamples = 200, kChanceBits = 8;
constexpr int32_t kRowBands = 4, kBandsOffLine = 2, kFewestBandSamples = 50;

struct RowOffsetSearch {
  int32_t minDisparity, numDisparities;
};

struct RowOffsetSums {
  int64_t sums[kRowOffsets] = {};  ///< dy = -4 first
  int32_t samples = 0;             ///< samples that count
};

struct RowOffset {
  bool known = false, atLimit = false;
  int32_t quarterRows = 0;
};

struct RowLine {
  bool known = false;
  int32_t middleQuarterRows = 0;
  int32_t quarterRowsOverWidth = 0;
};

/// The definitions.
RowOffset rowOffsetReference(const RowOffsetSearch& search, ImageView<const uint32_t> left,
                             ImageView<const uint32_t> right);
RowLine rowLineReference(const RowOffsetSearch& search, ImageView<const uint32_t> left,
                         ImageView<const uint32_t> right);

/// The fast form: the sums, and the offset from them.
using RowOffsetCount = RowOffsetSums (*)(const RowOffsetSearch& search, ImageView<const uint32_t> left,
                                         ImageView<const uint32_t> right);
struct RowOffsetKernels {
  RowOffsetCount countRowOffset;
};
RowOffset estimateRowOffset(const RowOffsetSums& sums, int32_t fewestSamples = kFewestRowSamples,
                            int32_t chanceBits = kChanceBits);

/// The sums of the four bands, which add up to those of the whole images.
struct RowBands {
  RowOffsetSums sums[kRowBands];
  int32_t columnsOfSamples = 0;  ///< in each of bands 0 to 2
  int32_t width = 0;
};
RowBands countRowBands(const RowOffsetSearch& search, ImageView<const uint32_t> left, ImageView<const uint32_t> right,
                       RowOffsetCount count);
RowOffsetSums mergeSums(const RowBands& bands);
RowOffset estimateRowOffset(const RowBands& bands);
RowLine estimateRowLine(const RowBands& bands);

}  // namespace depthwatt
