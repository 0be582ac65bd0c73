// SPDX-License-Identifier: Apache-2.0
// Rectification as a stage: its CUDA adapter for both images, which also crops the window of a region of interest.
#include "../device/device_buffer.h"
#include "../device/gpu_stage.h"
#include "../output/region/region_gpu.h"
#include "rectify_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

class RectifyOnGpu final : public GpuStage {
 public:
  explicit RectifyOnGpu(const StageTask& task) : p_(task.frame), window_(task.window) {}

  Status open() {
    // If rows may move there is always a right map, so that a captured frame keeps its kernels. The left map is used
    // only after rows leave the right image for the first time; the frame is then captured again. Most rigs never need
    // it.
    const bool moves = p_.adaptation.movesRows() && p_.rightMap.empty();
    readsLeftMap_ = !p_.leftMap.empty();
    const std::vector<int32_t>* maps[2] = {&p_.leftMap, &p_.rightMap};
    for (int side = 0; side < 2; ++side) {
      if (moves) DEPTHWATT_TRY(map_[side].allocate(2 * static_cast<size_t>(p_.width) * p_.height));
      if (maps[side]->empty()) continue;
      DEPTHWATT_TRY(map_[side].allocate(maps[side]->size()));
      DEPTHWATT_CUDA(cudaMemcpy(map_[side].get(), maps[side]->data(), map_[side].bytes(), cudaMemcpyHostToDevice));
    }
    bool requeue = false;
    return moves ? adapt(Adaptation(), nullptr, nullptr, &requeue) : Status();
  }

  Status run(const StageImages& images, cudaStream_t stream) override {
    for (int side = 0; side < 2; ++side) {
      const RectifySource source = {images.captured[side],
                                    p_.inputWidth,
                                    p_.inputHeight,
                                    side == 0 ? p_.leftStrideBytes : p_.rightStrideBytes,
                                    side == 0 ? p_.leftFormat : p_.rightFormat,
                                    p_.at("rectify.blackLevel")};
      const bool reads = side == 0 ? readsLeftMap_ : map_[1].bytes() > 0;
      const int32_t* const map = reads ? map_[side].get() : nullptr;
      uint8_t* const grey = images.whole.grey[side].data;
      DEPTHWATT_TRY(rectify(source, map, grey, p_.width, p_.height, stream));
      if (!computesRgb(p_, side)) continue;
      Rgb8* const rgb = images.whole.rgb[side].data;
      // Without colours from the camera, red = green = blue = grey.
      DEPTHWATT_TRY(hasColours(source.format) ? rectifyRgb(source, map, rgb, p_.width, p_.height, stream)
                                              : greyAsRgb(grey, rgb, p_.width, p_.height, stream));
    }
    if (p_.region.width == 0) return {};
    if (needsRgb(p_, 0)) {
      DEPTHWATT_TRY(cropPair(images.whole.rgb[0].data, images.whole.rgb[1].data, p_.width, window_,
                             images.window.rgb[0].data, images.window.rgb[1].data, stream));
    }
    return cropPair(images.whole.grey[0].data, images.whole.grey[1].data, p_.width, window_, images.window.grey[0].data,
                    images.window.grey[1].data, stream);
  }

  Status adapt(const Adaptation&, const int32_t* leftMap, const int32_t* rightMap, bool* requeue) override {
    // Without a map to move, a given map belongs to a rotated camera.
    if (!p_.adaptation.movesRows() && (rightMap == nullptr || map_[1].bytes() == 0)) return {};
    DEPTHWATT_TRY(copyMap(1, rightMap));
    if (leftMap == nullptr && !leftMapMoved_) return {};
    leftMapMoved_ = leftMap != nullptr;
    *requeue = *requeue || !readsLeftMap_;
    readsLeftMap_ = true;
    return copyMap(0, leftMap);
  }

  size_t bytes() const override { return map_[0].bytes() + map_[1].bytes(); }

 private:
  /// @param map null: as opened
  Status copyMap(int side, const int32_t* map) {
    std::vector<int32_t> asOpened;
    if (map == nullptr) {
      asOpened = mapFurtherDown(side == 0 ? p_.leftMap : p_.rightMap, p_.width, p_.height, 0);
      map = asOpened.data();
    }
    return cudaStatus(cudaMemcpy(map_[side].get(), map, map_[side].bytes(), cudaMemcpyHostToDevice), "copy of a map");
  }

  const EngineParameters& p_;
  const Region window_;
  DeviceBuffer<int32_t> map_[2];
  bool readsLeftMap_ = false, leftMapMoved_ = false;
};

}  // namespace

Status openRectifyOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<RectifyOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
