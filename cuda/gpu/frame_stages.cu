// SPDX-License-Identifier: Apache-2.0
// Every buffer of the stages, made at open, and the launches; see frame_stages.h.
#include "frame_stages.h"

#include "kernels.h"

namespace depthwatt {
namespace gpu {

Status FrameImages::open(const EngineParameters& p) {
  const size_t pixels = static_cast<size_t>(p.width) * p.height;
  DEPTHWATT_TRY(raw[0].allocate(inputBytes(p, 0)));
  DEPTHWATT_TRY(raw[1].allocate(inputBytes(p, 1)));
  DEPTHWATT_TRY(left.allocate(pixels));
  if (p.leftRgb) DEPTHWATT_TRY(leftRgb.allocate(pixels));
  DEPTHWATT_TRY(confidence.allocate(pixels));
  DEPTHWATT_TRY(disparity.allocate(pixels));
  if (p.hasGeometry) DEPTHWATT_TRY(depth.allocate(pixels));
  if (p.encodeDepth == Encoding::kRvl) DEPTHWATT_TRY(rvlDepth.open(pixels));
  if (p.encodeDisparity == Encoding::kRvl) DEPTHWATT_TRY(rvlDisparity.open(pixels));
  if (p.makesPoints) DEPTHWATT_TRY(points.allocate(pixels * pointBytes(p.points)));
  return {};
}

Status FrameStages::open() {
  // Where the rows may move there is always a right map: a captured frame keeps its kernels. A left one is read from the first time on
  // that rows leave the right picture, for which frames are captured once more: most rigs never need it.
  const bool moves = p_.adaptation.movesRows() && p_.rightMap.empty();
  readsLeftMap_ = !p_.leftMap.empty();
  if (moves) {
    for (DeviceBuffer<int32_t>& map : map_) DEPTHWATT_TRY(map.allocate(2 * static_cast<size_t>(p_.width) * p_.height));
  }
  const std::vector<int32_t>* maps[2] = {&p_.leftMap, &p_.rightMap};
  for (int side = 0; side < 2; ++side) {
    if (windowed()) DEPTHWATT_TRY(window_[side].allocate(windowPixels_));
    if (p_.halfResolution) DEPTHWATT_TRY(half_[side].allocate(matchedPixels_));
    if (maps[side]->empty()) continue;
    DEPTHWATT_TRY(map_[side].allocate(maps[side]->size()));
    DEPTHWATT_CUDA(cudaMemcpy(map_[side].get(), maps[side]->data(), map_[side].bytes(), cudaMemcpyHostToDevice));
  }
  DEPTHWATT_TRY(right_.allocate(static_cast<size_t>(p_.width) * p_.height));
  if (p_.makesPoints) DEPTHWATT_TRY(points_.open(p_.points, p_.width, p_.height));
  if (encodesRvl(p_)) DEPTHWATT_TRY(rvlScratch_.open(static_cast<size_t>(p_.width) * p_.height));
  if (refinesFurther() || p_.repair) DEPTHWATT_TRY(matched_.allocate(matchedPixels_));
  if (refinesFurther() && p_.repair) DEPTHWATT_TRY(repaired_.allocate(matchedPixels_));
  if (p_.repair) DEPTHWATT_TRY(unrepairedSure_.allocate(matchedPixels_));
  if (fills() && (p_.boundary || p_.median)) DEPTHWATT_TRY(filled_.allocate(matchedPixels_));
  if (p_.boundary && p_.median) DEPTHWATT_TRY(edged_.allocate(matchedPixels_));
  if (furtherRounds() > 0) DEPTHWATT_TRY(furtherRound_.allocate(matchedPixels_));
  if (apart()) {
    DEPTHWATT_TRY(refined_.allocate(matchedPixels_));
    DEPTHWATT_TRY(confidence_.allocate(matchedPixels_));
  }
  if (p_.halfResolution && windowed()) {
    DEPTHWATT_TRY(doubled_.allocate(windowPixels_));
    DEPTHWATT_TRY(doubledConfidence_.allocate(windowPixels_));
  }
  DEPTHWATT_TRY(certainty_.allocate(matchedPixels_));
  if (!p_.measuresConfidence) {
    const size_t blocks = static_cast<size_t>(blockColumnsOf(scope_.width)) * blockRowsOf(scope_.height);
    DEPTHWATT_TRY(limit_.allocate(blocks));
    DEPTHWATT_TRY(blockSums_.allocate(blocks));
  }
  if (p_.speckle.minPixels > 0) DEPTHWATT_TRY(speckleScratch_.allocate(2 * matchedPixels_));
  if (fills()) DEPTHWATT_TRY(fillScratch_.allocate(static_cast<size_t>(scope_.width + 1) * scope_.height));
  if (p_.repetitions > 1) {
    DEPTHWATT_TRY(keptDisparity_.allocate(matchedPixels_));
    DEPTHWATT_TRY(keptConfidence_.allocate(matchedPixels_));
  }
  if (denoises()) {
    DEPTHWATT_TRY(smoothRange_.allocate(1));
    for (DeviceBuffer<uint8_t>& image : smooth_) DEPTHWATT_TRY(image.allocate(matchedPixels_));
  }
  if (denoises() || moves) DEPTHWATT_TRY(adapt(Adaptation(), nullptr, nullptr));
  DEPTHWATT_TRY(openColours());
  return openMatcher(matchTaskOf(p_, scope_), &matcher_);
}

Status FrameStages::openColours() {
  for (int side = 0; side < 2; ++side) {
    if (side == 0 && needsPointColours(p_) && !computesRgb(p_, 0))
      DEPTHWATT_TRY(rgb_[0].allocate(static_cast<size_t>(p_.width) * p_.height));
    if (!needsRgb(p_, side)) continue;
    if (side == 1 || !p_.leftRgb) DEPTHWATT_TRY(rgb_[side].allocate(static_cast<size_t>(p_.width) * p_.height));
    if (windowed()) DEPTHWATT_TRY(windowRgb_[side].allocate(windowPixels_));
    if (p_.halfResolution) DEPTHWATT_TRY(halfRgb_[side].allocate(matchedPixels_));
  }
  return {};
}

Status FrameStages::copyMap(int side, const int32_t* map) {
  std::vector<int32_t> asOpened;
  if (map == nullptr) {
    asOpened = mapFurtherDown(side == 0 ? p_.leftMap : p_.rightMap, p_.width, p_.height, 0);
    map = asOpened.data();
  }
  return cudaStatus(cudaMemcpy(map_[side].get(), map, map_[side].bytes(), cudaMemcpyHostToDevice), "copy of a map");
}

Status FrameStages::adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap) {
  if (smoothRange_.bytes() > 0) {
    DEPTHWATT_CUDA(cudaMemcpy(smoothRange_.get(), &adaptation.smoothRange, sizeof(int32_t), cudaMemcpyHostToDevice));
  }
  // Without a map to move, one that is given is that of a camera that has turned.
  if (!p_.adaptation.movesRows() && (rightMap == nullptr || map_[1].bytes() == 0)) return {};
  DEPTHWATT_TRY(copyMap(1, rightMap));
  if (leftMap == nullptr && !leftMapMoved_) return {};
  leftMapMoved_ = leftMap != nullptr;
  readsLeftMap_ = true;
  return copyMap(0, leftMap);
}

void FrameStages::select(FrameImages& frame, const uint8_t* leftSource, const uint8_t* rightSource,
                         cudaStream_t stream) {
  frame_ = &frame;
  sources_[0] = leftSource;
  sources_[1] = rightSource;
  stream_ = stream;
}

Status FrameStages::rectify() {
  const RectifySource left = {sources_[0], p_.inputWidth, p_.inputHeight, p_.leftStrideBytes, p_.leftFormat};
  const RectifySource right = {sources_[1], p_.inputWidth, p_.inputHeight, p_.rightStrideBytes, p_.rightFormat};
  const int32_t* leftMap = readsLeftMap_ ? map_[0].get() : nullptr;
  const int32_t* rightMap = map_[1].bytes() > 0 ? map_[1].get() : nullptr;
  DEPTHWATT_TRY(gpu::rectify(left, leftMap, frame_->left.get(), p_.width, p_.height, stream_));
  DEPTHWATT_TRY(gpu::rectify(right, rightMap, right_.get(), p_.width, p_.height, stream_));
  if (computesLeftRgb(p_)) DEPTHWATT_TRY(rectifyColours(left, leftMap, 0));
  if (needsRgb(p_, 1)) DEPTHWATT_TRY(rectifyColours(right, rightMap, 1));
  if (!windowed()) return {};
  if (needsRgb(p_, 0)) {
    DEPTHWATT_TRY(
        cropPair(rgbOf(0), rgbOf(1), p_.width, scope_.window, windowRgb_[0].get(), windowRgb_[1].get(), stream_));
  }
  return cropPair(frame_->left.get(), right_.get(), p_.width, scope_.window, window_[0].get(), window_[1].get(),
                  stream_);
}

/// Of a camera without colours: its grey three times.
Status FrameStages::rectifyColours(const RectifySource& source, const int32_t* map, int side) {
  if (hasColours(source.format)) return gpu::rectifyRgb(source, map, rgbOf(side), p_.width, p_.height, stream_);
  const uint8_t* const grey = side == 0 ? frame_->left.get() : right_.get();
  return gpu::greyAsRgb(grey, rgbOf(side), p_.width, p_.height, stream_);
}

Status FrameStages::half() {
  for (int side = 0; side < 2; ++side) {
    if (!needsRgb(p_, side)) continue;
    DEPTHWATT_TRY(
        gpu::halfRgb(windowRgbOf(side), halfRgb_[side].get(), scope_.window.width, scope_.window.height, stream_));
  }
  return gpu::half(windowOf(0), windowOf(1), half_[0].get(), half_[1].get(), scope_.window.width, scope_.window.height,
                   stream_);
}

Status FrameStages::match() {
  const uint8_t* sides[2] = {grey(0), grey(1)};
  if (denoises()) {
    DEPTHWATT_TRY(gpu::smooth(smoothRange_.get(), sides[0], sides[1], smooth_[0].get(), smooth_[1].get(), scope_.width,
                              scope_.height, stream_));
    for (int side = 0; side < 2; ++side) sides[side] = smooth_[side].get();
  }
  return matcher_->compute({sides[0], sides[1], rgb(0), rgb(1)}, {matched(), certainty_.get()}, stream_);
}

Status FrameStages::speckle() {
  return gpu::speckle(scope_.speckle, matched(), certainty_.get(), speckleScratch_.get(), scope_.width, scope_.height,
                      stream_);
}

Status FrameStages::confidence() {
  const bool estimates = p_.matcher.facts->estimates;
  uint8_t* const found = p_.repair ? unrepairedSure_.get() : sure();
  if (p_.measuresConfidence) {
    DEPTHWATT_TRY(gpu::windowConfidence(p_.measure, grey(0), grey(1), matched(), certainty_.get(), estimates, found,
                                        scope_.width, scope_.height, stream_));
  } else {
    DEPTHWATT_TRY(gpu::ambiguity(grey(0), grey(1), matched(), blockSums_.get(), limit_.get(), scope_.width,
                                 scope_.height, stream_));
    DEPTHWATT_TRY(gpu::confidence(grey(0), matched(), certainty_.get(), estimates, limit_.get(), found, scope_.width,
                                  scope_.height, stream_));
  }
  if (!p_.repair) return {};
  return gpu::repair(matched(), found, repaired(), sure(), scope_.width, scope_.height, stream_);
}

Status FrameStages::fill() {
  return gpu::fill(scope_.fill, grey(0), repaired(), filled(), sure(), fillScratch_.get(), scope_.width, scope_.height,
                   stream_);
}

Status FrameStages::boundary() {
  return gpu::boundary(grey(0), beforeBoundary(), edged(), scope_.width, scope_.height, stream_);
}

Status FrameStages::median() {
  DEPTHWATT_TRY(gpu::median(beforeMedian(), refined(), scope_.width, scope_.height, stream_));
  for (int32_t round = 0; round < furtherRounds(); ++round) {
    DEPTHWATT_TRY(gpu::boundary(grey(0), refined(), furtherRound_.get(), scope_.width, scope_.height, stream_));
    DEPTHWATT_TRY(gpu::median(furtherRound_.get(), refined(), scope_.width, scope_.height, stream_));
  }
  return {};
}

Status FrameStages::upscale() {
  return gpu::upscale(p_.upscaleThresholdQ4, windowOf(0), refined(), sure(), doubled(), doubledConfidence(),
                      scope_.window.width, scope_.window.height, stream_);
}

Status FrameStages::region() {
  const int16_t* disparity = p_.halfResolution ? doubled() : refined();
  const uint8_t* confidences = p_.halfResolution ? doubledConfidence() : sure();
  return placeRegion(disparity, confidences, scope_.window, p_.region, frame_->disparity.get(),
                     frame_->confidence.get(), p_.width, p_.height, stream_);
}

Status FrameStages::depth() {
  return gpu::depthMillimetres(p_.geometry, frame_->disparity.get(), frame_->depth.get(), p_.width, p_.height, stream_);
}

Status FrameStages::encode() {
  const size_t pixels = static_cast<size_t>(p_.width) * p_.height;
  const EncodedImage &depth = frame_->rvlDepth, &disparity = frame_->rvlDisparity;
  for (int32_t i = p_.repeatedStage == kEncode ? p_.repetitions : 1; i > 0; --i) {
    if (depth.words.get() != nullptr) {
      DEPTHWATT_TRY(
          rvl(frame_->depth.get(), false, pixels, rvlScratch_, depth.words.get(), depth.bytes.get(), stream_));
    }
    if (disparity.words.get() != nullptr) {
      DEPTHWATT_TRY(rvl(frame_->disparity.get(), true, pixels, rvlScratch_, disparity.words.get(),
                        disparity.bytes.get(), stream_));
    }
    if (p_.makesPoints) {
      DEPTHWATT_TRY(
          points_.compute(frame_->disparity.get(), frame_->left.get(), rgbOf(0), frame_->points.get(), stream_));
    }
  }
  return {};
}

Status FrameStages::keepInput() {
  DEPTHWATT_CUDA(
      cudaMemcpyAsync(keptDisparity_.get(), matched(), keptDisparity_.bytes(), cudaMemcpyDeviceToDevice, stream_));
  return cudaStatus(cudaMemcpyAsync(keptConfidence_.get(), certainty_.get(), keptConfidence_.bytes(),
                                    cudaMemcpyDeviceToDevice, stream_),
                    "copy of the confidence");
}

Status FrameStages::restoreInput() {
  DEPTHWATT_CUDA(
      cudaMemcpyAsync(matched(), keptDisparity_.get(), keptDisparity_.bytes(), cudaMemcpyDeviceToDevice, stream_));
  return cudaStatus(cudaMemcpyAsync(certainty_.get(), keptConfidence_.get(), keptConfidence_.bytes(),
                                    cudaMemcpyDeviceToDevice, stream_),
                    "copy of the confidence");
}

size_t FrameStages::bytes() const {
  size_t bytes = matcher_->bytes() + rvlScratch_.bytes() + points_.bytes() + smoothRange_.bytes() + smooth_[0].bytes() +
                 smooth_[1].bytes() + speckleScratch_.bytes() + fillScratch_.bytes() + right_.bytes() +
                 certainty_.bytes() + limit_.bytes() + blockSums_.bytes() + unrepairedSure_.bytes() +
                 confidence_.bytes() + doubledConfidence_.bytes() + keptConfidence_.bytes() + matched_.bytes() +
                 repaired_.bytes() + filled_.bytes() + edged_.bytes() + furtherRound_.bytes() + refined_.bytes() +
                 doubled_.bytes() + keptDisparity_.bytes();
  for (int side = 0; side < 2; ++side) {
    bytes += map_[side].bytes() + window_[side].bytes() + half_[side].bytes();
    bytes += rgb_[side].bytes() + windowRgb_[side].bytes() + halfRgb_[side].bytes();
  }
  return bytes;
}

}  // namespace gpu
}  // namespace depthwatt
