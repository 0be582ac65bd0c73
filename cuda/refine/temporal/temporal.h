// SPDX-License-Identifier: Apache-2.0
// A disparity that is steady over time: where nothing moves, a pixel's disparity is averaged with those of the frames before.
//   b       grey of the 3 x 3 pixels around, in 1/16: floor((16 sum + 4) / 9)
//   moved   a remembered pixel with |b - reference| > kMovedQ4
//   reset   of a frame: 8 moved > pixels; of a tile of 8 x 8: it or one of its 8 neighbours has kTileMoved or more
// Per pixel, with z = 16 disparityQ4, n = frames in the mean, e = z - mean (all in 1/256 px):
//   reset, or n = 0   mean = z, n = 1, misses = 0, reference = b; z invalid: n = 0
//   z invalid         the result is the mean
//   |e| <= kGateQ8    mean += e / (n + 1), half away from 0; n = min(n + 1, kTemporalFrames); misses = 0;
//                     reference += (b - reference) / 4, toward 0
//   else              misses += 1; where that makes kTemporalMisses: as after a reset
//   result            floor((mean + 8) / 16); invalid where n = 0
// in   grey [height][width] uint8, of the images that were matched
// i/o  disparityQ4 [height][width] int16, in place, kInvalidDisparity = none; the state, see TemporalState
// edge border pixels replicated; tiles at the right and lower edge are smaller.   same bits on every backend: integer only.
// Not from the papers: README.md says why each limit is what it is.
#pragma once

#include "../../../core/image.h"

namespace depthwatt {

constexpr int32_t kTemporalFrames = 8;  ///< at most in a mean: a new frame counts at least 1/9
constexpr int32_t kTemporalMisses = 3;  ///< so many frames in a row beyond the gate are believed
constexpr int32_t kGateQ8 = 256;
constexpr int32_t kMovedQ4 = 64;
constexpr int32_t kTemporalTile = 8;  ///< pixels, each way
constexpr int32_t kTileMoved = 4;
constexpr int32_t kFrameShare = 8;  ///< more than one moved pixel in so many: everything is reset

constexpr int32_t temporalTiles(int32_t pixels) { return (pixels + kTemporalTile - 1) / kTemporalTile; }

/// What is remembered, five bytes a pixel, images of the disparity's size. All zeros: nothing.
struct TemporalState {
  ImageView<int16_t> mean;       ///< floor(mean / 16): 1/16 px
  ImageView<uint8_t> weight;     ///< n << 4 | mean & 15
  ImageView<int16_t> reference;  ///< misses << 12 | reference
};

/// b of one pixel.
constexpr int32_t temporalGrey(int32_t sumOfNine) { return (16 * sumOfNine + 4) / 9; }

void temporalReference(ImageView<const uint8_t> grey, ImageView<int16_t> disparityQ4, const TemporalState& state);

/// Moved pixels of each tile: rows [firstTileRow, endTileRow) of moved [tiles down][tiles across], 0 to 64.
using TemporalMovedRows = void (*)(ImageView<const uint8_t> grey, const TemporalState& state, ImageView<uint8_t> moved,
                                   int32_t firstTileRow, int32_t endTileRow);
/// Rows [firstRow, endRow). resetAll: of the frame. moved: of all tiles.
using TemporalMeanRows = void (*)(ImageView<const uint8_t> grey, ImageView<int16_t> disparityQ4,
                                  const TemporalState& state, ImageView<const uint8_t> moved, bool resetAll,
                                  int32_t firstRow, int32_t endRow);
struct TemporalKernels {
  TemporalMovedRows moved;
  TemporalMeanRows mean;
};

/// Whether a frame with so many moved pixels in its tiles is reset as a whole.
inline bool resetsFrame(ImageView<const uint8_t> moved, int32_t width, int32_t height) {
  int64_t count = 0;
  for (int32_t y = 0; y < moved.height; ++y) {
    for (int32_t x = 0; x < moved.width; ++x) count += moved.row(y)[x];
  }
  return kFrameShare * count > int64_t{width} * height;
}

/// Whether a tile is reset by what moved in it or beside it.
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
