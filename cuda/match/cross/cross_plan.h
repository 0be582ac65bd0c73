// SPDX-License-Identifier: Apache-2.0
// How cross-based aggregation is cut into threads on a device: chosen once, at open. README.md has the counts behind it.
//   lane      eight disparities d..d+7 of one eye: four words of two uint16 sums, word i holds d + i (low) and d + 4 + i
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

/// How sums down a column are kept. All give the same result; the narrower, the faster.
enum class CrossSums {
  kShort,  ///< two uint16 a word: every sum is below 2^15
  kSplit,  ///< the same for each half of the arm, above the pixel and below it: every half's sum is below 2^16
  kWide,   ///< one uint32 a disparity
};

/// A matter of speed alone: results are the same. 0 = chosen.
struct CrossTuning {
  int32_t multiprocessors = 0;                    ///< that the work will run on; 0 = the device's
  int32_t groups = 0;                             ///< lanes a pixel, 1 to 32
  int32_t rowSegments = 0, columnSegments = 0;
  int32_t rowThreads = 0, columnThreads = 0;      ///< of a block, multiples of 32
  int32_t sums = -1;                              ///< a CrossSums that holds the sums, or -1
};

struct CrossPlan {
  CrossParameters parameters;
  int32_t width = 0, height = 0;
  int32_t words = 0;        ///< of four pixels, in a row of features
  int32_t groups = 0, chunks = 0;
  int32_t ringRows = 0, ringColumns = 0;  ///< entries of the running sum along a row and down a column: 2 arm + 2
  int32_t rowSegments = 0, rowSegmentPixels = 0, rowThreads = 0;
  int32_t columnSegments = 0, columnSegmentRows = 0, columnThreads = 0;
  int32_t columnsPerWarp = 0, columnSlots = 0;  ///< columnSlots: threads of a block that have a ring
  CrossSums sums = CrossSums::kWide;
  size_t rowsSharedBytes = 0, columnsSharedBytes = 0;
  size_t sumWords() const { return static_cast<size_t>(width) * height * groups * 4; }  ///< of one eye
};

namespace crossPlanning {

inline int32_t divided(int32_t value, int32_t by) { return (value + by - 1) / by; }
inline int32_t within(int32_t value, int32_t low, int32_t high) { return value < low ? low : (value > high ? high : value); }

inline bool holds(CrossSums sums, const CrossParameters& p) {
  const int32_t along = kMaxCrossCost * (2 * p.armX + 1);
  if (sums == CrossSums::kShort) return along * (2 * p.armY + 1) < 1 << 15;
  if (sums == CrossSums::kSplit) return along * (p.armY + 1) < 1 << 16;
  return true;
}

/// Lanes a pixel: a warp of the columns kernel holds whole pixels, so 32 / lanes of them; the fewest idle lanes win, and of
/// equals the most lanes.
inline int32_t chooseGroups(int32_t needed, int32_t most) {
  int32_t best = 1, bestUsed = 0;
  for (int32_t groups = 1; groups <= most; ++groups) {
    const int32_t chunks = divided(needed, groups);
    // Of all lanes that run, in 1/1000: those with disparities of the search.
    const int32_t used = 1000 * needed / (chunks * groups) * (32 / groups * groups) / 32;
    if (used >= bestUsed) best = groups, bestUsed = used;
  }
  return best;
}

}  // namespace crossPlanning

/// sharedLimit: bytes of shared memory that a block may have. volumeLimit: bytes that both eyes' sums along x may have.
inline CrossPlan crossPlanOf(const CrossParameters& p, int32_t width, int32_t height, int32_t multiprocessors,
                             size_t sharedLimit, size_t volumeLimit, const CrossTuning& tuning) {
  using namespace crossPlanning;
  CrossPlan plan;
  plan.parameters = p;
  plan.width = width;
  plan.height = height;
  plan.words = divided(width, 4);
  plan.ringRows = 2 * p.armX + 2;
  plan.ringColumns = 2 * p.armY + 2;

  plan.sums = CrossSums::kWide;
  for (const CrossSums sums : {CrossSums::kSplit, CrossSums::kShort}) {
    if (holds(sums, p)) plan.sums = sums;
  }
  if (tuning.sums >= 0 && holds(static_cast<CrossSums>(tuning.sums), p)) plan.sums = static_cast<CrossSums>(tuning.sums);
  const size_t columnBytes = static_cast<size_t>(plan.ringColumns) * (plan.sums == CrossSums::kWide ? 32 : 16);
  const size_t keyBytes = kCrossKeyRows * kCrossKeyPitch * sizeof(uint32_t);

  // Lanes a pixel, as many as memory and one warp's rings allow.
  const size_t pixelBytes = static_cast<size_t>(width) * height * 2 * 16;
  const int32_t needed = divided(p.numDisparities, kCrossLaneDisparities);
  int32_t most = within(static_cast<int32_t>(volumeLimit / pixelBytes), 1, 32);
  most = within(static_cast<int32_t>((sharedLimit - keyBytes) / columnBytes), 1, most);
  plan.groups = within(tuning.groups > 0 ? tuning.groups : chooseGroups(needed, most), 1, within(needed, 1, most));
  plan.chunks = divided(needed, plan.groups);

  const size_t rowBytes = static_cast<size_t>(plan.ringRows) * 16;
  plan.rowThreads = tuning.rowThreads > 0 ? tuning.rowThreads : 128;
  while (plan.rowThreads > 8 && plan.rowThreads * rowBytes > sharedLimit) plan.rowThreads /= 2;
  plan.rowsSharedBytes = plan.rowThreads * rowBytes;

  plan.columnThreads = tuning.columnThreads > 0 ? tuning.columnThreads : 128;
  while (plan.columnThreads > 32 && plan.columnThreads * columnBytes + plan.columnThreads / 32 * keyBytes > sharedLimit) {
    plan.columnThreads = plan.columnThreads / 64 * 32;
  }
  plan.columnsPerWarp = 32 / plan.groups;
  plan.columnSlots = plan.columnThreads;
  if (plan.columnThreads == 32) {  // one warp: lanes without a ring fit where all 32 would not
    const int32_t fit = within(static_cast<int32_t>((sharedLimit - keyBytes) / columnBytes), plan.groups, 32);
    plan.columnsPerWarp = fit / plan.groups;
    plan.columnSlots = fit;
  }
  plan.columnsSharedBytes = plan.columnSlots * columnBytes + plan.columnThreads / 32 * keyBytes;

  // Segments: enough threads for every multiprocessor, but none so short that its way in is most of it.
  const auto segments = [&](int32_t asked, int32_t length, int32_t lines, int32_t arm) {
    const int32_t threadsWanted = 512 * multiprocessors;
    const int32_t shortest = 4 * arm > 32 ? 4 * arm : 32;
    const int32_t chosen = asked > 0 ? asked : within(divided(threadsWanted, lines), 1, divided(length, shortest));
    return within(chosen, 1, length);
  };
  plan.rowSegments = segments(tuning.rowSegments, width, 2 * height * plan.groups, p.armX);
  plan.rowSegmentPixels = divided(divided(width, plan.rowSegments), 4) * 4;
  plan.rowSegments = divided(width, plan.rowSegmentPixels);
  plan.columnSegments = segments(tuning.columnSegments, height, 2 * width * plan.groups, p.armY);
  plan.columnSegmentRows = divided(height, plan.columnSegments);
  plan.columnSegments = divided(height, plan.columnSegmentRows);
  return plan;
}

}  // namespace depthwatt
