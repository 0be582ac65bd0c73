// SPDX-License-Identifier: Apache-2.0
// The temporal filter as a stage: its CUDA adapter.
#include "../../device/device_buffer.h"
#include "../../device/gpu_stage.h"
#include "temporal_gpu.h"

namespace depthwatt {
namespace gpu {
namespace {

/// The state of a whole image, in one allocation.
class TemporalMemory {
 public:
  Status open(int32_t width, int32_t height) {
    width_ = width, height_ = height;
    return bytes_.allocate(pixels() * (2 * sizeof(int16_t) + 1));
  }
  TemporalState state() const {
    int16_t* const means = reinterpret_cast<int16_t*>(bytes_.get());
    return {packedView(means, width_, height_), packedView(weights(), width_, height_),
            packedView(means + pixels(), width_, height_)};
  }
  Status forget(cudaStream_t stream) {
    return cudaStatus(cudaMemsetAsync(weights(), 0, pixels(), stream), "state of the temporal filter");
  }
  Status copyTo(const TemporalMemory& other, cudaStream_t stream) const {
    return cudaStatus(
        cudaMemcpyAsync(other.bytes_.get(), bytes_.get(), bytes_.bytes(), cudaMemcpyDeviceToDevice, stream),
        "copy of the state of the temporal filter");
  }
  size_t bytes() const { return bytes_.bytes(); }

 private:
  size_t pixels() const { return static_cast<size_t>(width_) * static_cast<size_t>(height_); }
  uint8_t* weights() const { return bytes_.get() + pixels() * 2 * sizeof(int16_t); }

  int32_t width_ = 0, height_ = 0;
  DeviceBuffer<uint8_t> bytes_;
};

class TemporalOnGpu final : public GpuStage {
 public:
  explicit TemporalOnGpu(const StageTask& task)
      : width_(task.width), height_(task.height),
        repetitions_(task.frame.repeatedStage == kTemporalStage ? task.frame.repetitions : 1) {}

  Status open() {
    DEPTHWATT_TRY(memory_.open(width_, height_));
    if (repetitions_ > 1) DEPTHWATT_TRY(before_.open(width_, height_));
    DEPTHWATT_TRY(moved_.allocate(static_cast<size_t>(temporalTiles(width_)) * temporalTiles(height_)));
    DEPTHWATT_TRY(movedCount_.allocate(1));
    DEPTHWATT_TRY(forget(nullptr));
    return cudaStatus(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize");
  }

  Status run(const StageImages& images, cudaStream_t stream) override {
    // A repeated stage starts each run from the state before the frame, so that the result stays the same.
    if (repetitions_ > 1) {
      const bool first = runs_++ % repetitions_ == 0;
      DEPTHWATT_TRY(first ? memory_.copyTo(before_, stream) : before_.copyTo(memory_, stream));
    }
    return temporal(images.matcherGrey[0].data, images.disparityOut.data, memory_.state(), moved_.get(),
                    movedCount_.get(), stream);
  }

  Status forget(cudaStream_t stream) override { return memory_.forget(stream); }
  size_t bytes() const override { return memory_.bytes() + before_.bytes() + moved_.bytes() + movedCount_.bytes(); }

 private:
  const int32_t width_, height_, repetitions_;
  TemporalMemory memory_, before_;
  DeviceBuffer<uint8_t> moved_;
  DeviceBuffer<uint32_t> movedCount_;
  int32_t runs_ = 0;
};

}  // namespace

Status openTemporalOnGpu(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  return openStage<TemporalOnGpu>(task, opened);
}

}  // namespace gpu
}  // namespace depthwatt
