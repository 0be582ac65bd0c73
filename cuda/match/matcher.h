// SPDX-License-Identifier: Apache-2.0
// The contract of a whole matcher: from two rectified images to disparity and confidence. A matcher is a folder: its stages, and
// adapters (x.cpu.cc, x.gpu.cu) that implement what stands here; matchers.h has one line for each. Plain C++14: nvcc reads it too.
//
//   x.cpu.cc          const MatcherFacts& xFacts();
//                     Status openXOnCpu(const MatchTask&, InstructionSet, Workers&, std::unique_ptr<CpuMatcher>*);
//   x.gpu.cu          namespace gpu: Status openXOnGpu(const MatchTask&, std::unique_ptr<Matcher>*);  see gpu_matcher.h. Absent: the
//                     CUDA backend says that it has no kernels for it.
//   x.matcher.ref.cc  void matchXReference(const MatchTask&, const MatcherImages&, const MatcherResult&);  the definition, composed
//                     of the stages' references. May be absent.
#pragma once

#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../../core/image.h"
#include "../../core/status.h"
#include "../setting.h"
#include "../simd/instruction_set.h"
#include "matching.h"

namespace depthwatt {

class Workers;

/// In the words of TypeScript: "grey", "grey and left rgb", "grey and rgb". kGreyAndLeftRgb: the right image's colours too where
/// the left-right check is asked for.
enum class ImagesNeeded { kGrey, kGreyAndLeftRgb, kGreyAndRgb };

/// One step down of a quality ladder: the parameter is lowered to this value where it is higher.
struct QualityStep {
  const char* key;
  int32_t value;
};

/// What the governor may give up before it halves resolution or search, best first.
struct QualityLadder {
  const QualityStep* steps;
  int32_t count;
  int32_t atHalf;       ///< so many steps stay taken where half resolution takes the others' place
  const char* workKey;  ///< work per cell is in proportion to this parameter; null: to nothing
  int32_t workPerCell;  ///< where workKey is null; 4 is that of sgm with 4 paths
};

struct MatchSearch {
  int32_t minDisparity = 0;      ///< 0 or more
  int32_t numDisparities = 128;  ///< the search is [minDisparity, minDisparity + numDisparities)
};

/// How far from a pixel a local matcher looks at its images for that pixel's result, in their pixels: columns to the left and to the
/// right, rows up and down. Its copies of the images begin at multiples of `step`.
struct MatchReach {
  int32_t left, right, rows, step;
};

struct MatcherFacts;

/// A matcher and the values of its parameters, in their order.
struct MatcherChoice {
  const MatcherFacts* facts = nullptr;
  std::vector<int32_t> values;
  /// The value of a parameter that the matcher has, else kNoSuchSetting, which no room accepts. Looked up by name: for open,
  /// not for frames.
  inline int32_t at(const char* key) const;
};

/// A rule between settings that does not hold. Empty: none is broken.
struct BrokenRule {
  std::vector<std::string> keys;  ///< dotted; the first is the one to change
  std::string text;               ///< "expected ..., got ..."

  bool empty() const { return keys.empty(); }

  [[gnu::format(printf, 2, 3)]] static BrokenRule of(std::vector<std::string> keys, const char* format, ...) {
    BrokenRule broken;
    broken.keys = std::move(keys);
    char text[240];
    va_list arguments;
    va_start(arguments, format);
    std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    broken.text = text;
    return broken;
  }
};

struct MatcherFacts {
  const char* name;         ///< its folder, and its word in settings
  const char* description;  ///< the rest of the sentence "NAME is ..."
  ImagesNeeded images;
  bool halfByDefault;  ///< match.halfResolution = auto means at half resolution
  const Setting* parameters;
  int32_t parameterCount;
  QualityLadder ladder;
  /// What ranges alone cannot tell: a rule between settings that does not hold, or an empty one. search: in pixels of the whole images.
  BrokenRule (*check)(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution);
  /// It gives disparities that it did not match but estimated from others: those have confidence 0, all that it matched have more.
  bool estimates = false;
  /// Of a matcher whose results near the border of a region are to be those of the whole images; null: a region is matched by itself.
  MatchReach (*reach)(const MatcherChoice& choice, const MatchSearch& search, bool leftRight) = nullptr;
};

inline int32_t MatcherChoice::at(const char* key) const {
  for (int32_t i = 0; i < facts->parameterCount; ++i) {
    if (std::strcmp(facts->parameters[i].key, key) == 0) return values[static_cast<size_t>(i)];
  }
  return kNoSuchSetting;
}

/// What a matcher is opened for.
struct MatchTask {
  int32_t width = 0, height = 0;  ///< of the images that it gets
  MatchSearch search;             ///< in their pixels
  bool leftRight =
      false;  ///< the check of refine/left_right is asked for; a matcher with a check of its own ignores it
  MatcherChoice matcher;
};

/// Rectified images of the task's size. rgb: data = null for an image whose colours the matcher does not need; where the camera
/// has no colours, red = green = blue = grey.
struct MatcherImages {
  ImageView<const uint8_t> left, right;
  ImageView<const Rgb8> leftRgb, rightRgb;
};

/// Of the same size. Every pixel of both is written.
struct MatcherResult {
  ImageView<int16_t> disparityQ4;  ///< 1/16 px, absolute; kInvalidDisparity where there is none
  ImageView<uint8_t> confidence;   ///< 0 where there is none, and where it was estimated (MatcherFacts::estimates)
};

/// Everything is made when it is opened; compute() allocates nothing.
class CpuMatcher {
 public:
  virtual ~CpuMatcher() = default;
  virtual void compute(const MatcherImages& images, const MatcherResult& result) = 0;
  virtual size_t workspaceBytes() const = 0;
};

}  // namespace depthwatt
