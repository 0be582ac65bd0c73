// SPDX-License-Identifier: Apache-2.0
// Layout and memory of one level of coarse-to-fine search, planned at open. README.md explains it.
//   units     eight bytes: one disparity of eight pixels, which are the rows of a tile's column or the columns of a tile's row.
//   cells     a column or row of a tile: its blocks' disparities in rising order, a unit each. d +- 1 is the unit before or after.
//   sweeps    The first one follows the path from the top and keeps its costs at the edges of tile rows. The second one goes from the
//             bottom: in a tile row it follows all four paths, the one from the top from its edge, and selects. So no sums are stored.
//             With two paths, the first sweep follows both and selects.
//   threads   take the next tile row of a sweep and follow the row before, one tile behind.
#pragma once

#include <atomic>

#include "sgm.h"

namespace depthwatt {

constexpr int32_t kUnitBytes = 8;
constexpr int32_t kBlockBytes = kBlockDisparities * kUnitBytes;
constexpr int32_t kMaxTileBlocks = kFullRange / kBlockDisparities;
constexpr int32_t kMaxCellBytes = kMaxTileBlocks * kBlockBytes;
constexpr int32_t kNumberBits = 6;  ///< of a disparity in its tile

struct GuidedPlan {
  SgmParameters parameters;
  int32_t width = 0, height = 0;
  int32_t tilesAcross = 0, tilesDown = 0;
  int32_t tileBlocks = 0;  ///< kGuidedBlocks or, for a complete search, kMaxTileBlocks
  int32_t rowBytes = 0;    ///< a row of a byte a pixel and room for whole registers
  int32_t rightUnits = 0;  ///< of a plane of right columns
  int32_t fieldBytes = 0;
  bool coarse = false;
  bool byteSums = false;               ///< every sum is below 255
  int32_t invalidSum = 0;              ///< above every sum
  const uint8_t* outside = nullptr;    ///< [rightUnits] units: 0xff for right pixels outside the image
  const uint8_t* penalties = nullptr;  ///< [256] P2 by grey difference
  int32_t planes() const { return 4 * parameters.words; }
  int32_t cellBytes() const { return tileBlocks * kBlockBytes; }
};

/// What a tile's blocks mean for its cells.
struct TileSet {
  alignas(64) uint8_t up[kMaxCellBytes];        ///< 0xff for disparities whose d - 1 is not in the tile
  alignas(64) uint8_t down[kMaxCellBytes];      ///< the same for d + 1
  alignas(64) uint8_t absent[kMaxCellBytes];    ///< 0xff beyond the range
  alignas(64) uint8_t excluded[kMaxCellBytes];  ///< 0xff for candidates that may not win
  /// Each disparity's number. Numbers rise with the disparity and differ by one only for neighbours.
  alignas(64) uint8_t numbers[kMaxCellBytes];
  uint8_t disparities[2][1 << kNumberBits];  ///< low and high bytes by number, less minDisparity
  bool hasAbsent, hasExcluded;
  bool isReusable;  ///< for another tile with the same blocks
  uint8_t blocks[kMaxTileBlocks];
};

/// One thread's memory.
struct GuidedScratch {
  TileSet* set = nullptr;
  uint8_t* left = nullptr;       ///< [planes][rowBytes] units: bytes of the left census, by column
  uint8_t* right = nullptr;      ///< [planes][rightUnits] units: of the right census, from the last column on
  uint8_t* along = nullptr;      ///< [rowBytes] units: P2 between columns x - 1 and x
  uint8_t* alongRows = nullptr;  ///< [8][rowBytes] the same by row
  uint8_t* down = nullptr;       ///< [9][rowBytes] P2 between rows y - 1 and y
  uint8_t* line = nullptr;       ///< [tilesAcross][2][8] cells of columns: costs and sums of excesses.
  uint8_t* rows = nullptr;     ///< [3][8] cells of a tile's rows: costs, sums of excesses along rows, and along columns
  uint8_t* field = nullptr;    ///< units of all disparities, 0xff between two uses
  uint8_t* tail = nullptr;     ///< [8] ends of rows
  uint16_t* picked = nullptr;  ///< [5][8][rowBytes] winner, below, best, above, second
  uint32_t* rightBest = nullptr;  ///< [rowBytes] smallest sum and disparity of a right row
};

struct GuidedFrame {
  SgmImages images;
  SgmResult result;
  CoarseVotes votes;
  const uint8_t* blocks = nullptr;           ///< [tilesDown][tilesAcross][tileBlocks], rising
  uint8_t* edges = nullptr;                  ///< [tilesDown][tilesAcross] cells: costs of the path from the top
  uint8_t* edge = nullptr;                   ///< [tilesAcross] cells: costs of the path from the bottom
  std::atomic<int32_t>* progress = nullptr;  ///< [tilesDown] tiles done
};

using GuidedSweep = void (*)(const GuidedPlan& plan, const GuidedFrame& frame, int32_t tileRow,
                             const GuidedScratch& scratch);

enum class GuidedPass { kEdges, kTwoPaths, kFourPaths };

struct GuidedKernels {
  GuidedSweep (*chooseGuidedSweep)(const GuidedPlan& plan, GuidedPass pass);
};

}  // namespace depthwatt
