// SPDX-License-Identifier: Apache-2.0
// The points of a frame on the CPU, from what the backend has left in memory: for backends that make none.
#pragma once

#include <vector>

#include "../../core/workers.h"
#include "backend.h"
#include "../output/points/points.h"

namespace depthwatt {

struct Kernels;

/// One frame at a time. Throws std::bad_alloc and std::system_error where it is made.
class PointCloud {
 public:
  PointCloud(const EngineParameters& parameters, const Kernels& kernels);
  /// output.points from its disparity and its left image; colours come from input, by the map that the frame was read by (null: as opened).
  void make(const FrameInput& input, const FrameOutput& output, const int32_t* movedLeftMap);
  size_t workspaceBytes() const { return rgb_.size() * sizeof(Rgb8) + plan_.columns.size() * sizeof(float); }

 private:
  const EngineParameters& p_;
  const Kernels& kernels_;
  const PointsPlan plan_;
  Workers workers_;
  std::vector<Rgb8> rgb_;  ///< the left image in colours, where they are asked for
};

}  // namespace depthwatt
