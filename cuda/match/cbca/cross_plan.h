// SPDX-License-Identifier: Apache-2.0
// How cross-based aggregation is cut into threads on a device: chosen once, at open. README.md has the counts behind it.
//   lane      eight disparities d..d+7 of one image: four words of two uint16 sums, word i holds d + i (low) and d + 4 + i
//   groups    lanes that stand beside each other for one pixel; chunks of groups are aggregated one after the other
//   segment   what one thread walks: a piece of a row (rows kernel) or of a column (columns kernel); it starts an arm's length
//             before its first result, so that segments share nothing
#pragma once

#include <cstddef>
#include <cstdint>

#include "cross.h"

namespace depthwatt {

constexpr int32_t kCrossLaneDisparities = 8;
/// Rows whose keys the columns kernel keeps before it looks for the winners of all of them.
constexpr int32_t kCrossKeyRows = 16;
constexpr int32_t kCrossKeyPitch = 33;

/// The tile of pixels that a block of the preparing kernel makes features and arms for: 32 words of four pixels by 8 rows.
constexpr int32_t kCrossTileRows = 8;
/// Words in a row of it, with the longest arm (and the mini-census) to both sides and one more to join words over.
constexpr int32_t crossTileMargin(int32_t armX) { return ((armX > 1 ? armX : 1) + 3) / 4 + 1; }
constexpr int32_t crossTileWords(int32_t armX) { return 32 + 2 * crossTileMargin(armX); }

/// How sums down a column are kept. All give the same result; the narrower, the faster.
enum class CrossSums {
  kShort,  ///< two uint16 a word: every sum is below 2^15
  kSplit,  ///< the same for each half of the arm, above the pixel and below it: every half's sum is below 2^16
  kWide,   ///< three bytes a disparity
};
/// Of a ring's entry, for a lane's eight disparities.
constexpr int32_t crossEntryBytes(CrossSums sums) { return sums == CrossSums::kWide ? 24 : 16; }
/// Rows that a column's thread loads at a time, before it needs them. Few warps fit beside the rings of wide sums, so each has
/// more loads on their way; the others would lose more to registers than they gain.
constexpr int32_t crossColumnsAhead(CrossSums sums) { return sums == CrossSums::kWide ? 8 : 4; }
constexpr int32_t kCrossMaxColumnsAhead = 8;
/// Entries of a column's ring beyond those that a region can reach: rows whose sums are stored before they are needed.
constexpr int32_t crossSpareEntries(CrossSums sums) {
  return sums == CrossSums::kWide ? crossColumnsAhead(sums) - 1 : 0;
}

/// Blocks of 128 threads that a multiprocessor's registers hold, and that the kernels are compiled for.
constexpr int32_t kCrossRowBlocks = 8;
constexpr int32_t crossColumnBlocks(CrossSums sums) { return sums == CrossSums::kShort ? 5 : 4; }

/// A block may hold a whole row's or column's sums instead of rings (cross_whole.cuh). A warp makes a row's costs of eight
/// disparities, a lane up to so many times four pixels of it; a thread takes so many rows of a column. More would not fit the
/// registers.
constexpr int32_t kCrossWholeFours = 6, kCrossWholeRows = 16, kCrossWholeThreads = 512;
constexpr size_t kCrossWholeTableBytes = 16 * 1024;

/// A matter of speed alone: results are the same. 0 = chosen.
struct CrossTuning {
  int32_t multiprocessors = 0;  ///< that the work will run on; 0 = the device's
  int32_t groups = 0;           ///< lanes a pixel, 1 to 32
  int32_t rowSegments = 0, columnSegments = 0;
  int32_t rowThreads = 0, columnThreads = 0;  ///< of a block, multiples of 32
  int32_t rowsTogether = -1;                  ///< 0, 1 or -1
  int32_t sums = -1;                          ///< a CrossSums that holds the sums, or -1
  int32_t whole = -1;   ///< sum of 1: whole rows, 2: whole columns, each where it fits; 0: rings; -1: chosen
  int32_t streams = 0;  ///< 1: both images in one launch; 2: each on a stream of its own
};

struct CrossPlan {
  CrossParameters parameters;          ///< armX, armY: the longest of both images, which everything is laid out for
  int32_t maxX[2] = {}, maxY[2] = {};  ///< longest arms of each image
  int32_t width = 0, height = 0;
  /// Of four pixels, in a row of features or arms: the image, the longest arm, and what is read ahead.
  int32_t words = 0;
  int32_t armRows = 0;                    ///< of arms down the columns: the same
  int32_t groups = 0, chunks = 0;         ///< groups 0: the arms are too long for the device's shared memory
  int32_t ringRows = 0, ringColumns = 0;  ///< entries of the running sum along a row and down a column
  int32_t rowSegments = 0, rowSegmentPixels = 0, rowThreads = 0;
  bool rowsTogether = false;                     ///< cross_rows.cuh
  bool wholeRows = false, wholeColumns = false;  ///< cross_whole.cuh
  int32_t wholeParts = 1;                        ///< that a row's groups are cut into
  int32_t columnSegments = 0, columnSegmentRows = 0, columnThreads = 0;
  int32_t columnsPerWarp = 0;
  CrossSums sums = CrossSums::kWide;
  size_t prepareSharedBytes = 0, rowsSharedBytes = 0, columnsSharedBytes = 0;
  int32_t streams = 1;
  size_t sumWords() const { return static_cast<size_t>(width) * height * groups * 4; }  ///< of one image
};

namespace crossPlanning {

inline int32_t divided(int32_t value, int32_t by) { return (value + by - 1) / by; }
inline int32_t within(int32_t value, int32_t low, int32_t high) {
  return value < low ? low : (value > high ? high : value);
}

inline bool holds(CrossSums sums, const CrossParameters& p) {
  const int32_t along = kMaxCrossCost * (2 * p.armX + 1);
  if (sums == CrossSums::kShort) return along * (2 * p.armY + 1) < 1 << 15;
  if (sums == CrossSums::kSplit) return along * (p.armY + 1) < 1 << 16;
  return true;
}

/// Lanes a pixel: a warp of the columns kernel holds whole pixels, so 32 / lanes of them. Each chunk is two launches with an end
/// of their own, so the fewest chunks that leave no more than a quarter of the lanes idle.
inline int32_t chooseGroups(int32_t needed, int32_t maxGroups) {
  int32_t best = 1, bestUsed = 0;
  for (int32_t chunks = divided(needed, maxGroups); chunks <= needed; ++chunks) {
    const int32_t groups = divided(needed, chunks);
    const int32_t used =
        100 * needed * (32 / groups * groups) / (chunks * groups * 32);  // % of lanes with disparities to search
    if (used > bestUsed) best = groups, bestUsed = used;
    if (used >= 75) break;
  }
  return best;
}

}  // namespace crossPlanning

/// sharedLimit: bytes of shared memory that a block may have. volumeLimit: bytes that both images' sums along x may have.
inline CrossPlan crossPlanOf(const CrossParameters& given, int32_t width, int32_t height, int32_t multiprocessors,
                             size_t sharedLimit, size_t volumeLimit, const CrossTuning& tuning) {
  using namespace crossPlanning;
  CrossPlan plan;
  CrossParameters p = given;
  for (int side = 0; side < 2; ++side) plan.maxX[side] = given.armXOf(side), plan.maxY[side] = given.armYOf(side);
  p.armX = given.longestX(), p.armY = given.longestY();
  plan.parameters = p;
  plan.width = width;
  plan.height = height;
  plan.words = divided(width + p.armX, 4) + 2;
  plan.armRows = height + 2 * p.armY + 2 * kCrossMaxColumnsAhead;
  plan.prepareSharedBytes =
      static_cast<size_t>(crossTileWords(p.armX)) * 4 * (kCrossTileRows + 2 * (p.armY > 1 ? p.armY : 1));
  plan.streams = tuning.streams > 0 ? tuning.streams : 2;
  plan.ringRows = 2 * p.armX + 2;

  plan.sums = CrossSums::kWide;
  for (const CrossSums sums : {CrossSums::kSplit, CrossSums::kShort}) {
    if (holds(sums, p)) plan.sums = sums;
  }
  if (tuning.sums >= 0 && holds(static_cast<CrossSums>(tuning.sums), p))
    plan.sums = static_cast<CrossSums>(tuning.sums);
  plan.ringColumns = 2 * p.armY + 2 + crossSpareEntries(plan.sums);
  const size_t columnBytes = static_cast<size_t>(plan.ringColumns) * crossEntryBytes(plan.sums);
  const size_t keyBytes = kCrossKeyRows * kCrossKeyPitch * sizeof(uint32_t);

  if (32 * columnBytes + keyBytes > sharedLimit || 8 * static_cast<size_t>(plan.ringRows) * 16 > sharedLimit)
    return plan;

  const size_t pixelBytes = static_cast<size_t>(width) * height * 2 * 16;
  const int32_t needed = divided(p.numDisparities, kCrossLaneDisparities);
  const int32_t maxGroups = within(static_cast<int32_t>(volumeLimit / pixelBytes), 1, 32);
  plan.groups =
      within(tuning.groups > 0 ? tuning.groups : chooseGroups(needed, maxGroups), 1, within(needed, 1, maxGroups));
  plan.chunks = divided(needed, plan.groups);

  // Blocks on a multiprocessor, by 128 threads' registers and by shared memory.
  const auto residentOnOne = [&](int32_t byRegisters, int32_t threads, size_t sharedBytes) {
    const auto byShared = static_cast<int32_t>((sharedLimit + 1024) / (sharedBytes + 1024));
    return within(byRegisters * 128 / threads, 1, within(byShared, 1, 32));
  };
  // Long arms leave room for few threads: smaller blocks, where an eighth more of them fit.
  const auto chooseThreads = [&](int32_t byRegisters, size_t threadBytes) {
    int32_t best = 128, bestThreads = 0;
    for (int32_t threads = 128; threads >= 32; threads /= 2) {
      if (threads * threadBytes > sharedLimit) continue;
      const int32_t fit = threads * residentOnOne(byRegisters, threads, threads * threadBytes);
      if (8 * fit > 9 * bestThreads) best = threads, bestThreads = fit;
    }
    return best;
  };

  // Together where rings leave a scheduler three warps at most.
  const size_t fewThreads = 3 * 128;
  plan.rowsTogether = tuning.rowsTogether >= 0 ? tuning.rowsTogether > 0
                                               : fewThreads * static_cast<size_t>(plan.ringRows) * 16 > sharedLimit;
  if (plan.rowsTogether && 8 * static_cast<size_t>(plan.ringRows + 3) * 16 > sharedLimit) plan.rowsTogether = false;
  if (plan.rowsTogether) plan.ringRows += 3;
  const size_t rowBytes = static_cast<size_t>(plan.ringRows) * 16;
  plan.rowThreads = tuning.rowThreads > 0 ? tuning.rowThreads : chooseThreads(kCrossRowBlocks, rowBytes);
  while (plan.rowThreads > 8 && plan.rowThreads * rowBytes > sharedLimit) plan.rowThreads /= 2;
  plan.rowsSharedBytes = plan.rowThreads * rowBytes;

  plan.columnThreads = tuning.columnThreads > 0
                           ? tuning.columnThreads
                           : chooseThreads(crossColumnBlocks(plan.sums), columnBytes + keyBytes / 32);
  while (plan.columnThreads > 32 &&
         plan.columnThreads * columnBytes + plan.columnThreads / 32 * keyBytes > sharedLimit) {
    plan.columnThreads = plan.columnThreads / 64 * 32;
  }
  plan.columnsPerWarp = 32 / plan.groups;
  plan.columnsSharedBytes = plan.columnThreads * columnBytes + plan.columnThreads / 32 * keyBytes;

  // Segments: all blocks in as few turns as possible, each as short as possible, its way in included.
  const auto segments = [&](int32_t asked, int32_t length, int32_t blocks, int32_t resident, int32_t arm) {
    const int32_t maxCount = divided(length, 4 * arm > 32 ? 4 * arm : 32);
    int64_t least = -1;
    int32_t best = 1;
    for (int32_t count = 1; count <= maxCount; ++count) {
      const int64_t steps = int64_t{divided(blocks * count, resident)} * (divided(length, count) + 2 * arm);
      if (least < 0 || steps < least) best = count, least = steps;
    }
    return within(asked > 0 ? asked : best, 1, length);
  };
  const auto resident = [&](int32_t byRegisters, int32_t threads, size_t sharedBytes) {
    return multiprocessors * residentOnOne(byRegisters, threads, sharedBytes);
  };
  plan.rowSegments = segments(tuning.rowSegments, width, 2 * divided(height * plan.groups, plan.rowThreads),
                              resident(kCrossRowBlocks, plan.rowThreads, plan.rowsSharedBytes), p.armX);
  plan.rowSegmentPixels = divided(divided(width, plan.rowSegments), 4) * 4;
  plan.rowSegments = divided(width, plan.rowSegmentPixels);
  plan.columnSegments =
      segments(tuning.columnSegments, height, 2 * divided(width, plan.columnThreads / 32 * plan.columnsPerWarp),
               resident(crossColumnBlocks(plan.sums), plan.columnThreads, plan.columnsSharedBytes), p.armY);
  plan.columnSegmentRows = divided(height, plan.columnSegments);
  plan.columnSegments = divided(height, plan.columnSegmentRows);

  // Whole rows and columns, where rings leave a multiprocessor less than eight warps of rows and three of columns: measured faster at
  // arms of 41 x 61, slower at 21 x 31. Rows two blocks to a multiprocessor where their halves fit.
  const bool few = 8 * 32 * rowBytes > sharedLimit && 3 * 32 * columnBytes > sharedLimit;
  if (tuning.whole > 0 || (tuning.whole < 0 && few)) {
    const int32_t fours = divided(width, 128);
    const size_t slots = static_cast<size_t>(32) * 4 * fours + 33;
    const auto rowBytesOf = [&](int32_t groups) { return groups * slots * 16 + kCrossWholeTableBytes; };
    plan.wholeParts = plan.groups % 2 == 0 && 2 * (rowBytesOf(plan.groups / 2) + 1024) <= sharedLimit ? 2 : 1;
    const bool rowsFit = fours <= kCrossWholeFours && 32 * plan.groups <= kCrossWholeThreads &&
                         rowBytesOf(plan.groups / plan.wholeParts) <= sharedLimit;
    const bool wide = !holds(CrossSums::kShort, p);
    const int32_t pieces = divided(height, kCrossWholeRows);
    const size_t cells = static_cast<size_t>(height + 1) * plan.groups * (wide ? 24 : 16) + 8,
                 keys = static_cast<size_t>(height) * (plan.groups | 1) * 4,
                 totals = static_cast<size_t>(pieces) * plan.groups * (wide ? 32 : 16),
                 columnsShared = cells + (keys > totals ? keys : totals);
    const bool columnsFit = pieces * plan.groups <= kCrossWholeThreads && columnsShared <= sharedLimit;
    plan.wholeRows = rowsFit && (tuning.whole > 0 ? (tuning.whole & 1) != 0 : columnsFit);
    plan.wholeColumns = columnsFit && (tuning.whole > 0 ? (tuning.whole & 2) != 0 : rowsFit);
    if (plan.wholeRows) {
      plan.rowThreads = 32 * plan.groups / plan.wholeParts;
      plan.rowsSharedBytes = rowBytesOf(plan.groups / plan.wholeParts);
    }
    if (plan.wholeColumns) {
      plan.sums = wide ? CrossSums::kWide : CrossSums::kShort;
      plan.columnThreads = pieces * plan.groups;
      plan.columnsSharedBytes = columnsShared;
    }
  }
  return plan;
}

}  // namespace depthwatt
