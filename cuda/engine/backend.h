// SPDX-License-Identifier: Apache-2.0
// What the engine asks of whatever computes: parameters, the stages in their order, frames in and out. Everything is made when
// a backend is opened; run() allocates nothing. Plain C++14: the plugin's sources include it too.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../rectify/rectify.h"
#include "../output/depth/depth.h"
#include "../match/matcher.h"
#include "../output/points/points.h"
#include "../refine/fill/fill.h"
#include "../refine/upscale/upscale.h"
#include "../refine/window_confidence/window_confidence.h"
#include "../refine/speckle/speckle.h"
#include "../../core/status.h"
#include "adaptation.h"

namespace depthwatt {

/// In the order of STAGE_NAMES in binding/native.ts.
enum Stage {
  kRectify,
  kHalf,
  kMatch,
  kSpeckle,
  kConfidence,
  kFill,
  kBoundary,
  kMedian,
  kUpscale,
  kRegion,
  kDepth,
  kEncode,
  kStageCount,
};

/// A rectangle of the rectified images, pixels; a width of 0 is none.
struct Region {
  int32_t x = 0, y = 0, width = 0, height = 0;
};

/// How a stage's image is encoded for the wire.
enum class Encoding { kNone, kRvl, kRaw };

constexpr int32_t kMaxRounds = 4;

struct EngineParameters {
  int32_t inputWidth = 0, inputHeight = 0;  ///< captured images
  int32_t width = 0, height = 0;            ///< rectified images and every result
  PixelFormat leftFormat = PixelFormat::kGrey, rightFormat = PixelFormat::kGrey;
  size_t leftStrideBytes = 0, rightStrideBytes = 0;
  AdaptationParameters adaptation;
  std::vector<int32_t> leftMap, rightMap;  ///< rectify.h; both empty = rectified already
  bool halfResolution = false;  ///< matches and refines at half the width and height, then doubles: match_scope.h
  /// The only pixels that get results: all others are invalid, and what only they need is not computed (match_scope.h).
  Region region;
  MatcherChoice matcher;
  MatchSearch search;     ///< in pixels of the whole images
  bool leftRight = true;  ///< the check of refine/left_right, which a matcher calls for
  SpeckleParameters speckle;
  bool measuresConfidence = false;  ///< by `measure`, instead of as a probability
  ConfidenceMeasure measure = ConfidenceMeasure::kPeakRatio;
  bool repair = false;                               ///< refine/repair, behind the confidence
  FillParameters fill;                               ///< lowestQ4 and highestQ4 follow from search
  int32_t upscaleThresholdQ4 = kUpscaleThresholdQ4;  ///< of half pixels (refine/upscale)
  bool boundary = true;
  bool median = true;
  int32_t rounds = 1;  ///< of boundary and median, where both are on: 1 to kMaxRounds
  bool hasGeometry = false;
  DepthGeometry geometry;
  bool leftRgb = false;                    ///< the rectified left image's colours are a result too
  Encoding encodeDepth = Encoding::kNone;  ///< kNone or kRvl: raw depth is depthMillimetres itself
  Encoding encodeDisparity = Encoding::kNone;
  bool makesPoints = false;      ///< needs hasGeometry
  PointsParameters points;       ///< with the geometry's values
  std::string backend = "auto";  ///< auto, cpu or cuda
  std::string instructionSet;    ///< "" = the best one
  /// For measuring one stage: it runs this many times in every frame, with the same result, and its time is that of all runs.
  Stage repeatedStage = kStageCount;
  int32_t repetitions = 1;  ///< 1 to 10000
  int32_t threads = 0;      ///< 0 = one per online core
};

struct FrameInput {
  const uint8_t* left = nullptr;
  const uint8_t* right = nullptr;
};

/// Memory in which frames will stand when they are given to run(), such as a camera's buffers.
struct InputMemory {
  const uint8_t* data = nullptr;
  size_t bytes = 0;
};

/// Memory of the caller, sized by EngineParameters; encoded buffers hold encodedBound() bytes.
struct FrameOutput {
  uint8_t* left = nullptr;  ///< rectified grey
  Rgb8* leftRgb = nullptr;  ///< the same in colours; null where not asked for
  int16_t* disparityQ4 = nullptr;
  uint8_t* confidence = nullptr;
  uint16_t* depthMillimetres = nullptr;  ///< null without a geometry
  uint8_t* encodedDepth = nullptr;       ///< null where not asked for
  uint8_t* encodedDisparity = nullptr;
  uint8_t* points = nullptr;  ///< null where not asked for; made by the engine where the backend does not
  size_t encodedDepthBytes = 0;
  size_t encodedDisparityBytes = 0;
  int32_t validPixels = 0;
  int32_t matchedPixels = 0;                   ///< whose disparity was found, not filled in
  double stageMilliseconds[kStageCount] = {};  ///< NaN = switched off, or done within the stage before it
};

/// Bytes that a body of this encoding can need at most.
size_t encodedBound(Encoding encoding, int32_t width, int32_t height);

/// The steps of a frame, in the order of Stage. stages.h walks through those that are on.
class Stages {
 public:
  virtual Status rectify() = 0;
  virtual Status half() = 0;
  virtual Status match() = 0;
  virtual Status speckle() = 0;
  virtual Status confidence() = 0;
  virtual Status fill() = 0;
  virtual Status boundary() = 0;
  virtual Status median() = 0;
  virtual Status upscale() = 0;
  virtual Status region() = 0;
  virtual Status depth() = 0;
  /// For a repeated stage: keeps what stages change in place (disparities, confidence), and puts it back before the next run.
  /// Copying is part of what is measured.
  virtual Status keepInput() = 0;
  virtual Status restoreInput() = 0;

 protected:
  ~Stages() = default;
};

/// What computes frames: the CPU here, or CUDA behind plugin_abi.h.
class Backend {
 public:
  virtual ~Backend() = default;
  /// Frames that may be in work at once: so many threads may call run() at the same time, each with a place of its own, 0
  /// and up.
  virtual int framesInWork() const { return 1; }
  /// Whether run() makes the points that are asked for.
  virtual bool makesPoints() const { return false; }
  /// One frame from raw images to encoded bodies. Sets stageMilliseconds and everything else of the output but validPixels and matchedPixels.
  virtual Status run(int place, const FrameInput& input, FrameOutput& output) = 0;
  /// Memory that frames will be written to, or read from, until detach(): a device may want to make it known to itself.
  /// Between frames only.
  virtual void attach(const FrameOutput&) {}
  virtual void attach(const InputMemory&) {}
  virtual void detach() {}
  /// Every frame from now on. leftMap, rightMap: the whole maps that it asks for, or null: as opened. They live until the next call.
  /// Between frames only.
  virtual Status adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap) = 0;
  virtual size_t workspaceBytes() const = 0;
  virtual const char* instructionSet() const = 0;
  virtual int threads() const = 0;
};

}  // namespace depthwatt
