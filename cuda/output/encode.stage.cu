// SPDX-License-Identifier: Apache-2.0
// Encoding for the wire as a stage: its CUDA adapter, for RVL. The host prepares raw disparity (gpu/gpu_backend.cu).
#include "../device/gpu_stage.h"
#include "rvl/rvl_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

class EncodeOnGpu final : public GpuStage {
 public:
  explicit EncodeOnGpu(const StageTask& task) : p_(task.frame), pixels_(static_cast<size_t>(p_.width) * p_.height) {}

  Status open() {
    return p_.encodeDepth == Encoding::kRvl || p_.encodeDisparity == Encoding::kRvl ? scratch_.open(pixels_) : Status();
  }
  Status run(const StageImages& images, cudaStream_t stream) override {
    DEPTHWATT_TRY(encode(images.depthMillimetres.data, false, images.depthBody, stream));
    return encode(images.disparityIn.data, true, images.disparityBody, stream);
  }
  size_t bytes() const override { return scratch_.bytes(); }

 private:
  Status encode(const void* image, bool disparity, const EncodedBody& body, cudaStream_t stream) {
    if (body.data == nullptr) return {};
    return rvl(image, disparity, pixels_, scratch_, reinterpret_cast<uint32_t*>(body.data), body.bytes, stream);
  }

  const EngineParameters& p_;
  const size_t pixels_;
  RvlScratch scratch_;
};

}  // namespace

Status openEncodeOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<EncodeOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
