// SPDX-License-Identifier: Apache-2.0
// The stages of a frame as work queued on a stream, and the device memory they share. Frames run one after the other, so that
// one workspace serves all; what is copied while another frame runs belongs to the frame (FrameImages).
#pragma once

#include "../output/rvl/rvl_gpu.h"
#include "../match/gpu_matcher.h"
#include "../engine/match_scope.h"
#include "../output/points/points_gpu.h"
#include "../device/device_buffer.h"

namespace depthwatt {
namespace gpu {

/// Whether kernels encode.
inline bool encodesRvl(const EngineParameters& p) {
  return p.encodeDepth == Encoding::kRvl || p.encodeDisparity == Encoding::kRvl;
}
/// Whether encode() has anything to do.
inline bool hasEncoding(const EngineParameters& p) { return encodesRvl(p) || p.makesPoints; }

/// An encoded image on the device: nothing where it is not asked for.
struct EncodedImage {
  DeviceBuffer<uint32_t> words, bytes;

  Status open(size_t pixels) {
    DEPTHWATT_TRY(words.allocate(rvlWords(pixels)));
    return bytes.allocate(1);
  }
};

/// What one frame brings and what it leaves, on the device.
struct FrameImages {
  DeviceBuffer<uint8_t> raw[2];  ///< a copy of each captured image, where kernels do not read the captured one
  DeviceBuffer<uint8_t> left, confidence;
  DeviceBuffer<Rgb8> leftRgb;  ///< empty where it is no result
  DeviceBuffer<int16_t> disparity;
  DeviceBuffer<uint16_t> depth;  ///< empty without a geometry
  EncodedImage rvlDepth, rvlDisparity;
  DeviceBuffer<uint8_t> points;  ///< empty where not asked for

  Status open(const EngineParameters& parameters);
  size_t bytes() const {
    return raw[0].bytes() + raw[1].bytes() + left.bytes() + leftRgb.bytes() + confidence.bytes() + disparity.bytes() +
           depth.bytes() + rvlDepth.words.bytes() + rvlDisparity.words.bytes() + points.bytes();
  }
};

class FrameStages final : public Stages {
 public:
  explicit FrameStages(const EngineParameters& parameters)
      : p_(parameters), scope_(matchScopeOf(parameters)),
        matchedPixels_(static_cast<size_t>(scope_.width) * scope_.height),
        windowPixels_(static_cast<size_t>(scope_.window.width) * scope_.window.height) {}

  Status open();
  /// The frame that the next stages belong to, and where they are queued. sources: the captured images as kernels see them.
  void select(FrameImages& frame, const uint8_t* leftSource, const uint8_t* rightSource, cudaStream_t stream);
  size_t bytes() const;
  /// Between frames: no kernel runs.
  Status adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap);
  /// adapt() may switch it on: then rectify() queues another launch.
  bool readsLeftMap() const { return readsLeftMap_; }

  Status rectify() override;
  Status half() override;
  Status match() override;
  Status speckle() override;
  Status confidence() override;
  Status fill() override;
  Status boundary() override;
  Status median() override;
  Status upscale() override;
  Status region() override;
  Status depth() override;
  /// What travels as RVL, as its bytes, and the points; after the other stages.
  Status encode();
  Status keepInput() override;
  Status restoreInput() override;

 private:
  bool denoises() const { return p_.adaptation.denoise != Denoise::kOff; }
  int32_t furtherRounds() const { return p_.boundary && p_.median ? p_.rounds - 1 : 0; }
  bool fills() const { return p_.fill.method != FillMethod::kOff; }
  bool windowed() const { return p_.region.width > 0; }
  /// Results of the matched size need another step before they are the frame's.
  bool apart() const { return p_.halfResolution || windowed(); }

  // Where each stage finds and leaves the disparity: the last one of the matched size writes to refined().
  int16_t* refined() const { return apart() ? refined_.get() : frame_->disparity.get(); }
  bool refinesFurther() const { return fills() || p_.boundary || p_.median; }
  int16_t* matched() const { return refinesFurther() || p_.repair ? matched_.get() : refined(); }
  int16_t* repaired() const { return !p_.repair ? matched() : refinesFurther() ? repaired_.get() : refined(); }
  int16_t* filled() const { return p_.boundary || p_.median ? filled_.get() : refined(); }
  int16_t* beforeBoundary() const { return fills() ? filled() : repaired(); }
  int16_t* edged() const { return p_.median ? edged_.get() : refined(); }
  int16_t* beforeMedian() const { return p_.boundary ? edged() : beforeBoundary(); }
  uint8_t* sure() const { return apart() ? confidence_.get() : frame_->confidence.get(); }
  int16_t* doubled() const { return windowed() ? doubled_.get() : frame_->disparity.get(); }
  uint8_t* doubledConfidence() const { return windowed() ? doubledConfidence_.get() : frame_->confidence.get(); }
  /// The window of the rectified images.
  const uint8_t* windowOf(int side) const {
    return windowed() ? window_[side].get() : (side == 0 ? frame_->left.get() : right_.get());
  }
  /// The image that is matched and refined.
  const uint8_t* grey(int side) const { return p_.halfResolution ? half_[side].get() : windowOf(side); }

  /// Colours of the rectified images: of the left one the frame's own, where they are a result.
  Rgb8* rgbOf(int side) const { return side == 0 && p_.leftRgb ? frame_->leftRgb.get() : rgb_[side].get(); }
  /// The same of what is matched; null where the matcher needs none.
  const Rgb8* windowRgbOf(int side) const { return windowed() ? windowRgb_[side].get() : rgbOf(side); }
  const Rgb8* rgb(int side) const {
    if (!needsRgb(p_, side)) return nullptr;
    return p_.halfResolution ? halfRgb_[side].get() : windowRgbOf(side);
  }
  Status openColours();
  Status rectifyColours(const RectifySource& source, const int32_t* map, int side);
  /// null: as opened.
  Status copyMap(int side, const int32_t* map);

  const EngineParameters p_;
  const MatchScope scope_;
  const size_t matchedPixels_, windowPixels_;
  DeviceBuffer<int32_t> map_[2], speckleScratch_, fillScratch_;
  DeviceBuffer<int32_t> smoothRange_;  ///< one number
  DeviceBuffer<uint8_t> smooth_[2];
  DeviceBuffer<uint64_t> blockSums_;  ///< scratch of the confidence's limits
  DeviceBuffer<uint8_t> right_, window_[2], half_[2], certainty_, limit_, confidence_, doubledConfidence_,
      keptConfidence_, unrepairedSure_;
  DeviceBuffer<Rgb8> rgb_[2], windowRgb_[2], halfRgb_[2];  ///< only for a matcher or points that need them
  DeviceBuffer<int16_t> matched_, repaired_, filled_, edged_, furtherRound_, refined_, doubled_, keptDisparity_;
  RvlScratch rvlScratch_;
  PointsWorkspace points_;
  std::unique_ptr<Matcher> matcher_;
  bool readsLeftMap_ = false, leftMapMoved_ = false;
  FrameImages* frame_ = nullptr;
  const uint8_t* sources_[2] = {};
  cudaStream_t stream_ = nullptr;
};

}  // namespace gpu
}  // namespace depthwatt
