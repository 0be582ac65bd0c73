// SPDX-License-Identifier: Apache-2.0
// A pair of cameras in a moving room: images as two real sensors would record them, and their exact disparity. The same
// frame number gives the same bytes on every machine: IEEE double with + - * / and sqrt in a fixed order
// (-ffp-contract=off, no libm), and integers from the first grey value on.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "../../core/status.h"
#include "board.h"
#include "world.h"

namespace depthwatt::scene {

/// One camera. x_camera = rotation x_scene; lens after OpenCV's plumb_bob (k1 k2 p1 p2 k3).
struct Camera {
  double fx = 0, fy = 0, cx = 0, cy = 0;  ///< pixels, centre of the first pixel = 0
  double distortion[5] = {0, 0, 0, 0, 0};
  double rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};  ///< row-major
  double offsetMetres = 0;                           ///< to the right of the scene's origin
  double gain = 1;
  double offsetGrey = 0;
  double vignetting = 0;  ///< loss of light per squared normalised radius
};

struct SceneOptions {
  int32_t width = 640, height = 480;  ///< 16 to 16384 pixels
  uint32_t seed = 1;
  double noiseGrey = 1.2;    ///< standard deviation in the dark, grey levels, 0 to 8; 1.8 times that in white
  int32_t cellPixels = 8;    ///< side of a block of the frame number's board, pixels of the ideal view
  double focalPixels = 520;  ///< of the ideal view that the board is laid out in
  double baselineMetres = 0.12;
  RoomKind room = RoomKind::kFurnished;
  Pose pose;
  bool colours = false;  ///< three bytes a pixel, red first, instead of one grey byte
  Camera cameras[2];
};

/// The ideal view of the truth: a pinhole pair, unrotated, with equal principal points.
struct IdealView {
  int32_t width = 0, height = 0;
  double focalPixels = 0, cx = 0, cy = 0;
};

/// Where another camera is: x_camera = rotation (x_pair - centre), in the axes of the unrotated left camera.
struct OtherPose {
  double rotation[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};  ///< row-major
  double centre[3] = {0, 0, 0};                      ///< metres
};

class Scene {
 public:
  /// Returns open()'s error for invalid options, without opening.
  static Status check(const SceneOptions& options);

  /// Paints the textures and everything static: a third of a second of CPU time at 640x480, on two threads.
  Status open(const SceneOptions& options);

  /// Makes an open() on another thread end soon, with a failure.
  void cancel() { cancelled_ = true; }

  /// Draws one image of a frame, u8 [height][width], in colours [height][width][3]. Not reentrant for one side; both
  /// sides may run at once.
  void render(uint32_t frame, int side, uint8_t* out);

  /// Computes disparity in pixels, [height][width], of the ideal view of `side` (0 left, 1 right): focalPixels *
  /// baseline / Z. @param visible 255 where the other camera sees the same point inside its image, else 0. Reentrant.
  void truth(uint32_t frame, int side, const IdealView& view, float* disparity, uint8_t* visible) const;

  /// Computes the depth along the optical axis that a camera sees in each of its rays, metres. Reentrant.
  /// @param rays x and y of each ray at depth 1, in the camera's axes
  void depthAlong(uint32_t frame, const OtherPose& pose, const double* rays, size_t count, float* depth) const;

  int32_t width() const { return options_.width; }
  int32_t height() const { return options_.height; }

 private:
  struct Direction {
    float u, v;
  };
  struct Tile {
    Vec axis;           ///< unit direction of its middle
    double spread = 0;  ///< largest distance of a corner's unit direction from it
    Vec middle;         ///< of the static points seen in it
    double reach = 0;   ///< radius of the sphere around them
  };
  struct BoardPixel {
    uint32_t index;
    uint8_t cells[4];    ///< block under each of its four sub-samples; kBoardCells = the frame around the blocks
    uint16_t light[2];   ///< stored light of black and of white
    uint16_t around[3];  ///< of the surface around the board, each channel
  };
  struct CameraState {
    std::vector<Direction> corners;  ///< [height + 1][width + 1] rays through pixel corners
    std::vector<uint16_t> still;     ///< light x 64 of each channel, of everything static
    std::vector<float> depth;        ///< Z of the same, at pixel centres
    std::vector<Tile> tiles;
    std::vector<BoardPixel> board;
    std::vector<uint16_t> band;  ///< kTile rows being drawn
  };

  void castCorners(int side);
  /// Returns the objects visible in each tile of kTile x kTile pixels, row by row.
  std::vector<ObjectSet> visibleInTiles(int side) const;
  void bake(int side);
  void layTiles(int side);
  void layBoard(int side);
  void writeBoard(uint32_t frame, int side);
  void drawShadows(const CameraState& state, const Vec& origin, const ObjectList& movers, uint32_t mask, int32_t x0,
                   int32_t y0, uint16_t* band) const;
  void drawMovers(int side, const ObjectList& movers, uint32_t mask, int32_t x0, int32_t y0, uint16_t* band) const;
  uint16_t stored(int side, double grey, double u, double v) const;
  int channels() const { return options_.colours ? 3 : 1; }
  /// Returns the share of an object's light in a channel: 1 in grey.
  double tintAt(const Object& object, int channel) const { return options_.colours ? object.tint[channel] : 1; }
  Vec cameraOrigin(int side) const { return options_.pose.origin(options_.cameras[side].offsetMetres); }

  Board board() const;

  SceneOptions options_;
  std::atomic<bool> cancelled_{false};
  std::shared_ptr<const Textures> textures_;
  ObjectList room_;
  CameraState cameras_[2];
  std::vector<int8_t> noise_;
};

}  // namespace depthwatt::scene
