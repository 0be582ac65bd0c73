// SPDX-License-Identifier: Apache-2.0
// Runs the stages of a frame, for both backends: which stages are on, how often they run, and which memory each reads
// and writes. A backend allocates bytes(buffer) for every buffer, then runs steps() in order on images(step, memory).
// Disparity and confidence alternate between two buffers, planned from the last step backwards, so that the last step
// writes into the frame's result without a copy. Plain C++14: the plugin reads it too.
#pragma once

#include <string>
#include <vector>

#include "blocks.h"
#include "stage.h"

namespace depthwatt {

/// How stages get the window of the rectified images: as a view (host), or as a copy with packed rows (device).
enum class WindowForm { kView, kPacked };

/// The images of a frame. Buffers below kScratchCount are reused by every frame; the rest are the frame's results.
enum Buffer {
  kRightGrey,
  kLeftRgb,
  kRightRgb,
  kWindowLeft,
  kWindowRight,
  kWindowLeftRgb,
  kWindowRightRgb,
  kHalfLeft,
  kHalfRight,
  kHalfLeftRgb,
  kHalfRightRgb,
  kDenoisedLeft,
  kDenoisedRight,
  kAveragedLeft,
  kAveragedRight,
  kLimit,
  kDisparityA,
  kDisparityB,
  kConfidenceA,
  kConfidenceB,
  kWindowDisparity,
  kWindowConfidence,
  kKeptDisparity,
  kKeptConfidence,
  kScratchCount,
  kLeftResult = kScratchCount,
  kLeftRgbResult,
  kRightResult,
  kDisparityResult,
  kConfidenceResult,
  kDepthResult,
  kPointsResult,
  kVoxelsResult,
  kRegisteredResult,
  kRegisteredConfidenceResult,
  kFloorResult,
  kGridResult,
  kDroppedResult,
  kBufferCount
};
constexpr Buffer kNoBuffer = kBufferCount;

/// The memory of one frame by Buffer, and the frame's inputs.
struct FrameMemory {
  uint8_t* buffers[kBufferCount] = {};
  const uint8_t* captured[2] = {};
  EncodedBody depthBody, disparityBody;
  bool denoised = true;  ///< false: this frame skips the denoise stage
};

class Chain {
 public:
  /// An image: a buffer, and the part of the rectified images in it.
  struct Place {
    Buffer buffer = kNoBuffer;
    Scale scale = Scale::kWhole;
  };
  struct Step {
    Stage stage = kStageCount;
    Place disparityIn, disparityOut, confidenceIn, confidenceOut;
  };

  /// @param parameters must have been checked
  Chain(const EngineParameters& parameters, WindowForm form) : p_(parameters), form_(form) {
    listSteps();
    measure();
    route(kWritesDisparity, &Step::disparityIn, &Step::disparityOut, {kDisparityResult, Scale::kWhole});
    route(kWritesConfidence, &Step::confidenceIn, &Step::confidenceOut, {kConfidenceResult, Scale::kWhole});
  }

  const std::vector<Step>& steps() const { return steps_; }
  const StageFacts& facts(Stage stage) const { return *p_.settings.stages[stage]; }
  bool runs(Stage stage) const {
    for (const Step& step : steps_) {
      if (step.stage == stage) return true;
    }
    return false;
  }
  /// Returns whether results depend on earlier frames.
  bool remembers() const {
    for (const Step& step : steps_) {
      if (facts(step.stage).remembers) return true;
    }
    return false;
  }
  StageTask task() const { return {p_, window_, width_, height_, search_}; }

  /// Checks that each stage reads the disparity at the size that the stage before it leaves, and that the last stage leaves the whole
  /// images. A kFailed names both stages.
  Status check() const {
    Stage before = kMatchStage;
    for (const Step& step : steps_) {
      if (step.stage <= kMatchStage) continue;
      if (!sameSize(facts(before).leaves, facts(step.stage).reads)) return wrongSize(before, step.stage);
      if (facts(step.stage).writes != kWritesOther) before = step.stage;
    }
    return sameSize(facts(before).leaves, Scale::kWhole) ? Status() : wrongSize(before, kStageCount);
  }

  /// Returns the bytes of a buffer, 0 if it is not needed.
  size_t bytes(Buffer buffer) const {
    const size_t whole = pixelCount(Scale::kWhole), window = pixelCount(Scale::kWindow),
                 matched = pixelCount(Scale::kMatched);
    const bool crops = form_ == WindowForm::kPacked && p_.region.width > 0, halves = p_.halfResolution;
    const auto colours = [&](int side, bool on, size_t pixels) {
      return on && needsRgb(p_, side) ? pixels * sizeof(Rgb8) : 0;
    };
    switch (buffer) {
      case kRightGrey: return p_.rightGrey ? 0 : whole;
      case kLeftRgb: return computesRgb(p_, 0) && !p_.leftRgb ? whole * sizeof(Rgb8) : 0;
      case kRightRgb: return colours(1, true, whole);
      case kWindowLeft:
      case kWindowRight: return crops ? window : 0;
      case kWindowLeftRgb: return colours(0, crops, window);
      case kWindowRightRgb: return colours(1, crops, window);
      case kHalfLeft:
      case kHalfRight: return halves ? matched : 0;
      case kHalfLeftRgb: return colours(0, halves, matched);
      case kHalfRightRgb: return colours(1, halves, matched);
      case kDenoisedLeft:
      case kDenoisedRight: return runs(kDenoiseStage) ? matched : 0;
      case kAveragedLeft:
      case kAveragedRight: return runs(kAverageStage) ? matched : 0;
      case kLimit: return static_cast<size_t>(blockColumnCount(width_)) * static_cast<size_t>(blockRowCount(height_));
      case kDisparityA:
      case kDisparityB: return used_[buffer] ? matched * sizeof(int16_t) : 0;
      case kConfidenceA:
      case kConfidenceB: return used_[buffer] ? matched : 0;
      case kWindowDisparity: return used_[buffer] ? window * sizeof(int16_t) : 0;
      case kWindowConfidence: return used_[buffer] ? window : 0;
      case kKeptDisparity: return keptPixels() * sizeof(int16_t);
      case kKeptConfidence: return keptPixels();
      case kLeftResult:
      case kConfidenceResult: return whole;
      case kLeftRgbResult: return p_.leftRgb ? whole * sizeof(Rgb8) : 0;
      case kRightResult: return p_.rightGrey ? whole : 0;
      case kDisparityResult: return whole * sizeof(int16_t);
      case kDepthResult: return p_.hasGeometry ? whole * sizeof(uint16_t) : 0;
      case kPointsResult: return p_.makesPoints ? whole * pointBytes(p_.points) : 0;
      case kVoxelsResult: return p_.makesVoxels ? (whole + 1) * 8 : 0;
      case kRegisteredResult: return registeredPixels() * sizeof(uint16_t);
      case kRegisteredConfidenceResult: return registeredPixels();
      case kFloorResult: return p_.findsFloor ? kFloorNumbers * sizeof(double) : 0;
      case kGridResult: return p_.makesGrid ? gridCells(p_.grid) : 0;
      case kDroppedResult: return runs(kThresholdStage) ? kDropCauses * sizeof(int32_t) : 0;
      case kBufferCount: break;
    }
    return 0;
  }

  StageImages images(const Step& step, const FrameMemory& memory) const {
    StageImages images;
    for (int side = 0; side < 2; ++side) {
      const auto of = [&](Buffer left) { return memory.buffers[left + side]; };
      images.captured[side] = memory.captured[side];
      uint8_t* const grey = memory.buffers[side == 0 ? kLeftResult : p_.rightGrey ? kRightResult : kRightGrey];
      uint8_t* const rgb = side == 1 || !p_.leftRgb ? of(kLeftRgb) : memory.buffers[kLeftRgbResult];
      images.whole.grey[side] = rectified<uint8_t>(grey, Scale::kWhole);
      images.whole.rgb[side] = rectified<Rgb8>(rgb, Scale::kWhole);
      const bool crops = form_ == WindowForm::kPacked && p_.region.width > 0;
      images.window.grey[side] =
          crops ? packed<uint8_t>(of(kWindowLeft), Scale::kWindow) : rectified<uint8_t>(grey, Scale::kWindow);
      images.window.rgb[side] =
          crops ? packed<Rgb8>(of(kWindowLeftRgb), Scale::kWindow) : rectified<Rgb8>(rgb, Scale::kWindow);
      images.matched.grey[side] =
          p_.halfResolution ? packed<uint8_t>(of(kHalfLeft), Scale::kMatched) : images.window.grey[side];
      images.matched.rgb[side] =
          p_.halfResolution ? packed<Rgb8>(of(kHalfLeftRgb), Scale::kMatched) : images.window.rgb[side];
      uint8_t* const denoised = memory.denoised ? of(kDenoisedLeft) : nullptr;
      images.denoisedGrey[side] =
          denoised != nullptr ? packed<uint8_t>(denoised, Scale::kMatched) : images.matched.grey[side];
      images.matcherGrey[side] = of(kAveragedLeft) != nullptr ? packed<uint8_t>(of(kAveragedLeft), Scale::kMatched)
                                                              : images.denoisedGrey[side];
    }
    images.limit = packedView(memory.buffers[kLimit], blockColumnCount(width_), blockRowCount(height_));
    images.disparityIn = view<int16_t>(step.disparityIn, memory);
    images.disparityOut = view<int16_t>(step.disparityOut, memory);
    images.confidenceIn = view<uint8_t>(step.confidenceIn, memory);
    images.confidenceOut = view<uint8_t>(step.confidenceOut, memory);
    images.depthMillimetres = rectified<uint16_t>(memory.buffers[kDepthResult], Scale::kWhole);
    images.points = memory.buffers[kPointsResult];
    images.voxels = reinterpret_cast<Voxel*>(memory.buffers[kVoxelsResult]);
    if (p_.registers) {
      const int32_t width = p_.registration.width, height = p_.registration.height;
      images.registered = packedView(reinterpret_cast<uint16_t*>(memory.buffers[kRegisteredResult]), width, height);
      images.registeredConfidence = packedView(memory.buffers[kRegisteredConfidenceResult], width, height);
    }
    images.floor = reinterpret_cast<double*>(memory.buffers[kFloorResult]);
    images.grid = memory.buffers[kGridResult];
    images.dropped = reinterpret_cast<int32_t*>(memory.buffers[kDroppedResult]);
    images.depthBody = memory.depthBody;
    images.disparityBody = memory.disparityBody;
    return images;
  }

  /// Runs one step as often as a measurement requests, each time from the same input. run(): one run. keep(from, to):
  /// copies both images of a pair {disparity, confidence}; its cost is part of the measurement.
  template <class Run, class Keep>
  Status runStep(const Step& step, const StageImages& images, const FrameMemory& memory, Run&& run, Keep&& keep) const {
    const int32_t runs = step.stage == p_.repeatedStage ? p_.repetitions : 1;
    const StageFacts& stage = facts(step.stage);
    const bool changesInput = stage.inPlace != 0 || stage.clobbersInput;
    const RefinedImages input = {images.disparityIn, images.confidenceIn};
    const RefinedImages kept = {packed<int16_t>(memory.buffers[kKeptDisparity], stage.reads),
                                packed<uint8_t>(memory.buffers[kKeptConfidence], stage.reads)};
    Status status;
    if (runs > 1 && changesInput) status = keep(input, kept);
    for (int32_t i = 0; i < runs && status.ok(); ++i) {
      if (i > 0 && changesInput) status = keep(kept, input);
      if (status.ok()) status = run();
    }
    return named(step.stage, status);
  }

  struct RefinedImages {
    ImageView<int16_t> disparity;
    ImageView<uint8_t> confidence;
  };

  /// Returns the error of a stage, with its name.
  Status named(Stage stage, const Status& status) const {
    if (status.ok()) return status;
    return Status::error(status.code, "Stage %s: %s", facts(stage).name, std::string(status.message).c_str());
  }

 private:
  /// Sets the matched part of the rectified images, its size and the search range.
  ///   window            The whole images. With a region of interest: its rows, and its columns with as many more to the left as the
  ///                     largest disparity (if the image has them), so that its left edge finds its partners in the right image; at
  ///                     half resolution from an even column and row on, so that its half pixels are those of the whole images; for a
  ///                     local matcher (MatcherFacts::reach) everything that the region's results depend on.
  ///   full resolution   The window, and the search as given.
  ///   half resolution   ceil(width / 2) x ceil(height / 2), and with h(v) = ceil(v / 2) the search [h(min), h(min + num)), so that no
  ///                     doubled disparity is outside [min, min + num).
  void measure() {
    const int32_t end = p_.search.minDisparity + p_.search.numDisparities;
    search_ = p_.search;
    if (p_.halfResolution) {
      search_.minDisparity = halfSide(p_.search.minDisparity);
      search_.numDisparities = halfSide(end) - search_.minDisparity;
    }
    window_ = {0, 0, p_.width, p_.height};
    if (p_.region.width > 0) {
      if (p_.matcher.facts->reach != nullptr) {
        reachWindow();
      } else {
        const int32_t largest = end - 1, right = p_.region.x + p_.region.width;
        window_ = p_.region;
        window_.x = p_.region.x > largest ? p_.region.x - largest : 0;
        window_.width = right - window_.x;
        if (p_.halfResolution) {
          window_.width += window_.x % 2;
          window_.height += window_.y % 2;
          window_.x -= window_.x % 2;
          window_.y -= window_.y % 2;
        }
      }
    }
    width_ = p_.halfResolution ? halfSide(window_.width) : window_.width;
    height_ = p_.halfResolution ? halfSide(window_.height) : window_.height;
  }

  /// Widens the window by what a local matcher reads for the region's pixels, and for those that the region's
  /// refinement reads. The speckle filter and filling have no bound and are not counted.
  void reachWindow() {
    const int32_t scale = p_.halfResolution ? 2 : 1;
    const MatchReach reach = p_.matcher.facts->reach(p_.matcher, search_, p_.at("refine.leftRight") != 0);
    // At half resolution a pixel is the mean of three by three and is doubled from two: one more half pixel.
    int32_t more = p_.halfResolution ? 1 : 0;
    for (const Step& step : steps_) more += facts(step.stage).reach;
    const int32_t step = scale * reach.step;
    const auto from = [&](int32_t first, int32_t by) {
      return first > scale * by ? (first - scale * by) / step * step : 0;
    };
    const auto to = [&](int32_t end, int32_t by, int32_t size) {
      const int32_t reached = (end + scale * by + step - 1) / step * step;
      return reached < size ? reached : size;
    };
    window_.x = from(p_.region.x, reach.left + more);
    window_.y = from(p_.region.y, reach.rows + more);
    window_.width = to(p_.region.x + p_.region.width, reach.right + more, p_.width) - window_.x;
    window_.height = to(p_.region.y + p_.region.height, reach.rows + more, p_.height) - window_.y;
  }

  static int32_t halfSide(int32_t side) { return (side + 1) / 2; }

  void listSteps() {
    std::vector<Stage> on;
    for (int stage = 0; stage < kStageCount; ++stage) {
      const StageFacts& facts = *p_.settings.stages[stage];
      if (facts.isOn == nullptr || facts.isOn(p_)) on.push_back(static_cast<Stage>(stage));
    }
    for (size_t i = 0; i < on.size();) {
      const auto rounds = facts(on[i]).rounds;
      size_t end = i + 1;
      while (rounds != nullptr && end < on.size() && facts(on[end]).rounds == rounds) ++end;
      for (int32_t round = rounds == nullptr ? 1 : rounds(p_); round > 0; --round) {
        for (size_t at = i; at < end; ++at) {
          Step step;
          step.stage = on[at];
          steps_.push_back(step);
        }
      }
      i = end;
    }
  }

  /// Gives every step its memory for one kind of image, from the last step backwards.
  void route(StageOutput kind, Place Step::* in, Place Step::* out, Place place) {
    for (size_t i = steps_.size(); i-- > 0;) {
      Step& step = steps_[i];
      const StageFacts& stage = facts(step.stage);
      if ((stage.writes & kind) == 0) {
        step.*in = step.*out = {place.buffer, stage.reads};
        continue;
      }
      step.*out = {place.buffer, stage.leaves};
      used_[place.buffer] = true;
      // On the host the window is a part of the whole images, so only the pixels around it change.
      const bool placed = step.stage == kRegionStage && form_ == WindowForm::kView;
      if ((stage.inPlace & kind) == 0 && !placed) place.buffer = otherThan(place.buffer, stage.reads, kind);
      step.*in = {place.buffer, stage.reads};
    }
  }

  /// Returns the buffer for the previous version of the image in `buffer`.
  Buffer otherThan(Buffer buffer, Scale scale, StageOutput kind) const {
    const bool disparity = kind == kWritesDisparity;
    const Buffer a = disparity ? kDisparityA : kConfidenceA, b = disparity ? kDisparityB : kConfidenceB;
    const Buffer result = disparity ? kDisparityResult : kConfidenceResult;
    const Buffer window = disparity ? kWindowDisparity : kWindowConfidence;
    if (p_.halfResolution) {
      if (scale != Scale::kMatched) return window;
      return buffer == a ? b : a;
    }
    const bool fitsResult = form_ == WindowForm::kView || p_.region.width == 0;
    if (buffer != a) return a;
    return fitsResult ? result : b;
  }

  bool sameSize(Scale one, Scale other) const {
    return scaleWidth(one) == scaleWidth(other) && scaleHeight(one) == scaleHeight(other);
  }
  /// @param next kStageCount for the result
  Status wrongSize(Stage stage, Stage next) const {
    const Scale found = facts(stage).leaves, expected = next == kStageCount ? Scale::kWhole : facts(next).reads;
    const std::string reader = next == kStageCount ? "the result has" : std::string(facts(next).name) + " reads";
    return named(stage, Status::error(Code::kFailed, "Expected a disparity of %dx%d, which %s; it leaves %dx%d.",
                                      scaleWidth(expected), scaleHeight(expected), reader.c_str(), scaleWidth(found),
                                      scaleHeight(found)));
  }
  size_t pixelCount(Scale scale) const {
    return static_cast<size_t>(scaleWidth(scale)) * static_cast<size_t>(scaleHeight(scale));
  }
  size_t registeredPixels() const {
    return p_.registers ? static_cast<size_t>(p_.registration.width) * static_cast<size_t>(p_.registration.height) : 0;
  }
  /// Returns the pixels of the repeated stage's input; 0 if no stage is repeated.
  size_t keptPixels() const { return p_.repetitions > 1 ? pixelCount(facts(p_.repeatedStage).reads) : 0; }
  int32_t scaleWidth(Scale scale) const {
    return scale == Scale::kWhole ? p_.width : scale == Scale::kWindow ? window_.width : width_;
  }
  int32_t scaleHeight(Scale scale) const {
    return scale == Scale::kWhole ? p_.height : scale == Scale::kWindow ? window_.height : height_;
  }

  template <class T>
  ImageView<T> packed(uint8_t* data, Scale scale) const {
    return data == nullptr ? ImageView<T>{}
                           : packedView(reinterpret_cast<T*>(data), scaleWidth(scale), scaleHeight(scale));
  }
  /// Returns a view of memory that holds the whole rectified images.
  template <class T>
  ImageView<T> rectified(uint8_t* data, Scale scale) const {
    const ImageView<T> whole = packed<T>(data, Scale::kWhole);
    if (scale == Scale::kWhole || data == nullptr) return whole;
    return {whole.row(window_.y) + window_.x, window_.width, window_.height, whole.strideBytes};
  }
  template <class T>
  ImageView<T> view(const Place& place, const FrameMemory& memory) const {
    if (place.buffer == kNoBuffer) return {};
    uint8_t* const data = memory.buffers[place.buffer];
    return place.buffer >= kScratchCount ? rectified<T>(data, place.scale) : packed<T>(data, place.scale);
  }

  const EngineParameters& p_;
  const WindowForm form_;
  Region window_;
  int32_t width_ = 0, height_ = 0;
  MatchSearch search_;
  std::vector<Step> steps_;
  bool used_[kBufferCount] = {};
};

}  // namespace depthwatt
