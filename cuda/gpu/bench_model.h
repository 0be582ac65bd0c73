// SPDX-License-Identifier: Apache-2.0
// What the prediction of boards is fitted on and tested by (scripts/gpu-model.mjs): each kernel's own time, on the whole card
// and in partitions, with volumes that fit the second-level cache and such that do not, and beside a kernel that streams
// through device memory on all other multiprocessors, because a partition alone has the whole card's memory.
#pragma once

#include <chrono>

#include "bench_frame.h"
#include "bench_partition.h"

namespace depthwatt {

/// Copies one half of a buffer to the other until it is told to stop; counts its bytes, read and written.
__global__ void __launch_bounds__(256) streamKernel(uint4* from, uint4* to, size_t count, const volatile int* stop,
                                                    unsigned long long* bytes) {
  unsigned long long own = 0;
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  while (*stop == 0) {
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x, n = 0; i < count; i += step, ++n) {
      to[i] = from[i];
      own += 2 * sizeof(uint4);
      if (n % 64 == 63 && *stop != 0) break;
    }
  }
  atomicAdd(bytes, own);
}

/// Streams through 1 GB in a context of its own from construction to end().
class DramStream {
 public:
  DramStream(CUcontext context, int multiprocessors) : context_(context) {
    CUcontext before;
    require(cuCtxGetCurrent(&before), "context");
    require(cuCtxSetCurrent(context_), "context");
    require(cudaStatus(cudaHostAlloc(reinterpret_cast<void**>(&stop_), sizeof(int), cudaHostAllocMapped), "flag"));
    *stop_ = 0;
    require(from_.allocate(kCount));
    require(to_.allocate(kCount));
    require(counted_.allocate(1));
    require(cudaStatus(cudaMemset(from_.get(), 1, from_.bytes()), "stream"));
    require(cudaStatus(cudaMemset(counted_.get(), 0, counted_.bytes()), "stream"));
    require(cudaStatus(cudaDeviceSynchronize(), "stream"));
    require(cudaStatus(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
    begun_ = std::chrono::steady_clock::now();
    streamKernel<<<8 * multiprocessors, 256, 0, stream_>>>(from_.get(), to_.get(), kCount, stop_, counted_.get());
    require(cudaStatus(cudaGetLastError(), "streamKernel"));
    require(cuCtxSetCurrent(before), "context");
  }
  /// Gigabytes a second, read and written, over all of its life.
  double end() {
    *stop_ = 1;
    CUcontext before;
    require(cuCtxGetCurrent(&before), "context");
    require(cuCtxSetCurrent(context_), "context");
    require(cudaStatus(cudaStreamSynchronize(stream_), "stream"));
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
    unsigned long long bytes = 0;
    require(cudaStatus(cudaMemcpy(&bytes, counted_.get(), sizeof bytes, cudaMemcpyDeviceToHost), "stream"));
    require(cuCtxSetCurrent(before), "context");
    return 1e-9 * static_cast<double>(bytes) / seconds;
  }

 private:
  static constexpr size_t kCount = size_t{1} << 25;
  CUcontext context_;
  int* stop_ = nullptr;
  DeviceBuffer<uint4> from_, to_;
  DeviceBuffer<unsigned long long> counted_;
  cudaStream_t stream_ = nullptr;
  std::chrono::steady_clock::time_point begun_;
};

/// The kernels one after the other, 4 paths, 32 lanes and 8 lanes: graphs that end behind each, and their differences.
struct KernelTimes {
  double ms[6];  ///< census; costs; first half of the rows; columns; selection; median
};

inline KernelTimes timeKernels(const Size& size, int lanes, int multiprocessors, const std::vector<uint8_t>& left,
                               const std::vector<uint8_t>& right) {
  const auto nothing = [] {};
  double until[5] = {};  // census; to the end of costs, rows, columns, selection; without the median
  double all = 0;
  for (int stage = 0; stage <= 4; ++stage) {
    gpu::SgmTuning tuning;
    tuning.rowLanes = tuning.columnLanes = lanes, tuning.beside = -1, tuning.multiprocessors = multiprocessors;
    tuning.stages = stage;
    Frame frame(size, 4, left, right, tuning);
    until[stage] = timeGraph(frame.stream, [&] { frame.matchOnly(); }, nothing, 40).median;
    if (stage == 4) all = timeGraph(frame.stream, [&] { frame.match(); }, nothing, 40).median;
  }
  return {{until[0], until[1] - until[0], until[2] - until[1], until[3] - until[2], until[4] - until[3], all - until[4]}};
}

}  // namespace depthwatt
