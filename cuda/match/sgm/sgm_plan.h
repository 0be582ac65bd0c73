// SPDX-License-Identifier: Apache-2.0
// The matcher's layout, planned once at open: cells in vectors, blocks and memory. README.md explains it.
//   stripes   disparity d = v + stripes * j is in vector v (0..stripes-1), byte j (0..15): d +- 1 is the vector before or after, and
//             the smallest over d is a minimum of vectors before it is one of bytes.
//   groups    a vector is `groups` 16-byte groups, one per row of a block of that many rows. Row i of a block runs two pixels behind
//             row i - 1, so that in one sweep its predecessors above it, diagonal ones too, are already computed.
//   sides     the down side sweeps blocks from the top, left to right; the up side from the bottom, right to left. Each computes half
//             of the directions: they meet in the middle, and in the other's half each adds its sums and selects.
#pragma once

#include <atomic>

#include "../cost/hamming.h"
#include "sgm.h"

namespace depthwatt {

/// Path costs are stored unchanged, and with them `ceiling` - m, so that one saturating addition subtracts m and clamps
/// at p2.
struct SgmPlan {
  SgmParameters parameters;
  int32_t width = 0, height = 0;
  int32_t groups = 0;      ///< rows of a block
  int32_t stripes = 0;     ///< vectors per pixel
  int32_t stripeBits = 0;  ///< bits of a stripe's number
  /// 1: cells of 8 bits, if p2 <= kMaxNarrowP2 and the instruction set has them; 2: cells of 16 bits in twice as many
  /// vectors.
  int32_t halves = 1;
  int32_t partials = 1;  ///< bytes for a side's sum of excesses
  int32_t ceiling = 0;   ///< 255 - p2 or 65535 - p2
  int32_t steps = 0;     ///< of one sweep: the width and the last row's lag
  int32_t blocks = 0;
  int32_t invalidSum = 0;             ///< larger than every sum
  const uint32_t* outside = nullptr;  ///< [-1..steps) by place: byte g is 0xff where row g has no such pixel
  const uint8_t* padding = nullptr;   ///< [stripes][halves] vectors: 0xff where d >= numDisparities
  /// [stripes] vectors of 16-bit values: a key's stripe, less paths (p2 + 1) in the sum above it, which corrects for
  /// costs that were reduced by the ceiling as bytes.
  const uint8_t* numbers = nullptr;
  /// [d + 1] for d = -1..numDisparities: a key's offset; both ends give an invalid key.
  const int32_t* cellOffset = nullptr;
  /// Returns the planes of the ring: the bytes of the words, then the mask of pixels outside.
  int32_t planes() const { return 4 * parameters.words + 1; }
  bool padded() const { return parameters.numDisparities != 16 * stripes; }
  size_t vectorBytes() const { return static_cast<size_t>(groups) * 16; }
  /// Returns the bytes of one pixel's path costs in one direction, with their `ceiling` - m.
  size_t entryBytes() const { return static_cast<size_t>(stripes + 1) * halves * 16; }
  size_t stepBytes() const { return vectorBytes() * stripes * halves * partials; }
};

constexpr int32_t kMaxNarrowP2 = 127;
constexpr int32_t kVertical = 0, kBehind = 1, kAhead = 2;
/// Free entries before and after a row of path costs, for pixels outside the image.
constexpr int32_t kRowMargin = 16;
/// Steps between two reports to the following thread, and between moves of recent steps to the front of their memory.
/// At least the largest number of stripes.
constexpr int32_t kRunSteps = 32;

/// Path costs of the row above (down side) or below (up side) the next block, [position][stripe][half] groups.
struct SgmSide {
  uint8_t* rows[3] = {nullptr, nullptr, nullptr};  ///< each at position 0 of the sweep
  std::atomic<int32_t>* progress = nullptr;        ///< [blocks] steps done
};

/// One thread's memory for one block; the plan gives all sizes.
struct SgmScratch {
  uint32_t* leftWords = nullptr;      ///< [steps][groups] by place: pixel x of row g is at place x + 2 g
  uint32_t* rightWords = nullptr;     ///< the same, from place -1 on
  uint32_t* moreLeftWords = nullptr;  ///< the second words, in the same layout
  uint32_t* moreRightWords = nullptr;
  uint16_t* penalties = nullptr;  ///< [4][groups][width] ceiling + P2, adaptive only
  uint8_t* ring = nullptr;        ///< [stripes + kRunSteps][planes] vectors: right census planes and outside, by step
  uint8_t* slots[3] = {nullptr, nullptr, nullptr};  ///< [1 << kSlotBits][stripes + 1][halves] pairs of vectors
  uint8_t* keys = nullptr;                          ///< [kKeptSteps][stripes * 2 + 1] vectors, by step
  uint8_t* columns = nullptr;                       ///< [kKeptSteps][2] vectors, by step
  uint8_t* rightKeys = nullptr;                     ///< [stripes + kRunSteps][2] vectors, by step
  uint8_t* rightBest = nullptr;                     ///< [stripes][2] vectors: keys
  uint8_t* rightFirst = nullptr;     ///< [stripes][2] vectors: the first disparity of those keys' columns
  uint16_t* leavingBest = nullptr;   ///< [steps][groups]: keys of the right pixels that are complete
  uint16_t* leavingFirst = nullptr;  ///< [steps][groups]
  Picked picked;
  uint16_t* seconds = nullptr;   ///< [steps][groups]: keys of S2 (wide cells: S2)
  uint16_t* rightRow = nullptr;  ///< [2][groups][width]: wide cells only
};

constexpr int32_t kSlotBits[3] = {1, 2, 1};
/// Steps whose keys are kept: four are decided together while the next four arrive.
constexpr int32_t kKeptSteps = 8;

struct SgmFrame {
  SgmImages images;
  SgmResult result;
  /// [blocks][steps] in the reading side's steps: the sums of the first half of each side's work.
  uint8_t* sums = nullptr;
  SgmSide sides[2];
};

using SgmSweep = void (*)(const SgmPlan& plan, const SgmFrame& frame, int32_t block, const SgmScratch& scratch);

/// Yields the CPU.
void sgmYield();

/// The sweeps of one instruction set.
struct SgmKernels {
  int32_t groups = 0;
  bool byteCells = true;  ///< false: all cells have 16 bits
  /// @param up the side. @param selects adds the other side's sums (or none, for two paths) and writes the result;
  /// otherwise it stores its own sums
  SgmSweep (*chooseSweep)(const SgmPlan& plan, bool up, bool selects) = nullptr;
};

}  // namespace depthwatt
