// SPDX-License-Identifier: Apache-2.0
// Two frames in work on one device (decision 0005); see gpu_backend.h. Everything is made at open.
//   upload    copies of captured images, where kernels do not read them where they are
//   compute   the kernels of all frames, one frame after the other: a graph that was captured at open
//   download  results to the caller's memory, while the next frame computes
// run() queues a frame on the three, each joined to the one before it by an event, and waits. What travels as RVL is encoded by
// kernels, so that its bytes are copied, and points are made by kernels; raw disparity is prepared by run()'s own thread.
#include "gpu_backend.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <new>

#include "../output/bodies.h"
#include "../output/rvl/rvl.h"
#include "../stages.h"
#include "encoded_download.h"
#include "frame_graph.h"
#include "frame_stages.h"
#include "host_memory.h"

/// The stages of every so many frames are timed, from the first on; 0: never. On an H200 a frame whose eight stages are timed
/// takes 0.41 instead of 0.39 ms from submit to done, and with two frames in work 0.27 instead of 0.25 ms a frame.
#ifndef DEPTHWATT_TIMED_EVERY
#define DEPTHWATT_TIMED_EVERY 16
#endif

namespace depthwatt {
namespace gpu {
namespace {

constexpr int kFramesInWork = 2;
constexpr uint32_t kTimedEvery = DEPTHWATT_TIMED_EVERY;

/// An error in a kernel ends the process's context for good; only this makes room for another. Other engines of the process
/// had the same context and find out by themselves.
struct LeavesNoBrokenContext {
  ~LeavesNoBrokenContext() {
    cudaGetLastError();
    if (cudaFree(nullptr) == cudaSuccess) return;
    cudaDeviceReset();
    cudaGetLastError();
  }
};

/// What a frame in work has for itself.
struct FrameInWork {
  FrameInWork() = default;
  FrameInWork(const FrameInWork&) = delete;
  FrameInWork& operator=(const FrameInWork&) = delete;
  ~FrameInWork() {
    for (cudaEvent_t event : {uploaded, computed, downloaded}) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
  FrameImages images;
  EncodedDownload encodedDepth, encodedDisparity;
  StageEvents stages;
  FrameGraph timed, untimed;
  cudaEvent_t uploaded = nullptr, computed = nullptr, downloaded = nullptr;
};

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(const EngineParameters& parameters) : p_(parameters), stages_(parameters) {}

  ~GpuBackend() override {
    const cudaStream_t streams[] = {upload_, compute_, download_};
    // A frame that failed half way may have left copies behind.
    for (cudaStream_t stream : streams) {
      if (stream != nullptr) cudaStreamSynchronize(stream);
    }
    detach();
    for (cudaStream_t stream : streams) {
      if (stream != nullptr) cudaStreamDestroy(stream);
    }
  }

  Status open() {
    DeviceFacts facts;
    DEPTHWATT_TRY(readDeviceFacts(&facts));
    memory_.setPath(chooseInputPath(facts));
    for (cudaStream_t* stream : {&upload_, &compute_, &download_}) {
      DEPTHWATT_CUDA(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    }
    // A board has few CPU cores and counts joules: there the waiting thread sleeps.
    const unsigned how = cudaEventDisableTiming | (facts.integrated ? cudaEventBlockingSync : 0u);
    DEPTHWATT_TRY(stages_.open());
    for (FrameInWork& inWork : work_) {
      const size_t pixels = static_cast<size_t>(p_.width) * p_.height;
      DEPTHWATT_TRY(inWork.images.open(p_));
      if (p_.encodeDepth == Encoding::kRvl) DEPTHWATT_TRY(inWork.encodedDepth.open(pixels));
      if (p_.encodeDisparity == Encoding::kRvl) DEPTHWATT_TRY(inWork.encodedDisparity.open(pixels));
      DEPTHWATT_TRY(inWork.stages.open());
      for (cudaEvent_t* event : {&inWork.uploaded, &inWork.computed, &inWork.downloaded}) {
        DEPTHWATT_CUDA(cudaEventCreateWithFlags(event, how));
      }
    }
    DEPTHWATT_TRY(captureFrames());
    return cudaStatus(cudaStreamSynchronize(compute_), "cudaStreamSynchronize");
  }

  int framesInWork() const override { return kFramesInWork; }
  bool makesPoints() const override { return p_.makesPoints; }

  Status adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap) override {
    DEPTHWATT_CUDA(cudaStreamSynchronize(compute_));
    const bool readLeftMap = stages_.readsLeftMap();
    DEPTHWATT_TRY(stages_.adapt(adaptation, leftMap, rightMap));
    // What was captured reads no left map. This happens once: from then on there is one.
    return stages_.readsLeftMap() == readLeftMap || !rectifiesInGraph() ? Status() : captureFrames();
  }

  Status run(int index, const FrameInput& input, FrameOutput& output) override {
    FrameInWork& inWork = work_[index];
    // What a backend before this one left to this thread: a launch would find it and take it for its own.
    cudaGetLastError();
    for (double& milliseconds : output.stageMilliseconds) milliseconds = std::nan("");
    const uint8_t* sources[2] = {};
    DEPTHWATT_TRY(upload(inWork, input, sources));
    const bool timed = p_.repetitions > 1 || (kTimedEvery > 0 && frames_++ % kTimedEvery == 0);
    DEPTHWATT_TRY(queueKernels(inWork, sources, timed));
    DEPTHWATT_TRY(download(inWork, output));
    DEPTHWATT_TRY(
        cudaStatus(cudaEventSynchronize(inWork.downloaded), "a frame's kernels and copies (cudaEventSynchronize)"));
    if (timed) DEPTHWATT_TRY(inWork.stages.read(output.stageMilliseconds));
    return finishEncoding(inWork, output);
  }

  void attach(const FrameOutput& output) override {
    const size_t pixels = static_cast<size_t>(p_.width) * p_.height;
    memory_.add(output.left, pixels);
    if (p_.leftRgb) memory_.add(output.leftRgb, pixels * sizeof(Rgb8));
    memory_.add(output.disparityQ4, pixels * sizeof(int16_t));
    memory_.add(output.confidence, pixels);
    memory_.add(output.depthMillimetres, pixels * sizeof(uint16_t));
    if (p_.encodeDepth == Encoding::kRvl) memory_.add(output.encodedDepth, rvlBound(pixels));
    if (p_.encodeDisparity == Encoding::kRvl) memory_.add(output.encodedDisparity, rvlBound(pixels));
    if (p_.makesPoints) memory_.add(output.points, pixels * pointBytes(p_.points));
  }
  void attach(const InputMemory& input) override { memory_.add(input.data, input.bytes); }
  void detach() override { memory_.clear(); }

  size_t workspaceBytes() const override {
    size_t bytes = stages_.bytes();
    for (const FrameInWork& inWork : work_) bytes += inWork.images.bytes();
    return bytes;
  }
  const char* instructionSet() const override { return "cuda"; }
  int threads() const override { return kFramesInWork; }

 private:
  /// A repeated stage is queued kernel by kernel: a graph of 10000 runs would be one to build, not to measure.
  bool replays() const { return kHasGraphs && p_.repetitions == 1; }
  /// Where kernels read captured images at an address that changes from frame to frame, the graph begins behind them.
  bool rectifiesInGraph() const { return memory_.path() != InputPath::kMapped; }

  Status queueStage(FrameInWork& inWork, Stage which, Status (Stages::*step)(), bool timed, bool captured) {
    DEPTHWATT_TRY(runStage(p_, stages_, which, step));
    return timed ? inWork.stages.end(which, compute_, captured) : Status();
  }

  Status queueEncoding(FrameInWork& inWork, bool timed, bool captured) {
    if (!hasEncoding(p_)) return {};
    DEPTHWATT_TRY(stages_.encode());
    return timed ? inWork.stages.end(kEncode, compute_, captured) : Status();
  }

  Status capture(FrameInWork& inWork, FrameGraph& graph, bool timed) {
    stages_.select(inWork.images, inWork.images.raw[0].get(), inWork.images.raw[1].get(), compute_);
    return graph.capture(compute_, [&] {
      if (timed && rectifiesInGraph()) DEPTHWATT_TRY(inWork.stages.begin(compute_, true));
      DEPTHWATT_TRY(forEachStage(p_, [&](Stage which, Status (Stages::*step)()) {
        if (which == kRectify && !rectifiesInGraph()) return Status();
        return queueStage(inWork, which, step, timed, true);
      }));
      return queueEncoding(inWork, timed, true);
    });
  }

  Status captureFrames() {
    if (!replays()) return {};
    for (FrameInWork& inWork : work_) {
      DEPTHWATT_TRY(capture(inWork, inWork.timed, true));
      DEPTHWATT_TRY(capture(inWork, inWork.untimed, false));
    }
    return {};
  }

  Status upload(FrameInWork& inWork, const FrameInput& input, const uint8_t** sources) {
    const uint8_t* sides[2] = {input.left, input.right};
    for (int side = 0; side < 2; ++side) {
      const DeviceBuffer<uint8_t>& raw = inWork.images.raw[side];
      sources[side] = rectifiesInGraph() ? nullptr : memory_.onDevice(sides[side], raw.bytes());
      if (sources[side] != nullptr) continue;
      sources[side] = raw.get();
      DEPTHWATT_TRY(cudaStatus(cudaMemcpyAsync(raw.get(), sides[side], raw.bytes(), cudaMemcpyHostToDevice, upload_),
                               "copy of a captured image"));
    }
    return cudaStatus(cudaEventRecord(inWork.uploaded, upload_), "cudaEventRecord");
  }

  Status queueKernels(FrameInWork& inWork, const uint8_t* const* sources, bool timed) {
    const std::lock_guard<std::mutex> alone(computeMutex_);
    DEPTHWATT_CUDA(cudaStreamWaitEvent(compute_, inWork.uploaded, 0));
    FrameGraph& graph = timed ? inWork.timed : inWork.untimed;
    if (timed && !(graph.captured() && rectifiesInGraph())) DEPTHWATT_TRY(inWork.stages.begin(compute_, false));
    stages_.select(inWork.images, sources[0], sources[1], compute_);
    if (!graph.captured()) {
      DEPTHWATT_TRY(forEachStage(
          p_, [&](Stage which, Status (Stages::*step)()) { return queueStage(inWork, which, step, timed, false); }));
      DEPTHWATT_TRY(queueEncoding(inWork, timed, false));
    } else {
      if (!rectifiesInGraph()) DEPTHWATT_TRY(queueStage(inWork, kRectify, &Stages::rectify, timed, false));
      DEPTHWATT_TRY(graph.launch(compute_));
    }
    return cudaStatus(cudaEventRecord(inWork.computed, compute_), "cudaEventRecord");
  }

  Status download(FrameInWork& inWork, FrameOutput& output) {
    DEPTHWATT_CUDA(cudaStreamWaitEvent(download_, inWork.computed, 0));
    DEPTHWATT_TRY(fetch(output.disparityQ4, inWork.images.disparity));
    if (p_.hasGeometry) DEPTHWATT_TRY(fetch(output.depthMillimetres, inWork.images.depth));
    DEPTHWATT_TRY(fetch(output.confidence, inWork.images.confidence));
    DEPTHWATT_TRY(fetch(output.left, inWork.images.left));
    if (p_.leftRgb) DEPTHWATT_TRY(fetch(output.leftRgb, inWork.images.leftRgb));
    if (p_.makesPoints) DEPTHWATT_TRY(fetch(output.points, inWork.images.points));
    const FrameImages& images = inWork.images;
    if (p_.encodeDepth == Encoding::kRvl)
      DEPTHWATT_TRY(inWork.encodedDepth.queue(images.rvlDepth, output.encodedDepth, download_));
    if (p_.encodeDisparity == Encoding::kRvl) {
      DEPTHWATT_TRY(inWork.encodedDisparity.queue(images.rvlDisparity, output.encodedDisparity, download_));
    }
    return cudaStatus(cudaEventRecord(inWork.downloaded, download_), "cudaEventRecord");
  }

  template <class T>
  Status fetch(T* to, const DeviceBuffer<T>& from) {
    return cudaStatus(cudaMemcpyAsync(to, from.get(), from.bytes(), cudaMemcpyDeviceToHost, download_),
                      "copy of a result");
  }

  Status finishEncoding(FrameInWork& inWork, FrameOutput& output) {
    const FrameImages& images = inWork.images;
    if (p_.encodeDepth == Encoding::kRvl) {
      DEPTHWATT_TRY(
          inWork.encodedDepth.finish(images.rvlDepth, output.encodedDepth, &output.encodedDepthBytes, download_));
    }
    if (p_.encodeDisparity == Encoding::kRvl) {
      return inWork.encodedDisparity.finish(images.rvlDisparity, output.encodedDisparity, &output.encodedDisparityBytes,
                                            download_);
    }
    if (p_.encodeDisparity == Encoding::kNone) return {};
    const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    for (int32_t i = p_.repeatedStage == kEncode ? p_.repetitions : 1; i > 0; --i) encodeDisparityBody(p_, output);
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    double& encode = output.stageMilliseconds[kEncode];
    encode = (std::isnan(encode) ? 0 : encode) + taken.count();
    return {};
  }

  const LeavesNoBrokenContext last_{};  ///< the first member, so that it goes when everything else has gone
  const EngineParameters p_;
  HostMemory memory_;
  cudaStream_t upload_ = nullptr, compute_ = nullptr, download_ = nullptr;
  FrameStages stages_;
  FrameInWork work_[kFramesInWork];
  std::atomic<uint32_t> frames_{0};
  std::mutex computeMutex_;  ///< a frame's kernels stand together
};

}  // namespace

Status openGpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend) {
  if (!parameters.instructionSet.empty()) {
    return Status::error(Code::kBackendUnavailable,
                         "CUDA unavailable: the instruction set %.20s was asked for, which is the CPU's.",
                         parameters.instructionSet.c_str());
  }
  cudaGetLastError();  // what an engine that is gone left behind
  std::unique_ptr<GpuBackend> opened(new (std::nothrow) GpuBackend(parameters));
  if (opened == nullptr) return Status::error(Code::kFailed, "Expected memory for the CUDA backend, there is none.");
  const Status status = opened->open();
  if (status.ok()) *backend = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
