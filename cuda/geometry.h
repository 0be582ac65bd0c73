// SPDX-License-Identifier: Apache-2.0
// Geometry of a rectified pair, from which depth and points are computed. Plain C++14: the plugin's sources include it too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "../core/pixel_format.h"

namespace depthwatt {

struct DepthGeometry {
  double focalPixels = 0;            ///< above 0
  double baselineMetres = 0;         ///< above 0
  double disparityOffsetPixels = 0;  ///< cx_right - cx_left, added to every disparity
};

enum class PointFrame { kCamera, kRobot };
enum class PointElement { kF32, kI16 };

struct PointsParameters {
  double focalPixels = 0;            ///< above 0
  double baselineMetres = 0;         ///< above 0
  double disparityOffsetPixels = 0;  ///< cx_right - cx_left, added to every disparity
  double cx = 0, cy = 0;             ///< principal point of the rectified left image, pixels
  PointFrame frame = PointFrame::kCamera;
  PointElement element = PointElement::kF32;
  bool colours = false;
  bool fromRegistered = false;  ///< the colours are those of the registered camera's image
};

/// Voxels of a cloud; see output/voxels/voxels.h.
struct VoxelsParameters {
  double focalPixels = 0;            ///< above 0
  double baselineMetres = 0;         ///< above 0
  double disparityOffsetPixels = 0;  ///< cx_right - cx_left, added to every disparity
  double cx = 0, cy = 0;             ///< principal point of the rectified left image, pixels
  PointFrame frame = PointFrame::kCamera;
  int32_t sizeMillimetres = 50;  ///< edge of the smallest voxel
  double uncertaintyPixels = 0;  ///< of a disparity; 0: all voxels have the same size
};

/// Another camera, into whose image depth is registered; see output/registration/registration.h.
struct RegistrationParameters {
  int32_t width = 0, height = 0;  ///< of its image, pixels
  double matrix[12] = {};     ///< row-major 3x4: (x, y, 1, disparity) to its ideal image; row 3 is depth / left depth
  double focalPixels = 0;     ///< above 0
  double baselineMetres = 0;  ///< above 0
  double disparityOffsetPixels = 0;  ///< cx_right - cx_left, added to every disparity
  bool fill = false;
  int32_t gridX = 0, gridY = 0, gridWidth = 0, gridHeight = 0;  ///< the lens grid, 1/32 px and nodes
  std::vector<int32_t> grid;                                    ///< empty: no distortion
  bool hasImage = false;                                        ///< frames bring the camera's image, as it was captured
  PixelFormat format = PixelFormat::kGrey;
  size_t strideBytes = 0;
};

/// The plane a x + b y + c = disparityQ4 * 65536, x and y in pixels from (width / 2, height / 2), both rounded down.
struct FloorPlane {
  int64_t a = 0, b = 0, c = 0;
};

/// The floor; see output/floor/floor.h.
struct FloorSettings {
  double focalPixels = 0;            ///< above 0
  double baselineMetres = 0;         ///< above 0
  double disparityOffsetPixels = 0;  ///< cx_right - cx_left, added to every disparity
  double cx = 0, cy = 0;             ///< principal point of the rectified left image, pixels
  bool isSet = false;                ///< the floor is `plane`: it is not estimated
  FloorPlane plane;
};

/// The numbers of the floor of a frame. The filtered floor is there if kFloorIsThere is not 0.
enum FloorNumber {
  kFloorOutcome,
  kFloorA,
  kFloorB,
  kFloorC,
  kFloorKnown,
  kFloorOn,
  kFloorBelow,
  kFloorUnder,
  kFloorSquares,
  kFloorIsThere,
  kFloorFilteredA,
  kFloorFilteredB,
  kFloorFilteredC,
  kFloorNumbers
};

/// The grid of the floor; see output/grid/grid.h.
struct GridParameters {
  double focalPixels = 0, baselineMetres = 0, disparityOffsetPixels = 0, cx = 0, cy = 0;
  double cellMetres = 0.05;
  int32_t aheadCells = 0, leftCells = 0;  ///< leftCells / 2 of them to the left
  double obstacleMetres = 0, tallMetres = 0, dropMetres = 0;
  double errorPixels = 0;  ///< of a disparity: the heights grow with it
  int32_t minPixels = 1, stepX = 1;
};

inline size_t gridCells(const GridParameters& p) {
  return static_cast<size_t>(p.aheadCells) * static_cast<size_t>(p.leftCells);
}

inline size_t pointBytes(const PointsParameters& p) {
  if (p.element == PointElement::kF32) return 16;
  return p.colours ? 10 : 8;
}

}  // namespace depthwatt
