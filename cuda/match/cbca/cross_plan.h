// SPDX-License-Identifier: Apache-2.0
// How cross-based aggregation is split into threads on a device: chosen once, at open.
//   lane      eight disparities d..d+7 of one image: four words of two uint16 sums, word i holds d + i (low) and d + 4 + i
//   groups    the lanes of one pixel; chunks of groups are aggregated one after the other
//   segment   the piece of a row (rows kernel) or of a column (columns kernel) that one thread walks; it starts an arm's length before
//             its first result, so that segments share nothing
#pragma once

#include <cstddef>
#include <cstdint>

#include "cross.h"

namespace depthwatt {

constexpr int32_t kCrossLaneDisparities = 8;
/// Rows whose keys the columns kernel collects before it finds their winners.
constexpr int32_t kCrossKeyRows = 16;
constexpr int32_t kCrossKeyPitch = 33;

/// The tile of pixels for which a block of the preparing kernel computes features and arms: 32 words of four pixels by
/// 8 rows.
constexpr int32_t kCrossTileRows = 8;
/// Words in a row of the tile, with the longest arm (and the mini-census) on both sides and one more for words across
/// its edge.
constexpr int32_t crossTileMargin(int32_t armX) { return ((armX > 1 ? armX : 1) + 3) / 4 + 1; }
constexpr int32_t crossTileWords(int32_t armX) { return 32 + 2 * crossTileMargin(armX); }

/// How sums down a column are stored. All give the same result; narrower ones are faster.
enum class CrossSums {
  kShort,  ///< two uint16 a word: every sum is below 2^15
  kSplit,  ///< the same for each half of the arm, above the pixel and below it: every half's sum is below 2^16
  kWide,   ///< three bytes a disparity
};
/// Bytes of a ring's entry, for a lane's eight disparities.
constexpr int32_t crossEntryBytes(CrossSums sums) { return sums == CrossSums::kWide ? 24 : 16; }
/// Rows that a column's thread loads ahead. Few warps fit with the rings of wide sums, so each needs more loads in
/// flight; elsewhere the registers would cost more than this gains.
constexpr int32_t crossColumnsAhead(CrossSums sums) { return sums == CrossSums::kWide ? 8 : 4; }
constexpr int32_t kCrossMaxColumnsAhead = 8;
/// Entries of a column's ring beyond a region's reach: rows whose sums are stored before they are needed.
constexpr int32_t crossSpareEntries(CrossSums sums) {
  return sums == CrossSums::kWide ? crossColumnsAhead(sums) - 1 : 0;
}

/// Blocks of 128 threads per multiprocessor that the kernels are compiled for.
constexpr int32_t kCrossRowBlocks = 8;
constexpr int32_t crossColumnBlocks(CrossSums sums) { return sums == CrossSums::kShort ? 5 : 4; }

/// A block may hold a whole row's or column's sums instead of rings (cross_whole.cuh). Per thread: up to this many
/// times four pixels of a row, and this many rows of a column. More would not fit the registers.
constexpr int32_t kCrossWholeFours = 6, kCrossWholeRows = 16, kCrossWholeThreads = 512;
constexpr size_t kCrossWholeTableBytes = 16 * 1024;

/// Tuning affects only speed: results are the same. 0 = chosen.
struct CrossTuning {
  int32_t multiprocessors = 0;  ///< the work will run on this many; 0 = the device's
  int32_t groups = 0;           ///< lanes per pixel, 1 to 32
  int32_t rowSegments = 0, columnSegments = 0;
  int32_t rowThreads = 0, columnThreads = 0;  ///< per block, multiples of 32
  int32_t rowsTogether = -1;                  ///< 0, 1 or -1
  int32_t sums = -1;                          ///< a CrossSums wide enough, or -1
  int32_t whole = -1;   ///< sum of 1: whole rows, 2: whole columns, each where it fits; 0: rings; -1: chosen
  int32_t streams = 0;  ///< 1: both images in one launch; 2: one stream each
  int priority = 0;     ///< of the second stream
};

struct CrossPlan {
  CrossParameters parameters;          ///< armX, armY: the longest of both images, which determines the layout
  int32_t maxX[2] = {}, maxY[2] = {};  ///< longest arms of each image
  int32_t width = 0, height = 0;
  /// Words of four pixels in a row of features or arms: the image, the longest arm, and the words that are read ahead.
  int32_t words = 0;
  int32_t armRows = 0;                    ///< the same for rows of arms down the columns
  int32_t groups = 0, chunks = 0;         ///< groups 0: the arms are too long for the device's shared memory
  int32_t ringRows = 0, ringColumns = 0;  ///< entries of the running sum along a row and down a column
  int32_t rowSegments = 0, rowSegmentPixels = 0, rowThreads = 0;
  bool rowsTogether = false;                     ///< cross_rows.cuh
  bool wholeRows = false, wholeColumns = false;  ///< cross_whole.cuh
  int32_t wholeParts = 1;                        ///< parts of a row's groups
  int32_t columnSegments = 0, columnSegmentRows = 0, columnThreads = 0;
  int32_t columnsPerWarp = 0;
  CrossSums sums = CrossSums::kWide;
  size_t prepareSharedBytes = 0, rowsSharedBytes = 0, columnsSharedBytes = 0;
  int32_t streams = 1;
  size_t sumWords() const { return static_cast<size_t>(width) * height * groups * 4; }  ///< of one image
};

/// Limits of a device.
struct CrossDeviceLimits {
  int32_t multiprocessors;
  size_t sharedBytes;  ///< shared memory per block, bytes
  size_t volumeBytes;  ///< sums along x of both images, bytes
};

namespace crossPlanning {

inline int32_t divided(int32_t value, int32_t by) { return (value + by - 1) / by; }
inline int32_t within(int32_t value, int32_t low, int32_t high) {
  return value < low ? low : (value > high ? high : value);
}

/// Bytes of a running sum along the row, for a lane's eight disparities.
constexpr size_t kRowEntryBytes = 16;
/// Bytes of the keys that a warp of the columns kernel collects.
constexpr size_t kKeyBytes = kCrossKeyRows * kCrossKeyPitch * sizeof(uint32_t);
/// Entries of a row's ring beyond a region's reach, if four steps are stored before the first subtraction.
constexpr int32_t kTogetherEntries = 3;
/// Rings along the rows that leave a scheduler no more warps than this cannot hide their loads: steps are then stored
/// together.
constexpr int32_t kFewWarpsPerScheduler = 3, kSchedulers = 4;
/// Rings that leave a multiprocessor fewer warps than these, of rows and of columns, are slower than whole rows and
/// columns: measured faster at arms of 41 x 61, slower at 21 x 31.
constexpr int32_t kFewRowWarps = 8, kFewColumnWarps = 3;

constexpr int32_t kWarp = 32;
/// Threads of the largest block. kCrossRowBlocks and crossColumnBlocks count blocks of this size.
constexpr int32_t kMaxThreads = 128;
/// The smallest block of rows, less than a warp, for the longest arms that can be planned.
constexpr int32_t kMinRowThreads = 8;
/// The largest number of blocks per multiprocessor, and the shared memory that CUDA reserves for each.
constexpr int32_t kMaxBlocks = 32;
constexpr size_t kReservedBytes = 1024;

/// Each chunk costs two launches, so the number of chunks does not grow once this share of lanes is busy.
constexpr int32_t kBusyPercent = 75;
/// A segment's warm-up is two arms. Shorter than this many arms, or pixels, the warm-up would be most of the segment.
constexpr int32_t kFewestArms = 4, kFewestPixels = 32;

inline bool holds(CrossSums sums, const CrossParameters& p) {
  const int32_t along = kMaxCrossCost * (2 * p.armX + 1);
  if (sums == CrossSums::kShort) return along * (2 * p.armY + 1) < 1 << 15;
  if (sums == CrossSums::kSplit) return along * (p.armY + 1) < 1 << 16;
  return true;
}

/// Returns the narrowest sums that hold the largest region's, or the requested ones if they do.
inline CrossSums chooseSums(const CrossParameters& p, int32_t asked) {
  if (asked >= 0 && holds(static_cast<CrossSums>(asked), p)) return static_cast<CrossSums>(asked);
  for (const CrossSums sums : {CrossSums::kShort, CrossSums::kSplit}) {
    if (holds(sums, p)) return sums;
  }
  return CrossSums::kWide;
}

/// Returns the lanes per pixel. A warp of the columns kernel processes whole pixels, 32 / lanes of them. Takes the
/// fewest chunks that keep kBusyPercent of the lanes busy, or else the number that keeps the most busy.
inline int32_t chooseGroups(int32_t needed, int32_t maxGroups) {
  int32_t best = 1, bestUsed = 0;
  for (int32_t chunks = divided(needed, maxGroups); chunks <= needed; ++chunks) {
    const int32_t groups = divided(needed, chunks);
    const int32_t used =
        100 * needed * (kWarp / groups * groups) / (chunks * groups * kWarp);  // % of lanes with disparities to search
    if (used > bestUsed) best = groups, bestUsed = used;
    if (used >= kBusyPercent) break;
  }
  return best;
}

/// Returns the blocks per multiprocessor. @param byRegisters blocks of kMaxThreads
inline int32_t residentBlocks(int32_t byRegisters, int32_t threads, size_t blockBytes, size_t sharedBytes) {
  const auto byShared = static_cast<int32_t>((sharedBytes + kReservedBytes) / (blockBytes + kReservedBytes));
  return within(byRegisters * kMaxThreads / threads, 1, within(byShared, 1, kMaxBlocks));
}

/// Returns the threads of a block. Long arms allow few threads: it takes smaller blocks if an eighth more threads fit.
inline int32_t chooseThreads(int32_t byRegisters, size_t threadBytes, size_t sharedBytes) {
  int32_t best = kMaxThreads, bestThreads = 0;
  for (int32_t threads = kMaxThreads; threads >= kWarp; threads /= 2) {
    if (threads * threadBytes > sharedBytes) continue;
    const int32_t fit = threads * residentBlocks(byRegisters, threads, threads * threadBytes, sharedBytes);
    if (8 * fit > 9 * bestThreads) best = threads, bestThreads = fit;
  }
  return best;
}

/// Returns the number of segments: all blocks in as few turns as possible, each as short as possible, warm-up included.
/// @param blocks for one segment. @param resident blocks that the device holds
inline int32_t chooseSegments(int32_t length, int32_t blocks, int32_t resident, int32_t arm) {
  const int32_t maxCount = divided(length, kFewestArms * arm > kFewestPixels ? kFewestArms * arm : kFewestPixels);
  int64_t least = -1;
  int32_t best = 1;
  for (int32_t count = 1; count <= maxCount; ++count) {
    const int64_t steps = int64_t{divided(blocks * count, resident)} * (divided(length, count) + 2 * arm);
    if (least < 0 || steps < least) best = count, least = steps;
  }
  return best;
}

/// Makes a plan in steps, each of which needs the previous ones.
class Planner {
 public:
  Planner(const CrossParameters& given, int32_t width, int32_t height, const CrossDeviceLimits& limits,
          const CrossTuning& tuning)
      : limits_(limits), tuning_(tuning) {
    for (int side = 0; side < 2; ++side)
      plan_.maxX[side] = given.sideArmX(side), plan_.maxY[side] = given.sideArmY(side);
    plan_.parameters = given;
    plan_.parameters.armX = given.longestX(), plan_.parameters.armY = given.longestY();
    plan_.width = width, plan_.height = height;
  }

  CrossPlan plan() {
    layOut();
    if (kWarp * columnBytes() + kKeyBytes > limits_.sharedBytes || kMinRowThreads * rowBytes() > limits_.sharedBytes) {
      return plan_;
    }
    planChunks();
    planRows();
    planColumns();
    const bool few = kFewRowWarps * kWarp * rowBytes() > limits_.sharedBytes &&
                     kFewColumnWarps * kWarp * columnBytes() > limits_.sharedBytes;
    if (tuning_.whole > 0 || (tuning_.whole < 0 && few)) planWhole();
    return plan_;
  }

 private:
  /// Returns the bytes of a thread's ring.
  size_t rowBytes() const { return static_cast<size_t>(plan_.ringRows) * kRowEntryBytes; }
  size_t columnBytes() const { return static_cast<size_t>(plan_.ringColumns) * crossEntryBytes(plan_.sums); }
  /// Returns the bytes of a block of columns.
  size_t columnsBytes(int32_t threads) const { return threads * columnBytes() + threads / kWarp * kKeyBytes; }

  void layOut() {
    const CrossParameters& p = plan_.parameters;
    plan_.words = divided(plan_.width + p.armX, 4) + 2;
    plan_.armRows = plan_.height + 2 * p.armY + 2 * kCrossMaxColumnsAhead;
    plan_.prepareSharedBytes =
        static_cast<size_t>(crossTileWords(p.armX)) * 4 * (kCrossTileRows + 2 * (p.armY > 1 ? p.armY : 1));
    plan_.streams = tuning_.streams > 0 ? tuning_.streams : 2;
    plan_.sums = chooseSums(p, tuning_.sums);
    plan_.ringRows = 2 * p.armX + 2;
    plan_.ringColumns = 2 * p.armY + 2 + crossSpareEntries(plan_.sums);
  }

  void planChunks() {
    const size_t laneBytes = static_cast<size_t>(plan_.width) * plan_.height * 2 * kRowEntryBytes;
    const int32_t needed = divided(plan_.parameters.numDisparities, kCrossLaneDisparities);
    const int32_t maxGroups = within(static_cast<int32_t>(limits_.volumeBytes / laneBytes), 1, kWarp);
    plan_.groups =
        within(tuning_.groups > 0 ? tuning_.groups : chooseGroups(needed, maxGroups), 1, within(needed, 1, maxGroups));
    plan_.chunks = divided(needed, plan_.groups);
  }

  void planRows() {
    constexpr size_t kFewThreads = kFewWarpsPerScheduler * kSchedulers * kWarp;
    plan_.rowsTogether =
        tuning_.rowsTogether >= 0 ? tuning_.rowsTogether > 0 : kFewThreads * rowBytes() > limits_.sharedBytes;
    if (kMinRowThreads * (rowBytes() + kTogetherEntries * kRowEntryBytes) > limits_.sharedBytes)
      plan_.rowsTogether = false;
    if (plan_.rowsTogether) plan_.ringRows += kTogetherEntries;
    int32_t threads =
        tuning_.rowThreads > 0 ? tuning_.rowThreads : chooseThreads(kCrossRowBlocks, rowBytes(), limits_.sharedBytes);
    while (threads > kMinRowThreads && threads * rowBytes() > limits_.sharedBytes) threads /= 2;
    plan_.rowThreads = threads;
    plan_.rowsSharedBytes = threads * rowBytes();

    const int32_t blocks = 2 * divided(plan_.height * plan_.groups, threads);
    const int32_t count = segmentCount(tuning_.rowSegments, plan_.width, blocks, kCrossRowBlocks, threads,
                                       plan_.rowsSharedBytes, plan_.parameters.armX);
    plan_.rowSegmentPixels = divided(divided(plan_.width, count), 4) * 4;
    plan_.rowSegments = divided(plan_.width, plan_.rowSegmentPixels);
  }

  void planColumns() {
    const int32_t byRegisters = crossColumnBlocks(plan_.sums);
    int32_t threads = tuning_.columnThreads > 0
                          ? tuning_.columnThreads
                          : chooseThreads(byRegisters, columnBytes() + kKeyBytes / kWarp, limits_.sharedBytes);
    while (threads > kWarp && columnsBytes(threads) > limits_.sharedBytes) threads = threads / 2 / kWarp * kWarp;
    plan_.columnThreads = threads;
    plan_.columnsPerWarp = kWarp / plan_.groups;
    plan_.columnsSharedBytes = columnsBytes(threads);

    const int32_t blocks = 2 * divided(plan_.width, threads / kWarp * plan_.columnsPerWarp);
    const int32_t count = segmentCount(tuning_.columnSegments, plan_.height, blocks, byRegisters, threads,
                                       plan_.columnsSharedBytes, plan_.parameters.armY);
    plan_.columnSegmentRows = divided(plan_.height, count);
    plan_.columnSegments = divided(plan_.height, plan_.columnSegmentRows);
  }

  int32_t segmentCount(int32_t asked, int32_t length, int32_t blocks, int32_t byRegisters, int32_t threads,
                       size_t blockBytes, int32_t arm) const {
    if (asked > 0) return within(asked, 1, length);
    const int32_t resident =
        limits_.multiprocessors * residentBlocks(byRegisters, threads, blockBytes, limits_.sharedBytes);
    return within(chooseSegments(length, blocks, resident, arm), 1, length);
  }

  /// Plans whole rows and columns if they fit: both, or the requested ones.
  void planWhole() {
    // Rows: prefix sums of a warp's lanes, each with a spare entry after its piece to avoid bank conflicts, and the
    // first entry. Two blocks per multiprocessor if the halves of a row's groups fit.
    const int32_t fours = divided(plan_.width, 4 * kWarp);
    const size_t entries = static_cast<size_t>(kWarp) * (4 * fours + 1) + 1;
    const auto rowsBytes = [&](int32_t groups) { return groups * entries * kRowEntryBytes + kCrossWholeTableBytes; };
    const bool halvesFit =
        plan_.groups % 2 == 0 && 2 * (rowsBytes(plan_.groups / 2) + kReservedBytes) <= limits_.sharedBytes;
    plan_.wholeParts = halvesFit ? 2 : 1;
    const int32_t rowGroups = plan_.groups / plan_.wholeParts;
    const bool rowsFit = fours <= kCrossWholeFours && kWarp * plan_.groups <= kCrossWholeThreads &&
                         rowsBytes(rowGroups) <= limits_.sharedBytes;

    // Columns: prefix sums of a column, each piece's total, and the keys, whose pitch is odd because of the banks.
    const bool wide = !holds(CrossSums::kShort, plan_.parameters);
    const size_t entryBytes = crossEntryBytes(wide ? CrossSums::kWide : CrossSums::kShort);
    const int32_t pieces = divided(plan_.height, kCrossWholeRows);
    const size_t cells = static_cast<size_t>(plan_.height + 1) * plan_.groups * entryBytes + 8,
                 keys = static_cast<size_t>(plan_.height) * (plan_.groups | 1) * sizeof(uint32_t),
                 totals = static_cast<size_t>(pieces) * plan_.groups * (wide ? 32 : 16),
                 columnsBytes = cells + (keys > totals ? keys : totals);
    const bool columnsFit = pieces * plan_.groups <= kCrossWholeThreads && columnsBytes <= limits_.sharedBytes;

    plan_.wholeRows = rowsFit && (tuning_.whole > 0 ? (tuning_.whole & 1) != 0 : columnsFit);
    plan_.wholeColumns = columnsFit && (tuning_.whole > 0 ? (tuning_.whole & 2) != 0 : rowsFit);
    if (plan_.wholeRows) {
      plan_.rowThreads = kWarp * rowGroups;
      plan_.rowsSharedBytes = rowsBytes(rowGroups);
    }
    if (plan_.wholeColumns) {
      plan_.sums = wide ? CrossSums::kWide : CrossSums::kShort;
      plan_.columnThreads = pieces * plan_.groups;
      plan_.columnsSharedBytes = columnsBytes;
    }
  }

  const CrossDeviceLimits limits_;
  const CrossTuning tuning_;
  CrossPlan plan_;
};

}  // namespace crossPlanning

inline CrossPlan makeCrossPlan(const CrossParameters& given, int32_t width, int32_t height,
                               const CrossDeviceLimits& limits, const CrossTuning& tuning) {
  return crossPlanning::Planner(given, width, height, limits, tuning).plan();
}

}  // namespace depthwatt
