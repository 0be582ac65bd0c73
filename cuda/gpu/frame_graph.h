// SPDX-License-Identifier: Apache-2.0
// The kernels of a frame as one graph, captured once, and events between its steps.
#pragma once

#include <cmath>
#include <vector>

#include "../chain.h"
#include "../device/check.h"

namespace depthwatt {
namespace gpu {

// Events inside a graph have times from CUDA 11.1 on. Before it, and with DEPTHWATT_NO_GRAPH, frames are queued kernel
// by kernel.
#if CUDART_VERSION >= 11010 && !defined(DEPTHWATT_NO_GRAPH)
constexpr bool kHasGraphs = true;
#else
constexpr bool kHasGraphs = false;
#endif

class FrameGraph {
 public:
  FrameGraph() = default;
  ~FrameGraph() {
    if (frame_ != nullptr) cudaGraphExecDestroy(frame_);
  }
  FrameGraph(const FrameGraph&) = delete;
  FrameGraph& operator=(const FrameGraph&) = delete;

  /// Captures the work that `queue` queues on `stream`. It replaces the previous capture and does not run.
  template <class Queue>
  Status capture(cudaStream_t stream, Queue&& queue) {
    cudaGraph_t graph = nullptr;
    if (frame_ != nullptr) cudaGraphExecDestroy(frame_);
    frame_ = nullptr;
    // Capture only this thread: other engines of the process may work meanwhile.
    DEPTHWATT_CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    Status status = queue();
    const Status ended = cudaStatus(cudaStreamEndCapture(stream, &graph), "cudaStreamEndCapture");
    if (status.ok()) status = ended;
#if CUDART_VERSION >= 12000
    if (status.ok()) status = cudaStatus(cudaGraphInstantiate(&frame_, graph, 0), "cudaGraphInstantiate");
#else
    if (status.ok())
      status = cudaStatus(cudaGraphInstantiate(&frame_, graph, nullptr, nullptr, 0), "cudaGraphInstantiate");
#endif
    if (graph != nullptr) cudaGraphDestroy(graph);
    return status;
  }

  bool captured() const { return frame_ != nullptr; }
  Status launch(cudaStream_t stream) { return cudaStatus(cudaGraphLaunch(frame_, stream), "cudaGraphLaunch"); }

 private:
  cudaGraphExec_t frame_ = nullptr;
};

/// Records when each step of one frame ended.
class StepEvents {
 public:
  StepEvents() = default;
  ~StepEvents() {
    for (cudaEvent_t event : ends_) {
      if (event != nullptr) cudaEventDestroy(event);
    }
    if (begun_ != nullptr) cudaEventDestroy(begun_);
  }
  StepEvents(const StepEvents&) = delete;
  StepEvents& operator=(const StepEvents&) = delete;

  Status open(size_t steps) {
    DEPTHWATT_CUDA(cudaEventCreate(&begun_));
    ends_.resize(steps);
    for (cudaEvent_t& event : ends_) DEPTHWATT_CUDA(cudaEventCreate(&event));
    return {};
  }

  /// @param captured within a graph that is being captured, where an event would otherwise only be a dependency
  Status begin(cudaStream_t stream, bool captured) { return record(begun_, stream, captured); }
  Status end(size_t step, cudaStream_t stream, bool captured) { return record(ends_[step], stream, captured); }

  /// After the frame: adds each step's milliseconds to its stage.
  Status read(const std::vector<Chain::Step>& steps, double* stageMilliseconds) const {
    cudaEvent_t before = begun_;
    for (size_t i = 0; i < ends_.size(); ++i) {
      float between = 0;
      DEPTHWATT_CUDA(cudaEventElapsedTime(&between, before, ends_[i]));
      double& total = stageMilliseconds[steps[i].stage];
      total = (std::isnan(total) ? 0 : total) + between;
      before = ends_[i];
    }
    return {};
  }

 private:
  static Status record(cudaEvent_t event, cudaStream_t stream, bool captured) {
#if CUDART_VERSION >= 11010
    if (captured)
      return cudaStatus(cudaEventRecordWithFlags(event, stream, cudaEventRecordExternal), "cudaEventRecordWithFlags");
#endif
    (void)captured;
    return cudaStatus(cudaEventRecord(event, stream), "cudaEventRecord");
  }

  cudaEvent_t begun_ = nullptr;
  std::vector<cudaEvent_t> ends_;
};

}  // namespace gpu
}  // namespace depthwatt
