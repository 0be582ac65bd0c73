// SPDX-License-Identifier: Apache-2.0
// What the prediction of boards is fitted on and tested by (scripts/gpu-model.mjs): each kernel's own time, on the whole card
// and in partitions, with volumes that fit the second-level cache and such that do not, and beside a kernel that streams
// through device memory on all other multiprocessors, because a partition alone has the whole card's memory.
#pragma once

#include <chrono>
#include <memory>

#include "bench_frame.h"
#include "bench_partition.h"

namespace depthwatt {

/// Copies one buffer to another for so many nanoseconds; counts its bytes, read and written. While it runs nobody may allocate
/// or free: the driver would wait for it. (A flag of the host that all threads asked for took the whole card's time.)
__global__ void __launch_bounds__(256) streamKernel(uint4* from, uint4* to, size_t count, unsigned long long atMost,
                                                    unsigned long long* bytes) {
  const auto now = [] {
    unsigned long long nanoseconds;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
    return nanoseconds;
  };
  const unsigned long long begun = now();
  unsigned long long own = 0;
  const size_t step = static_cast<size_t>(gridDim.x) * blockDim.x;
  while (now() - begun < atMost) {
    for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x, n = 0; i < count; i += step, ++n) {
      to[i] = from[i];
      own += 2 * sizeof(uint4);
      if (n % 64 == 63 && now() - begun >= atMost) break;
    }
  }
  atomicAdd(bytes, own);
}

/// A stream through 1 GB in a context of its own, as often as it is asked for.
class DramStream {
 public:
  DramStream(CUcontext context, int multiprocessors) : context_(context), blocks_(8 * multiprocessors) {
    within([&] {
      require(from_.allocate(kCount));
      require(to_.allocate(kCount));
      require(counted_.allocate(1));
      require(cudaStatus(cudaMemset(from_.get(), 1, from_.bytes()), "stream"));
      require(cudaStatus(cudaDeviceSynchronize(), "stream"));
      require(cudaStatus(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
    });
  }
  void begin() {
    within([&] {
      require(cudaStatus(cudaMemset(counted_.get(), 0, counted_.bytes()), "stream"));
      require(cudaStatus(cudaDeviceSynchronize(), "stream"));
      begun_ = std::chrono::steady_clock::now();
      streamKernel<<<blocks_, 256, 0, stream_>>>(from_.get(), to_.get(), kCount, 1500000000ull, counted_.get());
      require(cudaStatus(cudaGetLastError(), "streamKernel"));
    });
  }
  /// Waits for its end. Gigabytes a second, read and written.
  double end() {
    unsigned long long bytes = 0;
    double seconds = 0;
    within([&] {
      require(cudaStatus(cudaStreamSynchronize(stream_), "stream"));
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
      require(cudaStatus(cudaMemcpy(&bytes, counted_.get(), sizeof bytes, cudaMemcpyDeviceToHost), "stream"));
    });
    return 1e-9 * static_cast<double>(bytes) / seconds;
  }

 private:
  template <class Work>
  void within(Work work) {
    CUcontext before;
    require(cuCtxGetCurrent(&before), "context");
    require(cuCtxSetCurrent(context_), "context");
    work();
    require(cuCtxSetCurrent(before), "context");
  }

  static constexpr size_t kCount = size_t{1} << 25;
  CUcontext context_;
  int blocks_;
  DeviceBuffer<uint4> from_, to_;
  DeviceBuffer<unsigned long long> counted_;
  cudaStream_t stream_ = nullptr;
  std::chrono::steady_clock::time_point begun_;
};

/// The kernels one after the other, 4 paths, 32 lanes and 8 lanes: graphs that end behind each, and their differences.
struct KernelTimes {
  double ms[6];  ///< census; costs; first half of the rows; columns; selection; median
};

/// beside: what streams meanwhile, or null; streamed: its rate.
inline KernelTimes timeKernels(const Size& size, int lanes, int multiprocessors, const std::vector<uint8_t>& left,
                               const std::vector<uint8_t>& right, DramStream* beside, double* streamed) {
  std::unique_ptr<Frame> frames[5];  // until census; costs, rows, columns, selection; without the median
  std::vector<std::unique_ptr<Replays>> replays;
  for (int stage = 0; stage <= 4; ++stage) {
    gpu::SgmTuning tuning;
    tuning.rowLanes = tuning.columnLanes = lanes, tuning.beside = -1, tuning.multiprocessors = multiprocessors;
    tuning.stages = stage;
    frames[stage].reset(new Frame(size, 4, left, right, tuning));
    Frame& frame = *frames[stage];
    replays.emplace_back(new Replays(frame.stream, [&] { frame.matchOnly(); }));
  }
  Frame& whole = *frames[4];
  replays.emplace_back(new Replays(whole.stream, [&] { whole.match(); }));
  for (auto& one : replays) one->once();
  if (beside != nullptr) beside->begin();
  double until[6];
  for (int i = 0; i < 6; ++i) until[i] = replays[i]->time(20).median;
  *streamed = beside != nullptr ? beside->end() : 0;
  return {{until[0], until[1] - until[0], until[2] - until[1], until[3] - until[2], until[4] - until[3], until[5] - until[4]}};
}

}  // namespace depthwatt
