// SPDX-License-Identifier: Apache-2.0
// A stage on the device, as the backend sees it; stage.h is the contract as a whole. Everything is allocated when it is opened.
#pragma once

#include <cuda_runtime.h>

#include <new>

#include "../stage.h"
#include "check.h"

namespace depthwatt {
namespace gpu {

/// What run() queues is captured into a graph and replayed for every frame: kernels and asynchronous copies on `stream`, with the same
/// pointers at every call. No allocation, no waiting, no default stream.
class GpuStage {
 public:
  virtual ~GpuStage() = default;
  virtual Status run(const StageImages& images, cudaStream_t stream) = 0;
  /// From the next frame on. leftMap, rightMap: replace the maps it was opened with; null: as opened. No kernel runs.
  /// requeue: set where what run() queues changes, so that a captured graph has to be captured again.
  virtual Status adapt(const Adaptation&, const int32_t* leftMap, const int32_t* rightMap, bool* requeue) {
    (void)leftMap, (void)rightMap, (void)requeue;
    return {};
  }
  /// Queues the clearing of what the stage remembers of earlier frames on `stream`, outside the graph.
  virtual Status forget(cudaStream_t stream) {
    (void)stream;
    return {};
  }
  /// Device memory held.
  virtual size_t bytes() const { return 0; }
};

namespace detail {

template <class Launch>
class LaunchStage final : public GpuStage {
 public:
  explicit LaunchStage(Launch launch) : launch_(std::move(launch)) {}
  Status run(const StageImages& images, cudaStream_t stream) override { return launch_(images, stream); }

 private:
  const Launch launch_;
};

}  // namespace detail

inline Status noMemoryForStage() { return Status::error(Code::kFailed, "Expected memory for a stage, there is none."); }

/// A stage without memory of its own: launch(images, stream).
template <class Launch>
Status launchStage(std::unique_ptr<GpuStage>* opened, Launch launch) {
  opened->reset(new (std::nothrow) detail::LaunchStage<Launch>(std::move(launch)));
  return *opened != nullptr ? Status() : noMemoryForStage();
}

/// A stage of type S, which is constructed from the task and opened.
template <class S>
Status openStage(const StageTask& task, std::unique_ptr<GpuStage>* opened) {
  std::unique_ptr<S> stage(new (std::nothrow) S(task));
  if (stage == nullptr) return noMemoryForStage();
  const Status status = stage->open();
  if (status.ok()) *opened = std::move(stage);
  return status;
}

}  // namespace gpu
}  // namespace depthwatt
