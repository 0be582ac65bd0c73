// SPDX-License-Identifier: Apache-2.0
// Every stage of a frame, one line each, in the order in which they run: the name in settings and times, and the prefix
// of its C++ names. stage.h is the contract, chain.h runs them. To add a stage, add its folder and a line here.
#pragma once

#define DEPTHWATT_STAGES(STAGE)             \
  STAGE(rectify, Rectify)                   \
  STAGE(half, Half)                         \
  STAGE(denoise, Denoise)                   \
  STAGE(average, Average)                   \
  STAGE(match, Match)                       \
  STAGE(speckle, Speckle)                   \
  STAGE(ambiguity, Ambiguity)               \
  STAGE(confidence, Confidence)             \
  STAGE(windowConfidence, WindowConfidence) \
  STAGE(repair, Repair)                     \
  STAGE(fill, Fill)                         \
  STAGE(boundary, Boundary)                 \
  STAGE(median, Median)                     \
  STAGE(slant, Slant)                       \
  STAGE(temporal, Temporal)                 \
  STAGE(upscale, Upscale)                   \
  STAGE(region, Region)                     \
  STAGE(threshold, Threshold)               \
  STAGE(depth, Depth)                       \
  STAGE(points, Points)                     \
  STAGE(voxels, Voxels)                     \
  STAGE(registration, Registration)         \
  STAGE(floor, Floor)                       \
  STAGE(grid, Grid)                         \
  STAGE(encode, Encode)

namespace depthwatt {

enum Stage {
#define DEPTHWATT_ENUMERATOR(name, Name) k##Name##Stage,
  DEPTHWATT_STAGES(DEPTHWATT_ENUMERATOR)
#undef DEPTHWATT_ENUMERATOR
      kStageCount
};

}  // namespace depthwatt
