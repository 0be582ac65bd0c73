// SPDX-License-Identifier: Apache-2.0
// Computes two frames at once on one device (decision 0005); see gpu_backend.h. Everything is created at open.
//   upload    copies captured images, if kernels cannot read them in place
//   compute   runs the kernels of all frames, one frame after the other: a graph captured at open
//   download  copies results to the caller's memory while the next frame computes; a coherent board's kernels write
//             them there, and nothing is copied
// run() queues a frame on the three streams, joined by events, and waits. Kernels encode RVL, so that only its bytes are copied, and
// make points. run()'s own thread prepares raw disparity.
#include "gpu_backend.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <new>
#include <vector>

#include "../output/bodies.h"
#include "../chain.h"
#include "../device/device_buffer.h"
#include "../device/gpu_stage.h"
#include "../output/rvl/rvl.h"
#include "encoded_download.h"
#include "frame_graph.h"
#include "host_memory.h"

/// Times the stages of every so many frames, from the first on; 0: never. On an H200 a frame with eight timed stages
/// takes 0.41 instead of 0.39 ms from submit to done, and with two frames in work 0.27 instead of 0.25 ms a frame.
#ifndef DEPTHWATT_TIMED_EVERY
#define DEPTHWATT_TIMED_EVERY 16
#endif

namespace depthwatt {
namespace gpu {

// Weak: null if no file defines it.
#define DEPTHWATT_DECLARE(name, Name) \
  __attribute__((weak)) Status open##Name##OnGpu(const StageTask&, std::unique_ptr<GpuStage>*);
DEPTHWATT_STAGES(DEPTHWATT_DECLARE)
#undef DEPTHWATT_DECLARE

namespace {

#define DEPTHWATT_OPEN(name, Name) open##Name##OnGpu,
Status (*const kOpen[])(const StageTask&, std::unique_ptr<GpuStage>*) = {DEPTHWATT_STAGES(DEPTHWATT_OPEN)};
#undef DEPTHWATT_OPEN

constexpr int kFramesInWork = 2;
constexpr uint32_t kTimedEvery = DEPTHWATT_TIMED_EVERY;

/// Resets the device if its context is broken. An error in a kernel ends the process's context for good; only this
/// makes room for another. Other engines of the process shared the context and get an error at their next call.
struct LeavesNoBrokenContext {
  ~LeavesNoBrokenContext() {
    cudaGetLastError();
    if (cudaFree(nullptr) == cudaSuccess) return;
    cudaDeviceReset();
    cudaGetLastError();
  }
};

/// A caller's result memory that kernels write to, and the graphs that do so.
struct MappedResults {
  const void* caller = nullptr;  ///< FrameOutput::left of that memory
  uint8_t* buffers[kBufferCount] = {};
  FrameGraph timed, untimed;
};

/// Vector stores of kernels need this alignment.
constexpr uintptr_t kResultAlignment = 16;

/// The memory of one frame in work.
struct FrameInWork {
  FrameInWork() = default;
  FrameInWork(const FrameInWork&) = delete;
  FrameInWork& operator=(const FrameInWork&) = delete;
  ~FrameInWork() {
    for (cudaEvent_t event : {uploaded, computed, downloaded, copies[0], copies[1], copies[2], copies[3]}) {
      if (event != nullptr) cudaEventDestroy(event);
    }
  }
  DeviceBuffer<uint8_t> raw[2];  ///< a copy of each captured image, if kernels do not read the captured one
  DeviceBuffer<uint8_t> results[kBufferCount];
  EncodedImage rvlDepth, rvlDisparity;
  struct Dropped {
    int32_t pixels[kDropCauses];
  };
  HostValue<Dropped> dropped;  ///< if the threshold runs
  FrameMemory memory;
  EncodedDownload encodedDepth, encodedDisparity;
  StepEvents steps;
  FrameGraph timed, untimed;
  std::vector<std::unique_ptr<MappedResults>> mapped;
  cudaEvent_t uploaded = nullptr, computed = nullptr, downloaded = nullptr;
  cudaEvent_t copies[4] = {};  ///< begin and end of a timed frame's upload, then of its download
};

class GpuBackend final : public Backend {
 public:
  explicit GpuBackend(const EngineParameters& parameters) : p_(parameters), chain_(p_, WindowForm::kPacked) {}

  ~GpuBackend() override {
    const cudaStream_t streams[] = {upload_, compute_, download_};
    // A frame that failed may have left copies in flight.
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
    memory_.setRule(chooseInputRule(facts));
    multiprocessors_ = facts.multiprocessors;
    int priority = 0;
    DEPTHWATT_TRY(streamPriority(p_.rank, &priority));
    for (cudaStream_t* stream : {&upload_, &compute_, &download_}) {
      DEPTHWATT_CUDA(cudaStreamCreateWithPriority(stream, cudaStreamNonBlocking, priority));
    }
    // A board has few CPU cores and saves power: there the waiting thread sleeps.
    const unsigned how = cudaEventDisableTiming | (facts.integrated ? cudaEventBlockingSync : 0u);
    DEPTHWATT_TRY(chain_.check());
    DEPTHWATT_TRY(openStages());
    for (FrameInWork& inWork : work_) {
      DEPTHWATT_TRY(openFrame(inWork));
      for (cudaEvent_t* event : {&inWork.uploaded, &inWork.computed, &inWork.downloaded}) {
        DEPTHWATT_CUDA(cudaEventCreateWithFlags(event, how));
      }
      for (cudaEvent_t& event : inWork.copies) DEPTHWATT_CUDA(cudaEventCreate(&event));
    }
    DEPTHWATT_TRY(captureFrames());
    return cudaStatus(cudaStreamSynchronize(compute_), "cudaStreamSynchronize");
  }

  int framesInWork() const override { return kFramesInWork; }

  Status adapt(const Adaptation& adaptation, const int32_t* leftMap, const int32_t* rightMap) override {
    DEPTHWATT_CUDA(cudaStreamSynchronize(compute_));
    bool requeue = false;
    for (const std::unique_ptr<GpuStage>& stage : stages_) {
      if (stage != nullptr) DEPTHWATT_TRY(stage->adapt(adaptation, leftMap, rightMap, &requeue));
    }
    return requeue && rectifiesInGraph() ? captureFrames() : Status();
  }

  Status run(int index, const FrameInput& input, FrameOutput& output) override {
    FrameInWork& inWork = work_[index];
    // Clear an error that an earlier backend left to this thread, or the next launch would report it as its own.
    cudaGetLastError();
    for (double& milliseconds : output.stageMilliseconds) milliseconds = std::nan("");
    const uint8_t* sources[2] = {};
    const bool timed = p_.repetitions > 1 || (kTimedEvery > 0 && frames_++ % kTimedEvery == 0);
    DEPTHWATT_TRY(upload(inWork, input, sources, timed));
    MappedResults* const mapped = findMapped(inWork, output);
    output.paths = {memory_.path(input.left, inWork.raw[0].bytes()), mapped != nullptr, timed, 0, 0};
    DEPTHWATT_TRY(queueKernels(inWork, input, sources, timed, mapped));
    if (input.turns != nullptr) input.turns->pass(input.turn);
    DEPTHWATT_TRY(download(inWork, output, mapped != nullptr, timed));
    DEPTHWATT_TRY(
        cudaStatus(cudaEventSynchronize(inWork.downloaded), "a frame's kernels and copies (cudaEventSynchronize)"));
    if (timed) {
      DEPTHWATT_TRY(inWork.steps.read(chain_.steps(), output.stageMilliseconds));
      DEPTHWATT_TRY(readCopies(inWork, &output.paths));
    }
    if (chain_.runs(kThresholdStage)) std::copy_n(inWork.dropped.get()->pixels, kDropCauses, output.droppedPixels);
    return finishEncoding(inWork, output);
  }

  void attach(const FrameOutput& output) override {
    for (int buffer = kScratchCount; buffer < kDroppedResult; ++buffer)
      memory_.add(resultBuffer(output, buffer), chain_.bytes(static_cast<Buffer>(buffer)));
    const size_t pixels = static_cast<size_t>(p_.width) * p_.height;
    if (p_.encodeDepth == Encoding::kRvl) memory_.add(output.encodedDepth, rvlBound(pixels));
    if (p_.encodeDisparity == Encoding::kRvl) memory_.add(output.encodedDisparity, rvlBound(pixels));
    if (!mapsResults(memory_.rule())) return;
    for (FrameInWork& inWork : work_) map(inWork, output);
  }
  void attach(const InputMemory& input) override {
    // The memory of a driver cannot be page-locked.
    if (input.dmaBuffer < 0) memory_.add(input.data, input.bytes);
    else memory_.import(input, p_.leftStrideBytes);
  }
  void detach() override {
    for (FrameInWork& inWork : work_) inWork.mapped.clear();
    memory_.clear();
  }

  size_t workspaceBytes() const override {
    size_t bytes = 0;
    for (const DeviceBuffer<uint8_t>& buffer : scratch_) bytes += buffer.bytes();
    for (const std::unique_ptr<GpuStage>& stage : stages_) bytes += stage != nullptr ? stage->bytes() : 0;
    for (const FrameInWork& inWork : work_) {
      for (const DeviceBuffer<uint8_t>& buffer : inWork.results) bytes += buffer.bytes();
      bytes += inWork.raw[0].bytes() + inWork.raw[1].bytes() + inWork.rvlDepth.words.bytes() +
               inWork.rvlDisparity.words.bytes();
    }
    return bytes;
  }
  const char* instructionSet() const override { return "cuda"; }
  int threads() const override { return kFramesInWork; }
  int multiprocessors() const override { return multiprocessors_; }

 private:
  Status openStages() {
    for (int buffer = 0; buffer < kScratchCount; ++buffer) {
      const size_t bytes = chain_.bytes(static_cast<Buffer>(buffer));
      if (bytes > 0) DEPTHWATT_TRY(scratch_[buffer].allocate(bytes));
    }
    for (int i = 0; i < kStageCount; ++i) {
      const Stage stage = static_cast<Stage>(i);
      if (!chain_.runs(stage)) continue;
      if (kOpen[stage] == nullptr)
        return Status::error(Code::kBackendUnavailable, "CUDA unavailable: it has no kernels for the stage %.40s.",
                             chain_.facts(stage).name);
      DEPTHWATT_TRY(chain_.named(stage, kOpen[stage](chain_.task(), &stages_[stage])));
    }
    return {};
  }

  Status openFrame(FrameInWork& inWork) {
    const size_t pixels = static_cast<size_t>(p_.width) * p_.height;
    for (int side = 0; side < 2; ++side) {
      DEPTHWATT_TRY(inWork.raw[side].allocate(inputBytes(p_, side)));
      inWork.memory.captured[side] = inWork.raw[side].get();
    }
    for (int buffer = 0; buffer < kBufferCount; ++buffer) {
      inWork.memory.buffers[buffer] = buffer < kScratchCount ? scratch_[buffer].get() : nullptr;
      const size_t bytes = buffer < kScratchCount ? 0 : chain_.bytes(static_cast<Buffer>(buffer));
      if (bytes == 0) continue;
      DEPTHWATT_TRY(inWork.results[buffer].allocate(bytes));
      inWork.memory.buffers[buffer] = inWork.results[buffer].get();
    }
    if (chain_.runs(kThresholdStage)) DEPTHWATT_TRY(inWork.dropped.allocate());
    if (p_.encodeDepth == Encoding::kRvl) {
      DEPTHWATT_TRY(inWork.rvlDepth.open(pixels));
      DEPTHWATT_TRY(inWork.encodedDepth.open(pixels));
      inWork.memory.depthBody = {reinterpret_cast<uint8_t*>(inWork.rvlDepth.words.get()), inWork.rvlDepth.bytes.get()};
    }
    if (p_.encodeDisparity == Encoding::kRvl) {
      DEPTHWATT_TRY(inWork.rvlDisparity.open(pixels));
      DEPTHWATT_TRY(inWork.encodedDisparity.open(pixels));
      inWork.memory.disparityBody = {reinterpret_cast<uint8_t*>(inWork.rvlDisparity.words.get()),
                                     inWork.rvlDisparity.bytes.get()};
    }
    return inWork.steps.open(chain_.steps().size());
  }

  /// A repeated stage is queued kernel by kernel: building a graph of 10000 runs would take longer than measuring it.
  bool replays() const { return kHasGraphs && p_.repetitions == 1; }
  /// The graph begins after rectification if kernels read captured images in place, because their address changes from
  /// frame to frame. A pair that brings its disparity is copied, because the match stage reads it too.
  bool rectifiesInGraph() const { return !memory_.readsInPlace() || bringsDisparity(p_); }

  /// Prepares kernels that write into the caller's memory. If that cannot be, results are copied there.
  void map(FrameInWork& inWork, const FrameOutput& output) {
    std::unique_ptr<MappedResults> mapped(new (std::nothrow) MappedResults);
    if (mapped == nullptr) return;
    mapped->caller = output.left;
    for (int buffer = kScratchCount; buffer < kBufferCount; ++buffer) {
      const size_t bytes = inWork.results[buffer].bytes();
      mapped->buffers[buffer] = inWork.results[buffer].get();
      if (bytes == 0 || buffer == kDroppedResult) continue;
      const uint8_t* const there = memory_.onDevice(static_cast<const uint8_t*>(resultBuffer(output, buffer)), bytes);
      if (there == nullptr || reinterpret_cast<uintptr_t>(there) % kResultAlignment != 0) return;
      mapped->buffers[buffer] = const_cast<uint8_t*>(there);
    }
    useResults(inWork, mapped.get());
    const bool captured =
        !replays() || (capture(inWork, mapped->timed, true).ok() && capture(inWork, mapped->untimed, false).ok());
    useResults(inWork, nullptr);
    cudaGetLastError();
    if (captured) inWork.mapped.push_back(std::move(mapped));
  }

  static MappedResults* findMapped(const FrameInWork& inWork, const FrameOutput& output) {
    for (const std::unique_ptr<MappedResults>& mapped : inWork.mapped) {
      if (mapped->caller == output.left) return mapped.get();
    }
    return nullptr;
  }

  /// @param mapped null: the device's own memory
  static void useResults(FrameInWork& inWork, const MappedResults* mapped) {
    for (int buffer = kScratchCount; buffer < kBufferCount; ++buffer)
      inWork.memory.buffers[buffer] = mapped != nullptr ? mapped->buffers[buffer] : inWork.results[buffer].get();
  }

  /// Queues the steps [first, end).
  Status queueSteps(FrameInWork& inWork, size_t first, size_t end, bool timed, bool captured) {
    for (size_t i = first; i < end; ++i) {
      const Chain::Step& step = chain_.steps()[i];
      const StageImages images = chain_.images(step, inWork.memory);
      DEPTHWATT_TRY(chain_.runStep(
          step, images, inWork.memory, [&] { return stages_[step.stage]->run(images, compute_); },
          [&](const Chain::RefinedImages& from, const Chain::RefinedImages& to) { return copy(from, to); }));
      if (timed) DEPTHWATT_TRY(inWork.steps.end(i, compute_, captured));
    }
    return {};
  }

  Status copy(const Chain::RefinedImages& from, const Chain::RefinedImages& to) {
    const size_t pixels = static_cast<size_t>(from.disparity.width) * from.disparity.height;
    DEPTHWATT_CUDA(cudaMemcpyAsync(to.disparity.data, from.disparity.data, pixels * sizeof(int16_t),
                                   cudaMemcpyDeviceToDevice, compute_));
    return cudaStatus(
        cudaMemcpyAsync(to.confidence.data, from.confidence.data, pixels, cudaMemcpyDeviceToDevice, compute_),
        "copy of the confidence");
  }

  Status capture(FrameInWork& inWork, FrameGraph& graph, bool timed) {
    inWork.memory.captured[0] = inWork.raw[0].get();
    inWork.memory.captured[1] = inWork.raw[1].get();
    return graph.capture(compute_, [&] {
      if (timed && rectifiesInGraph()) DEPTHWATT_TRY(inWork.steps.begin(compute_, true));
      return queueSteps(inWork, rectifiesInGraph() ? 0 : 1, chain_.steps().size(), timed, true);
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

  static Status readCopies(const FrameInWork& inWork, MemoryPaths* paths) {
    float upload = 0, download = 0;
    DEPTHWATT_CUDA(cudaEventElapsedTime(&upload, inWork.copies[0], inWork.copies[1]));
    DEPTHWATT_CUDA(cudaEventElapsedTime(&download, inWork.copies[2], inWork.copies[3]));
    paths->inputMicroseconds = 1000.0 * upload;
    paths->resultMicroseconds = 1000.0 * download;
    return {};
  }

  Status upload(FrameInWork& inWork, const FrameInput& input, const uint8_t** sources, bool timed) {
    const uint8_t* sides[2] = {input.left, input.right};
    if (timed) DEPTHWATT_CUDA(cudaEventRecord(inWork.copies[0], upload_));
    for (int side = 0; side < 2; ++side) {
      const DeviceBuffer<uint8_t>& raw = inWork.raw[side];
      sources[side] = rectifiesInGraph() ? nullptr : memory_.onDevice(sides[side], raw.bytes());
      if (sources[side] != nullptr) continue;
      sources[side] = raw.get();
      DEPTHWATT_TRY(cudaStatus(cudaMemcpyAsync(raw.get(), sides[side], raw.bytes(), cudaMemcpyHostToDevice, upload_),
                               "copy of a captured image"));
    }
    if (timed) DEPTHWATT_CUDA(cudaEventRecord(inWork.copies[1], upload_));
    return cudaStatus(cudaEventRecord(inWork.uploaded, upload_), "cudaEventRecord");
  }

  Status queueKernels(FrameInWork& inWork, const FrameInput& input, const uint8_t* const* sources, bool timed,
                      MappedResults* mapped) {
    const std::lock_guard<std::mutex> alone(computeMutex_);
    DEPTHWATT_CUDA(cudaStreamWaitEvent(compute_, inWork.uploaded, 0));
    for (const std::unique_ptr<GpuStage>& stage : stages_) {
      if (stage != nullptr && !input.follows) DEPTHWATT_TRY(stage->forget(compute_));
    }
    useResults(inWork, mapped);
    FrameGraph& graph =
        mapped != nullptr ? (timed ? mapped->timed : mapped->untimed) : (timed ? inWork.timed : inWork.untimed);
    if (timed && !(graph.captured() && rectifiesInGraph())) DEPTHWATT_TRY(inWork.steps.begin(compute_, false));
    inWork.memory.captured[0] = sources[0];
    inWork.memory.captured[1] = sources[1];
    if (!graph.captured()) {
      DEPTHWATT_TRY(queueSteps(inWork, 0, chain_.steps().size(), timed, false));
    } else {
      if (!rectifiesInGraph()) DEPTHWATT_TRY(queueSteps(inWork, 0, 1, timed, false));
      DEPTHWATT_TRY(graph.launch(compute_));
    }
    return cudaStatus(cudaEventRecord(inWork.computed, compute_), "cudaEventRecord");
  }

  /// @param mapped kernels have written the results where they belong
  Status download(FrameInWork& inWork, FrameOutput& output, bool mapped, bool timed) {
    DEPTHWATT_CUDA(cudaStreamWaitEvent(download_, inWork.computed, 0));
    if (timed) DEPTHWATT_CUDA(cudaEventRecord(inWork.copies[2], download_));
    for (int buffer = kScratchCount; buffer < kBufferCount; ++buffer) {
      const DeviceBuffer<uint8_t>& from = inWork.results[buffer];
      if (from.bytes() == 0 || (mapped && buffer != kDroppedResult)) continue;
      void* const to = buffer == kDroppedResult ? inWork.dropped.get() : resultBuffer(output, buffer);
      DEPTHWATT_TRY(cudaStatus(cudaMemcpyAsync(to, from.get(), from.bytes(), cudaMemcpyDeviceToHost, download_),
                               "copy of a result"));
    }
    if (p_.encodeDepth == Encoding::kRvl)
      DEPTHWATT_TRY(inWork.encodedDepth.queue(inWork.rvlDepth, output.encodedDepth, download_));
    if (p_.encodeDisparity == Encoding::kRvl)
      DEPTHWATT_TRY(inWork.encodedDisparity.queue(inWork.rvlDisparity, output.encodedDisparity, download_));
    if (timed) DEPTHWATT_CUDA(cudaEventRecord(inWork.copies[3], download_));
    return cudaStatus(cudaEventRecord(inWork.downloaded, download_), "cudaEventRecord");
  }

  static void* resultBuffer(const FrameOutput& output, int buffer) {
    switch (buffer) {
      case kLeftResult: return output.left;
      case kLeftRgbResult: return output.leftRgb;
      case kRightResult: return output.right;
      case kDisparityResult: return output.disparityQ4;
      case kConfidenceResult: return output.confidence;
      case kDepthResult: return output.depthMillimetres;
      case kVoxelsResult: return output.voxels;
      case kRegisteredResult: return output.registered;
      case kRegisteredConfidenceResult: return output.registeredConfidence;
      case kFloorResult: return output.floor;
      case kGridResult: return output.grid;
      default: return output.points;
    }
  }

  Status finishEncoding(FrameInWork& inWork, FrameOutput& output) {
    output.encodedDepthBytes = output.encodedDisparityBytes = 0;
    if (p_.encodeDepth == Encoding::kRvl) {
      DEPTHWATT_TRY(
          inWork.encodedDepth.finish(inWork.rvlDepth, output.encodedDepth, &output.encodedDepthBytes, download_));
    }
    if (p_.encodeDisparity == Encoding::kRvl) {
      return inWork.encodedDisparity.finish(inWork.rvlDisparity, output.encodedDisparity, &output.encodedDisparityBytes,
                                            download_);
    }
    if (p_.encodeDisparity == Encoding::kNone) return {};
    const std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    uint32_t bytes = 0;
    for (int32_t i = p_.repeatedStage == kEncodeStage ? p_.repetitions : 1; i > 0; --i) {
      encodeDisparityBody(p_.encodeDisparity, packedView<const int16_t>(output.disparityQ4, p_.width, p_.height),
                          {output.encodedDisparity, &bytes});
    }
    output.encodedDisparityBytes = bytes;
    const std::chrono::duration<double, std::milli> taken = std::chrono::steady_clock::now() - start;
    double& encode = output.stageMilliseconds[kEncodeStage];
    encode = (std::isnan(encode) ? 0 : encode) + taken.count();
    return {};
  }

  const LeavesNoBrokenContext last_{};  ///< the first member, so that it is destroyed last
  const EngineParameters p_;
  HostMemory memory_;
  int multiprocessors_ = 0;
  cudaStream_t upload_ = nullptr, compute_ = nullptr, download_ = nullptr;
  const Chain chain_;
  DeviceBuffer<uint8_t> scratch_[kScratchCount];
  std::unique_ptr<GpuStage> stages_[kStageCount];
  FrameInWork work_[kFramesInWork];
  std::atomic<uint32_t> frames_{0};
  std::mutex computeMutex_;  ///< keeps one frame's kernels together
};

}  // namespace

Status openGpuBackend(const EngineParameters& parameters, std::unique_ptr<Backend>* backend) {
  if (!parameters.instructionSet.empty()) {
    return Status::error(Code::kBackendUnavailable,
                         "CUDA unavailable: the instruction set %.20s is a setting of the CPU backend.",
                         parameters.instructionSet.c_str());
  }
  cudaGetLastError();  // clear an error that a destroyed engine left
  std::unique_ptr<GpuBackend> opened(new (std::nothrow) GpuBackend(parameters));
  if (opened == nullptr) return Status::error(Code::kFailed, "Not enough memory for the CUDA backend.");
  const Status status = opened->open();
  if (status.ok()) *backend = std::move(opened);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
