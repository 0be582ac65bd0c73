// SPDX-License-Identifier: Apache-2.0
// The kernels of a frame as one graph, captured once, and the events between its steps.
#pragma once

#include <cmath>
#include <vector>

#include "../chain.h"
#include "../device/check.h"

namespace depthwatt {
namespace gpu {

// Events inside a graph have times from CUDA 11.1 on; before it frames are queued kernel by kernel, as for a comparison with
// DEPTHWATT_NO_GRAPH.
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

  /// `queue` queues work on `stream`, which is not done but remembered, in place of what was remembered before.
  template <class Queue>
  Status capture(cudaStream_t stream, Queue&& queue) {
    cudaGraph_t graph = nullptr;
    if (frame_ != nullptr) cudaGraphExecDestroy(frame_);
    frame_ = nullptr;
    // Of this thread alone: other engines of the process go on meanwhile.
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

/// When each step of one frame ended.
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

  /// captured: within a graph that is being captured, where an event would otherwise be a mere dependence.
  Status begin(cudaStream_t stream, bool captured) { return record(begun_, stream, captured); }
  Status end(size_t step, cudaStream_t stream, bool captured) { return record(ends_[step], stream, captured); }

  /// After the frame: adds the milliseconds of each step to those of its stage.
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
