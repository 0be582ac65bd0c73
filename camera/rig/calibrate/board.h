// SPDX-License-Identifier: Apache-2.0
// Finds a calibration board in one image.
#pragma once

#include <cstdint>
#include <vector>

#include "lattice.h"

namespace depthwatt::calibrate {

enum class Pattern { kChessboard, kCircles, kCharuco };

struct BoardSpec {
  Pattern pattern = Pattern::kChessboard;
  /// Chessboard: inner corners. Asymmetric circles: circles a row, and rows (OpenCV's findCirclesGrid). ChArUco:
  /// squares. 0: unknown (chessboard only); the largest full rectangle of corners is returned.
  int32_t columns = 0, rows = 0;
  int32_t dictionary = 0;  ///< ChArUco: index in dictionaries.h
  double markerShare = 0;  ///< ChArUco: side of a marker in squares
};

/// Why no board was found.
enum class Absence { kNone, kNothing, kIncomplete, kTooSmall, kOtherSize, kOutOfOrder };

struct BoardPoint {
  int32_t id = 0;  ///< row * columns + column
  double x = 0, y = 0;
};

struct Detection {
  Absence absence = Absence::kNothing;
  int32_t columns = 0, rows = 0;  ///< as found; 0 if nothing was
  int32_t missing = 0;            ///< corners of the best placement that were not found
  std::vector<BoardPoint> points;
  /// Standard deviation of the blur across edges that run along the rows and along the columns of the board, pixels; 0: unknown.
  double blurAlongRows = 0, blurAlongColumns = 0;
  double contrast = 0;  ///< median step between dark and bright, grey levels
};

/// Finds the board. In pixel coordinates the first pixel's centre is at 0.
Detection detectBoard(const ImageView<const uint8_t>& image, const BoardSpec& spec);

/// Finds the inner corners of a chessboard, or of the largest one if the size is unknown (chessboard.cc).
Detection detectChessboard(const Plane& image, const BoardSpec& spec);

/// Finds asymmetric circles, dark on a bright board (circles.cc).
Detection detectCircles(const Plane& image, const BoardSpec& spec);

/// Finds the inner corners of a chessboard whose bright squares hold markers (charuco.cc).
Detection detectCharuco(const Plane& image, const BoardSpec& spec);

/// Returns the lattices of one image at the scale that shows them best, in the image's own pixels, the largest first.
std::vector<Lattice> findLattices(const Plane& image, int scale, size_t least);

/// Moves every corner of the lattice to its final place and drops those that do not settle. Half the window is at most
/// `windowShare` of the spacing.
void refineLattice(const Plane& image, Lattice& lattice, double windowShare = 0.36);

/// Fills blurAlongRows, blurAlongColumns and contrast (blur.cc).
void measureBlur(const Plane& image, const Lattice& lattice, Detection& detection);

}  // namespace depthwatt::calibrate
