// SPDX-License-Identifier: Apache-2.0
// The contract of a whole matcher: from two rectified images to disparity and confidence. A matcher is a folder with its stages and
// adapters (x.cpu.cc, x.gpu.cu) that implement these functions, and a line in matchers.h. Plain C++14: nvcc reads it too.
//
//   x.cpu.cc          const MatcherFacts& xFacts();
//                     Status openXOnCpu(const MatchTask&, InstructionSet, Workers&, std::unique_ptr<CpuMatcher>*);
//   x.gpu.cu          namespace gpu: Status openXOnGpu(const MatchTask&, std::unique_ptr<Matcher>*);  see gpu_matcher.h. Missing: the
//                     CUDA backend reports that it has no kernels for it.
//   x.matcher.ref.cc  void matchXReference(const MatchTask&, const MatcherImages&, const MatcherResult&);  the definition, composed
//                     of the stages' references. Optional.
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

/// TypeScript's names: "grey", "grey and left rgb", "grey and rgb". kGreyAndLeftRgb also needs the right image's
/// colours for the left-right check.
enum class ImagesNeeded { kGrey, kGreyAndLeftRgb, kGreyAndRgb };

/// One step of a quality ladder: lowers the parameter to this value if it is higher.
struct QualityStep {
  const char* key;
  int32_t value;
};

/// What the governor may lower before it halves resolution or search, best first.
struct QualityLadder {
  const QualityStep* steps;
  int32_t count;
  int32_t atHalf;       ///< this many steps remain when half resolution replaces the others
  const char* workKey;  ///< work per cell is proportional to this parameter; null: constant
  int32_t workPerCell;  ///< used if workKey is null; 4 is sgm's with 4 paths
};

struct MatchSearch {
  int32_t minDisparity = 0;      ///< 0 or more
  int32_t numDisparities = 128;  ///< the search is [minDisparity, minDisparity + numDisparities)
};

/// How far a local matcher reads its images for one pixel's result, in their pixels: columns to the left and right,
/// rows up and down. Its copies of the images start at multiples of `step`.
struct MatchReach {
  int32_t left, right, rows, step;
};

struct MatcherFacts;
struct MatchTask;

/// The CPU or GPU that runs a matcher.
struct MatchDevice {
  std::string instructionSet;   ///< "cuda" for a GPU
  int32_t multiprocessors = 0;  ///< of a GPU
};

/// The search of a matcher that has several, and the reason for it. Empty: the matcher has one search.
struct SearchChoice {
  std::string name, reason;
};

/// A matcher and the values of its parameters, in their order.
struct MatcherChoice {
  const MatcherFacts* facts = nullptr;
  std::vector<int32_t> values;
  /// Returns the value of a parameter, else kNoSuchSetting, which no setting accepts. A search by name: for open, not
  /// for frames.
  inline int32_t at(const char* key) const;
  inline void set(const char* key, int32_t value);
};

/// A rule between settings that is broken. Empty: none is.
struct BrokenRule {
  std::vector<std::string> keys;  ///< dotted; change the first
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
  const char* name;         ///< its folder, and its name in settings
  const char* description;  ///< the rest of the sentence "NAME is ..."
  ImagesNeeded images;
  bool halfByDefault;  ///< match.halfResolution = auto means half resolution
  const Setting* parameters;
  int32_t parameterCount;
  QualityLadder ladder;
  /// Checks rules between settings. Returns an empty rule if none is broken. @param search in pixels of the whole
  /// images
  BrokenRule (*check)(const MatcherChoice& choice, const MatchSearch& search, bool halfResolution);
  /// It also gives disparities that it estimated from others. Those have confidence 0, matched ones have more.
  bool estimates = false;
  /// Returns how far the matcher reads, so that a region's results equal those of the whole images. Null: a region is
  /// matched alone.
  MatchReach (*reach)(const MatcherChoice& choice, const MatchSearch& search, bool leftRight) = nullptr;
  /// Replaces `auto` among the task's values with what suits the device. Null: the matcher has one search.
  SearchChoice (*chooseSearch)(MatchTask* task, const MatchDevice& device) = nullptr;
};

inline int32_t MatcherChoice::at(const char* key) const {
  for (int32_t i = 0; i < facts->parameterCount; ++i) {
    if (std::strcmp(facts->parameters[i].key, key) == 0) return values[static_cast<size_t>(i)];
  }
  return kNoSuchSetting;
}

inline void MatcherChoice::set(const char* key, int32_t value) {
  for (int32_t i = 0; i < facts->parameterCount; ++i) {
    if (std::strcmp(facts->parameters[i].key, key) == 0) values[static_cast<size_t>(i)] = value;
  }
}

/// The parameters of an opened matcher.
struct MatchTask {
  int32_t width = 0, height = 0;  ///< size of its images
  MatchSearch search;             ///< in pixels of its images
  bool leftRight = false;         ///< run the check of refine/left_right; a matcher with its own check ignores this
  MatcherChoice matcher;
  int32_t rank = 0;  ///< EngineParameters::rank: streams of a GPU matcher have the engine's priority
};

inline SearchChoice chooseSearch(MatchTask* task, const MatchDevice& device) {
  const MatcherFacts& facts = *task->matcher.facts;
  return facts.chooseSearch == nullptr ? SearchChoice() : facts.chooseSearch(task, device);
}

/// Rectified images of the task's size. rgb: data = null if the matcher does not need the colours. Without colours from
/// the camera, red = green = blue = grey.
struct MatcherImages {
  ImageView<const uint8_t> left, right;
  ImageView<const Rgb8> leftRgb, rightRgb;
};

/// Results of the same size. The matcher writes every pixel of both.
struct MatcherResult {
  ImageView<int16_t> disparityQ4;  ///< 1/16 px, absolute; kInvalidDisparity if there is none
  ImageView<uint8_t> confidence;   ///< 0 if there is none, and for estimated ones (MatcherFacts::estimates)
};

/// An opened CPU matcher. It allocates everything when it is opened; compute() allocates nothing.
class CpuMatcher {
 public:
  virtual ~CpuMatcher() = default;
  virtual void compute(const MatcherImages& images, const MatcherResult& result) = 0;
  virtual size_t workspaceBytes() const = 0;
};

}  // namespace depthwatt
