// SPDX-License-Identifier: Apache-2.0
// Every device buffer, stream and event, made at open, and the stages that are queued on them; see gpu_backend.h.
//
// A stage only queues work; finish() waits once per frame. Two streams: one computes, the other carries the left image home
// meanwhile. The caller's memory is page-locked where the system allows it (attach), else the driver copies through its own.
#include "gpu_backend.h"

#include <cmath>
#include <new>

#include "../encode/bodies.h"
#include "../match_scope.h"
#include "../refine/upscale/upscale.h"
#include "device_buffer.h"
#include "kernels.h"
#include "matcher.h"

namespace depthwatt {
namespace gpu {
namespace {

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(const EngineParameters& parameters)
      : p_(parameters),
        scope_(matchScopeOf(parameters)),
        pixels_(static_cast<size_t>(p_.width) * p_.height),
        matchedPixels_(static_cast<size_t>(scope_.width) * scope_.height) {}

  ~GpuBackend() override {
    detach();
    for (cudaEvent_t event : stageEnd_) cudaEventDestroy(event);
    for (cudaEvent_t event : {started_, leftReady_}) cudaEventDestroy(event);
    for (cudaStream_t stream : {stream_, copies_}) cudaStreamDestroy(stream);
  }

  Status open() {
    DEPTHWATT_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
    DEPTHWATT_CUDA(cudaStreamCreateWithFlags(&copies_, cudaStreamNonBlocking));
    DEPTHWATT_CUDA(cudaEventCreateWithFlags(&leftReady_, cudaEventDisableTiming));
    DEPTHWATT_CUDA(cudaEventCreate(&started_));
    for (cudaEvent_t& event : stageEnd_) DEPTHWATT_CUDA(cudaEventCreate(&event));
    inputBytes_[0] = sourceBytes(p_.inputWidth, p_.inputHeight, p_.leftStrideBytes, p_.leftFormat);
    inputBytes_[1] = sourceBytes(p_.inputWidth, p_.inputHeight, p_.rightStrideBytes, p_.rightFormat);
    const std::vector<int32_t>* maps[2] = {&p_.leftMap, &p_.rightMap};
    for (int eye = 0; eye < 2; ++eye) {
      DEPTHWATT_TRY(raw_[eye].allocate(inputBytes_[eye]));
      DEPTHWATT_TRY(grey_[eye].allocate(pixels_));
      if (p_.halfResolution) DEPTHWATT_TRY(half_[eye].allocate(matchedPixels_));
      if (maps[eye]->empty()) continue;
      DEPTHWATT_TRY(map_[eye].allocate(maps[eye]->size()));
      DEPTHWATT_CUDA(cudaMemcpy(map_[eye].get(), maps[eye]->data(), map_[eye].bytes(), cudaMemcpyHostToDevice));
    }
    DEPTHWATT_TRY(matched_.allocate(matchedPixels_));
    DEPTHWATT_TRY(confidence_.allocate(matchedPixels_));
    if (fills()) DEPTHWATT_TRY(filled_.allocate(matchedPixels_));
    if (p_.boundary) DEPTHWATT_TRY(edged_.allocate(matchedPixels_));
    if (p_.median) DEPTHWATT_TRY(filtered_.allocate(matchedPixels_));
    if (p_.halfResolution) {
      DEPTHWATT_TRY(doubled_.allocate(pixels_));
      DEPTHWATT_TRY(doubledConfidence_.allocate(pixels_));
    }
    if (p_.speckle.minPixels > 0) DEPTHWATT_TRY(speckleScratch_.allocate(2 * matchedPixels_));
    if (fills()) DEPTHWATT_TRY(fillScratch_.allocate(static_cast<size_t>(scope_.height)));
    if (p_.hasGeometry) DEPTHWATT_TRY(depth_.allocate(pixels_));
    return openMatcher(p_, scope_, &matcher_);
  }

  void attach(const FrameOutput& output) override {
    lock(output.left, pixels_);
    lock(output.disparityQ4, pixels_ * sizeof(int16_t));
    lock(output.confidence, pixels_);
    lock(output.depthMillimetres, pixels_ * sizeof(uint16_t));
  }

  void detach() override {
    for (void* memory : locked_) cudaHostUnregister(memory);
    locked_.clear();
  }

  Status begin(const FrameInput& input, FrameOutput& output) override {
    output_ = &output;
    const uint8_t* eyes[2] = {input.left, input.right};
    for (int eye = 0; eye < 2; ++eye) {
      DEPTHWATT_CUDA(cudaMemcpyAsync(raw_[eye].get(), eyes[eye], inputBytes_[eye], cudaMemcpyHostToDevice, stream_));
    }
    return cudaStatus(cudaEventRecord(started_, stream_), "event");
  }

  Status rectify() override {
    const RectifySource sources[2] = {{raw_[0].get(), p_.inputWidth, p_.inputHeight, p_.leftStrideBytes, p_.leftFormat},
                                      {raw_[1].get(), p_.inputWidth, p_.inputHeight, p_.rightStrideBytes, p_.rightFormat}};
    for (int eye = 0; eye < 2; ++eye) {
      const int32_t* map = map_[eye].bytes() > 0 ? map_[eye].get() : nullptr;
      DEPTHWATT_TRY(gpu::rectify(sources[eye], map, grey_[eye].get(), p_.width, p_.height, stream_));
    }
    DEPTHWATT_CUDA(cudaEventRecord(leftReady_, stream_));
    DEPTHWATT_CUDA(cudaStreamWaitEvent(copies_, leftReady_, 0));
    if (!locked_.empty()) DEPTHWATT_TRY(fetch(output_->left, grey_[0], copies_));
    return ended(kRectify);
  }

  Status half() override {
    for (int eye = 0; eye < 2; ++eye) {
      DEPTHWATT_TRY(gpu::half(grey_[eye].get(), half_[eye].get(), p_.width, p_.height, stream_));
    }
    return ended(kHalf);
  }

  /// Refused when opened.
  Status region() override { return {}; }

  Status census() override {
    DEPTHWATT_TRY(matcher_->census({grey(0), grey(1)}, stream_));
    return ended(kCensus);
  }

  Status match() override {
    DEPTHWATT_TRY(matcher_->match({grey(0), grey(1)}, {matched_.get(), confidence_.get()}, stream_));
    return ended(kMatch);
  }

  /// Done where the matcher has both rows on the chip.
  Status leftRight() override { return {}; }

  Status speckle() override {
    DEPTHWATT_TRY(gpu::speckle(scope_.speckle, matched_.get(), confidence_.get(), speckleScratch_.get(), scope_.width,
                               scope_.height, stream_));
    return ended(kSpeckle);
  }

  Status fill() override {
    DEPTHWATT_TRY(gpu::fill(scope_.fill, grey(0), matched_.get(), filled_.get(), confidence_.get(), fillScratch_.get(),
                            scope_.width, scope_.height, stream_));
    return ended(kFill);
  }

  Status boundary() override {
    DEPTHWATT_TRY(gpu::boundary(grey(0), beforeBoundary().get(), edged_.get(), scope_.width, scope_.height, stream_));
    return ended(kBoundary);
  }

  Status median() override {
    DEPTHWATT_TRY(gpu::median(beforeMedian().get(), filtered_.get(), scope_.width, scope_.height, stream_));
    return ended(kMedian);
  }

  Status upscale() override {
    DEPTHWATT_TRY(gpu::upscale(kUpscaleThresholdQ4, grey_[0].get(), refined().get(), confidence_.get(), doubled_.get(),
                               doubledConfidence_.get(), p_.width, p_.height, stream_));
    return ended(kUpscale);
  }

  Status depth() override {
    DEPTHWATT_TRY(gpu::depthMillimetres(p_.geometry, disparity().get(), depth_.get(), p_.width, p_.height, stream_));
    return ended(kDepth);
  }

  Status finish() override {
    if (locked_.empty()) DEPTHWATT_TRY(fetch(output_->left, grey_[0], stream_));
    DEPTHWATT_TRY(fetch(output_->disparityQ4, disparity(), stream_));
    DEPTHWATT_TRY(fetch(output_->confidence, p_.halfResolution ? doubledConfidence_ : confidence_, stream_));
    if (p_.hasGeometry) DEPTHWATT_TRY(fetch(output_->depthMillimetres, depth_, stream_));
    DEPTHWATT_CUDA(cudaStreamSynchronize(copies_));
    DEPTHWATT_CUDA(cudaStreamSynchronize(stream_));
    cudaEvent_t before = started_;
    for (int stage = kRectify; stage <= kDepth; ++stage) {
      double& milliseconds = output_->stageMilliseconds[stage];
      if (stage == kLeftRight) milliseconds = std::nan("");
      if (std::isnan(milliseconds)) continue;
      float between = 0;
      DEPTHWATT_CUDA(cudaEventElapsedTime(&between, before, stageEnd_[stage]));
      milliseconds = between;
      before = stageEnd_[stage];
    }
    return {};
  }

  Status encode() override {
    if (p_.encodeDepth != Encoding::kNone) encodeDepthBody(p_, *output_);
    if (p_.encodeDisparity != Encoding::kNone) encodeDisparityBody(p_, *output_);
    return {};
  }

  size_t workspaceBytes() const override {
    size_t bytes = matcher_->bytes() + matched_.bytes() + filled_.bytes() + edged_.bytes() + filtered_.bytes() +
                   confidence_.bytes() + doubled_.bytes() + doubledConfidence_.bytes() +
                   speckleScratch_.bytes() + fillScratch_.bytes() + depth_.bytes();
    for (int eye = 0; eye < 2; ++eye) {
      bytes += raw_[eye].bytes() + grey_[eye].bytes() + half_[eye].bytes() + map_[eye].bytes();
    }
    return bytes;
  }
  const char* instructionSet() const override { return "cuda"; }
  int threads() const override { return 1; }

 private:
  bool fills() const { return p_.fill.method != FillMethod::kOff; }
  DeviceBuffer<int16_t>& beforeBoundary() { return fills() ? filled_ : matched_; }
  DeviceBuffer<int16_t>& beforeMedian() { return p_.boundary ? edged_ : beforeBoundary(); }
  DeviceBuffer<int16_t>& refined() { return p_.median ? filtered_ : beforeMedian(); }
  DeviceBuffer<int16_t>& disparity() { return p_.halfResolution ? doubled_ : refined(); }
  /// The image that is matched and refined.
  const uint8_t* grey(int eye) const { return p_.halfResolution ? half_[eye].get() : grey_[eye].get(); }
  Status ended(Stage stage) { return cudaStatus(cudaEventRecord(stageEnd_[stage], stream_), "event"); }

  template <class T>
  Status fetch(T* to, const DeviceBuffer<T>& from, cudaStream_t stream) {
    return cudaStatus(cudaMemcpyAsync(to, from.get(), from.bytes(), cudaMemcpyDeviceToHost, stream), "copy of a result");
  }

  /// Where the system does not page-lock the memory of others, copies are slower and nothing else changes.
  void lock(void* memory, size_t bytes) {
    if (memory == nullptr) return;
    if (cudaHostRegister(memory, bytes, cudaHostRegisterDefault) == cudaSuccess) locked_.push_back(memory);
    cudaGetLastError();
  }

  const EngineParameters p_;
  const MatchScope scope_;
  const size_t pixels_, matchedPixels_;  ///< of a result; of the images that are matched and refined
  size_t inputBytes_[2] = {};
  DeviceBuffer<uint8_t> raw_[2], grey_[2], half_[2], confidence_, doubledConfidence_;
  DeviceBuffer<int32_t> map_[2], speckleScratch_, fillScratch_;
  DeviceBuffer<int16_t> matched_, filled_, edged_, filtered_, doubled_;
  DeviceBuffer<uint16_t> depth_;
  std::unique_ptr<Matcher> matcher_;
  cudaStream_t stream_ = nullptr, copies_ = nullptr;
  cudaEvent_t started_ = nullptr, leftReady_ = nullptr, stageEnd_[kStageCount] = {};
  std::vector<void*> locked_;
  FrameOutput* output_ = nullptr;
};

}  // namespace

Status openGpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend) {
  if (!parameters.instructionSet.empty()) {
    return Status::error(Code::kBackendUnavailable,
                         "CUDA unavailable: the instruction set %.20s was asked for, which is the processor's.",
                         parameters.instructionSet.c_str());
  }
  if (parameters.region.width > 0) {
    return Status::error(Code::kBackendUnavailable, "CUDA unavailable: it matches whole images, and a region was asked for.");
  }
  std::unique_ptr<GpuBackend> opened(new (std::nothrow) GpuBackend(parameters));
  if (opened == nullptr) return Status::error(Code::kFailed, "Expected memory for the CUDA backend, there is none.");
  const Status status = opened->open();
  if (status.ok()) *backend = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
