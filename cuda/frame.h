// SPDX-License-Identifier: Apache-2.0
// The parameters of an engine, and the input and output of a frame. Plain C++14: the plugin's sources include it too.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "../core/pixel_format.h"
#include "../core/status.h"
#include "adaptation.h"
#include "turns.h"
#include "drop_cause.h"
#include "geometry.h"
#include "match/matcher.h"
#include "setting.h"
#include "stages.h"

namespace depthwatt {

struct StageFacts;

/// A rectangle of the rectified images, in pixels. A width of 0 means none.
struct Region {
  int32_t x = 0, y = 0, width = 0, height = 0;
};

/// How a result is encoded for the wire.
enum class Encoding { kNone, kRvl, kRaw };

/// The values of all stages' settings, in the order of stages.h.
struct StageSettings {
  const StageFacts* const* stages = nullptr;  ///< kStageCount entries
  std::vector<const char*> keys;
  std::vector<int32_t> values;
  /// The stored value of a setting (setting.h), kNoSuchSetting if there is none. A search by name: for open, not for frames.
  int32_t at(const char* key) const {
    for (size_t place = 0; place < keys.size(); ++place) {
      if (std::strcmp(keys[place], key) == 0) return values[place];
    }
    return kNoSuchSetting;
  }
};

struct EngineParameters {
  int32_t inputWidth = 0, inputHeight = 0;  ///< captured images
  int32_t width = 0, height = 0;            ///< rectified images and every result
  PixelFormat leftFormat = PixelFormat::kGrey, rightFormat = PixelFormat::kGrey;
  size_t leftStrideBytes = 0, rightStrideBytes = 0;
  std::vector<int32_t> leftMap, rightMap;  ///< rectify.h; both empty: the images are rectified already
  AdaptationParameters adaptation;
  bool halfResolution = false;  ///< match and refine at half the width and height, then double
  Region region;                ///< the only pixels that get results; all others are invalid
  MatcherChoice matcher;
  MatchSearch search;      ///< in pixels of the whole images
  StageSettings settings;  ///< of every stage
  bool hasGeometry = false;
  DepthGeometry geometry;
  bool leftRgb = false;                    ///< the rectified left image in colour is a result too
  bool rightGrey = false;                  ///< the rectified right image is a result too
  Encoding encodeDepth = Encoding::kNone;  ///< kNone or kRvl: raw depth is depthMillimetres itself
  Encoding encodeDisparity = Encoding::kNone;
  bool makesPoints = false;  ///< needs hasGeometry
  PointsParameters points;   ///< with the geometry's values
  bool makesVoxels = false;  ///< needs hasGeometry
  VoxelsParameters voxels;   ///< with the geometry's values
  bool registers = false;    ///< depth in another camera's image; needs hasGeometry
  RegistrationParameters registration;
  bool findsFloor = false;       ///< needs hasGeometry
  FloorSettings floor;           ///< with the geometry's values
  bool makesGrid = false;        ///< needs findsFloor
  GridParameters grid;           ///< with the geometry's values
  std::string backend = "auto";  ///< auto, cpu or cuda
  std::string instructionSet;    ///< "" = the best one
  /// For measuring one stage: it runs this many times in every frame, with the same result, and its time is that of all runs.
  Stage repeatedStage = kStageCount;
  int32_t repetitions = 1;  ///< 1 to 10000
  int32_t threads = 0;      ///< 0 = the process's team, one thread per core
  int32_t rank = 0;         ///< among engines that share a GPU: work of a lower rank goes first; 0 = unranked

  int32_t at(const char* key) const { return settings.at(key); }
};

/// Returns whether the pairs bring their disparity and confidence, so that nothing is matched (match/foreign.h).
inline bool bringsDisparity(const EngineParameters& p) { return p.rightFormat == PixelFormat::kGreyDisparity; }

/// Returns whether the matcher reads an image's colours: 0 left, 1 right.
inline bool needsRgb(const EngineParameters& p, int side) {
  if (bringsDisparity(p)) return false;
  const ImagesNeeded images = p.matcher.facts->images;
  if (images == ImagesNeeded::kGreyAndLeftRgb) return side == 0 || p.at("refine.leftRight") != 0;
  return images == ImagesNeeded::kGreyAndRgb;
}

/// Returns whether the points need the left image's colours.
inline bool needsPointColours(const EngineParameters& p) { return p.makesPoints && p.points.colours; }

/// Returns whether an image's colours are computed: for the matcher, for points, or as a result.
inline bool computesRgb(const EngineParameters& p, int side) {
  return needsRgb(p, side) || (side == 0 && (p.leftRgb || needsPointColours(p)));
}

/// Returns the bytes that are read of a captured image; 0 if the row stride cannot hold the width.
inline size_t inputBytes(const EngineParameters& p, int side) {
  return side == 0 ? sourceBytes(p.inputWidth, p.inputHeight, p.leftStrideBytes, p.leftFormat, computesRgb(p, 0))
                   : sourceBytes(p.inputWidth, p.inputHeight, p.rightStrideBytes, p.rightFormat, computesRgb(p, 1));
}

/// Returns the largest size of a body of this encoding, in bytes.
size_t encodedBound(Encoding encoding, int32_t width, int32_t height);

struct FrameInput {
  const uint8_t* left = nullptr;
  const uint8_t* right = nullptr;
  const uint8_t* registered = nullptr;  ///< the image of the registered camera; null: none belongs to this frame
  bool follows = true;                  ///< false: stages first clear their memory of earlier frames
  uint64_t turn = 0;                    ///< number of frames that were started before this one
  Turns* turns = nullptr;  ///< set if a stage remembers: call pass() as soon as the next frame may be queued
};

/// Memory from which frames will be given to run(), such as a camera's buffers.
struct InputMemory {
  const uint8_t* data = nullptr;
  size_t bytes = 0;
  int dmaBuffer = -1;  ///< descriptor of the DMA buffer that `data` maps, if the driver exported one
};

/// How a captured image reaches the kernels.
enum class InputPath {
  kInPlace,      ///< the CPU reads it
  kUserPointer,  ///< kernels read this process's memory, page-locked and mapped
  kDmaBuffer,    ///< kernels read the driver's memory, imported as a DMA buffer
  kPinnedCopy,   ///< copied from page-locked memory while kernels run
  kPlainCopy,    ///< copied from pageable memory, through the driver's page-locked buffer
};

/// The paths that a frame's images and results took, and what they cost.
struct MemoryPaths {
  InputPath input = InputPath::kInPlace;  ///< of the left image
  bool mapsResults = false;               ///< kernels wrote the results where the caller reads them
  bool timed = false;                     ///< the times are known
  double inputMicroseconds = 0;           ///< device time before the kernels could read both images
  double resultMicroseconds = 0;          ///< device time of copying the results
};

/// The caller's memory, sized by EngineParameters; encoded buffers hold encodedBound() bytes. Null if not requested.
struct FrameOutput {
  uint8_t* left = nullptr;  ///< rectified grey
  Rgb8* leftRgb = nullptr;
  uint8_t* right = nullptr;  ///< rectified grey
  int16_t* disparityQ4 = nullptr;
  uint8_t* confidence = nullptr;
  uint16_t* depthMillimetres = nullptr;
  uint8_t* encodedDepth = nullptr;
  uint8_t* encodedDisparity = nullptr;
  uint8_t* points = nullptr;
  uint8_t* voxels = nullptr;       ///< voxels.h
  uint16_t* registered = nullptr;  ///< depth in another camera's image, and its confidence
  uint8_t* registeredConfidence = nullptr;
  uint8_t* registeredImage = nullptr;  ///< of the registered camera: Rgb8 or grey, written only if the frame has one
  double* floor = nullptr;             ///< [kFloorNumbers]
  uint8_t* grid = nullptr;             ///< [gridCells]
  size_t encodedDepthBytes = 0;
  size_t encodedDisparityBytes = 0;
  int32_t validPixels = 0;
  int32_t matchedPixels = 0;                   ///< pixels whose disparity was matched, not filled
  int32_t droppedPixels[kDropCauses] = {};     ///< pixels that the threshold dropped, by cause
  double stageMilliseconds[kStageCount] = {};  ///< NaN: the stage did not run, or was not timed
  MemoryPaths paths;
};

}  // namespace depthwatt
