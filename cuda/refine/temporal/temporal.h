// SPDX-License-Identifier: Apache-2.0
// Averages each pixel's disparity over the last frames, except where something moves.
//   b       grey of the 3 x 3 pixels around, in 1/16: floor((16 sum + 4) / 9)
//   moved   a remembered pixel with |b - reference| > kMovedQ4
//   reset   of a frame: 8 moved > pixels; of a tile of 8 x 8: it or one of its 8 neighbours has kTileMoved or more
// For each pixel, with z = 16 disparityQ4, n = frames in the mean, e = z - mean (disparities in 1/256 px):
//   reset, or n = 0   mean = z, n = 1, misses = 0, reference = b; z invalid: n = 0
//   z invalid         the result is the mean
//   |e| <= kGateQ8    mean += e / (n + 1), half away from 0; n = min(n + 1, kTemporalFrames); misses = 0;
//                     reference += (b - reference) / 4, toward 0
//   else              misses += 1; at kTemporalMisses the pixel is reset
//   result            floor((mean + 8) / 16); invalid where n = 0
// in   grey [height][width] uint8, of the images that were matched
// i/o  disparityQ4 [height][width] int16, in place, kInvalidDisparity = none; the state, see TemporalState
// edge border pixels replicated; tiles at the right and lower edge are smaller.   same bits on every backend: integer only.
// Source: none of the papers. README.md gives the reason for each limit.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kTemporalFrames = 8;  ///< maximum weight of the mean: a new frame has a weight of at least 1/9
constexpr int32_t kTemporalMisses = 3;  ///< a disparity beyond the gate is accepted after this many frames in a row
constexpr int32_t kGateQ8 = 256;
constexpr int32_t kMovedQ4 = 64;
constexpr int32_t kTemporalTile = 8;  ///< pixels, each way
constexpr int32_t kTileMoved = 4;
constexpr int32_t kFrameShare = 8;  ///< the frame is reset if more than 1 / kFrameShare of its pixels moved

constexpr int32_t temporalTiles(int32_t pixels) { return (pixels + kTemporalTile - 1) / kTemporalTile; }

/// State between frames, five bytes a pixel, in images of the disparity's size. All zeros is the empty state.
struct TemporalState {
  ImageView<int16_t> mean;       ///< floor(mean / 16): 1/16 px
  ImageView<uint8_t> weight;     ///< n << 4 | mean & 15
  ImageView<int16_t> reference;  ///< misses << 12 | reference
};

/// Returns b from the sum of nine grey levels.
constexpr int32_t temporalGrey(int32_t sumOfNine) { return (16 * sumOfNine + 4) / 9; }

void temporalReference(ImageView<const uint8_t> grey, ImageView<int16_t> disparityQ4, const TemporalState& state);

/// Counts the moved pixels of each tile, 0 to 64, into rows [firstTileRow, endTileRow) of moved [tiles down][tiles across].
using TemporalMovedRows = void (*)(ImageView<const uint8_t> grey, const TemporalState& state, ImageView<uint8_t> moved,
                                   int32_t firstTileRow, int32_t endTileRow);
/// Updates state and disparity of rows [firstRow, endRow). resetAll: resetsFrame(). moved: the counts of all tiles.
using TemporalMeanRows = void (*)(ImageView<const uint8_t> grey, ImageView<int16_t> disparityQ4,
                                  const TemporalState& state, ImageView<const uint8_t> moved, bool resetAll,
                                  int32_t firstRow, int32_t endRow);
struct TemporalKernels {
  TemporalMovedRows moved;
  TemporalMeanRows mean;
};

/// Returns whether the whole frame is reset, from the moved pixels of its tiles.
inline bool resetsFrame(ImageView<const uint8_t> moved, int32_t width, int32_t height) {
  int64_t count = 0;
  for (int32_t y = 0; y < moved.height; ++y) {
    for (int32_t x = 0; x < moved.width; ++x) count += moved.row(y)[x];
  }
  return kFrameShare * count > int64_t{width} * height;
}

/// Returns whether a tile is reset because enough pixels moved in it or in an adjacent tile.
inline bool resetsTile(ImageView<const uint8_t> moved, int32_t tileX, int32_t tileY) {
  for (int32_t y = tileY - 1; y <= tileY + 1; ++y) {
    for (int32_t x = tileX - 1; x <= tileX + 1; ++x) {
      const bool inside = y >= 0 && y < moved.height && x >= 0 && x < moved.width;
      if (inside && moved.row(y)[x] >= kTileMoved) return true;
    }
  }
  return false;
}

}  // namespace depthwatt
