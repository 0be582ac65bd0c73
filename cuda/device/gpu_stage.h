// SPDX-License-Identifier: Apache-2.0
// The interface of a CUDA stage for the backend; stage.h is the whole contract. A stage allocates everything when it is
// opened.
#pragma once

#include <cuda_runtime.h>

#include <new>

#include "../stage.h"
#include "check.h"

namespace depthwatt {
namespace gpu {

/// run() queues kernels and asynchronous copies on `stream`, with the same pointers at every call. The backend captures
/// them into a graph and replays it for every frame, so run() must not allocate, wait or use the default stream.
class GpuStage {
 public:
  virtual ~GpuStage() = default;
  virtual Status run(const StageImages& images, cudaStream_t stream) = 0;
  /// Applies an adaptation from the next frame on. leftMap and rightMap replace the maps given at open; null restores
  /// those. No kernel runs meanwhile. Sets `requeue` if run() now queues something else, so that the graph must be
  /// captured again.
  virtual Status adapt(const Adaptation&, const int32_t* leftMap, const int32_t* rightMap, bool* requeue) {
    (void)leftMap, (void)rightMap, (void)requeue;
    return {};
  }
  /// Queues on `stream`, outside the graph, the clearing of the stage's memory of earlier frames.
  virtual Status forget(cudaStream_t stream) {
    (void)stream;
    return {};
  }
  /// Returns the bytes of device memory held.
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

inline Status noMemoryForStage() { return Status::error(Code::kFailed, "Not enough memory for a stage."); }

/// A stage without memory: launch(images, stream).
template <class Launch>
Status launchStage(std::unique_ptr<GpuStage>* opened, Launch launch) {
  opened->reset(new (std::nothrow) detail::LaunchStage<Launch>(std::move(launch)));
  return *opened != nullptr ? Status() : noMemoryForStage();
}

/// Opens a stage of type S, constructed from the task.
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
