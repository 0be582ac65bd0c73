// SPDX-License-Identifier: Apache-2.0
// A board in the upper left corner of the room, facing the cameras, that shows the frame number as black and white blocks, so that an
// image identifies its frame. camera/scene/frame-index.ts reads it.
//
//   10 columns x 4 rows inside a black frame half a block wide. Column 0 is white black white black, column 9 the opposite: the
//   reader finds the board by these. Columns 1 to 8 hold 32 bits, row by row, most significant first:
//   (number mod 2^24) << 8 | crc, exclusive or kBoardScramble (so that frame 0 is not a plain surface). White is 1.
//   crc: polynomial 0x07 over the number's three bytes, most significant first, from 0.
#pragma once

#include <cstdint>

namespace depthwatt::scene {

constexpr int kBoardColumns = 10, kBoardRows = 4, kBoardCells = kBoardColumns * kBoardRows;
/// BoardPixel's value for a sub-sample outside the board.
constexpr int kBoardOutside = kBoardCells + 1;
constexpr uint32_t kBoardScramble = 0x5a96c3a5u;
constexpr double kBoardBlack = 22, kBoardWhite = 228;
constexpr double kBoardDepth = 5.0;

struct Board {
  double depth = kBoardDepth;
  double left = 0, top = 0;  ///< metres in the cameras' axes, upper left corner of block (0, 0)
  double cell = 0;           ///< side of a block, metres

  /// Returns the block at a point of the board's plane, kBoardCells on the frame, -1 outside.
  int cellAt(double x, double y) const {
    const double column = (x - left) / cell, row = (y - top) / cell;
    if (column < -0.5 || row < -0.5 || column >= kBoardColumns + 0.5 || row >= kBoardRows + 0.5) return -1;
    if (column < 0 || row < 0 || column >= kBoardColumns || row >= kBoardRows) return kBoardCells;
    return static_cast<int>(row) * kBoardColumns + static_cast<int>(column);
  }
};

/// Returns which blocks are white, bit i = block i.
inline uint64_t boardBits(uint32_t frame) {
  const uint32_t number = frame & 0xffffffu;
  uint32_t crc = 0;
  for (int bit = 23; bit >= 0; --bit) {
    const uint32_t top = (crc >> 7) ^ ((number >> bit) & 1u);
    crc = ((crc << 1) & 0xffu) ^ (top ? 0x07u : 0u);
  }
  const uint32_t word = (number << 8 | crc) ^ kBoardScramble;
  uint64_t bits = 0;
  for (int row = 0; row < kBoardRows; ++row) {
    const int first = row * kBoardColumns;
    bits |= uint64_t{row % 2 == 0} << first;
    bits |= uint64_t{row % 2 == 1} << (first + kBoardColumns - 1);
    for (int column = 0; column < 8; ++column) {
      bits |= uint64_t{(word >> (31 - row * 8 - column)) & 1u} << (first + 1 + column);
    }
  }
  return bits;
}

}  // namespace depthwatt::scene
