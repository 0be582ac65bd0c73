// SPDX-License-Identifier: Apache-2.0
// A kernel that streams through device memory on its own multiprocessors while other work is timed, and the rate of a
// copy in a partition, alone and during the stream. A partition alone has the whole card's memory bandwidth, which a
// board lacks.
#pragma once

#include <chrono>
#include <thread>

#include "bench_frame.h"
#include "bench_partition.h"

namespace depthwatt {

struct StreamControl {
  unsigned stop;             ///< a kernel on the timed side sets it, without the host
  unsigned ranOut;           ///< a stream reached its time limit
  unsigned long long bytes;  ///< read and written
};

__device__ inline unsigned long long deviceNanoseconds() {
  unsigned long long nanoseconds;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(nanoseconds));
  return nanoseconds;
}

/// Copies one buffer to the other repeatedly, four loads of 16 bytes in flight on each thread; `count` is a whole
/// number of rounds of all threads. Runs until control->stop, or for this many nanoseconds.
__global__ void __launch_bounds__(256, 4)
    streamKernel(const uint4* from, uint4* to, size_t count, StreamControl* control, volatile int* started,
                 unsigned long long maxNanoseconds) {
  const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  const size_t first = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const unsigned long long begun = deviceNanoseconds();
  if (first == 0) *started = 1;
  unsigned long long own = 0;
  size_t i = first;
  for (;;) {
    for (int round = 0; round < 16; ++round) {
      uint4 values[4];
#pragma unroll
      for (int k = 0; k < 4; ++k) values[k] = __ldcg(from + i + k * threads);
#pragma unroll
      for (int k = 0; k < 4; ++k) to[i + k * threads] = values[k];
      i += 4 * threads;
      if (i >= count) i = first;
    }
    own += 16 * 4 * 2 * sizeof(uint4);
    if (*static_cast<volatile unsigned*>(&control->stop) != 0) break;
    if (deviceNanoseconds() - begun > maxNanoseconds) {
      control->ranOut = 1;
      break;
    }
  }
  atomicAdd(&control->bytes, own);
}

__global__ void stopKernel(StreamControl* control) { *static_cast<volatile unsigned*>(&control->stop) = 1; }

/// Copies the buffer once.
__global__ void __launch_bounds__(256, 4) copyKernel(const uint4* from, uint4* to, size_t count) {
  const size_t threads = static_cast<size_t>(gridDim.x) * blockDim.x;
  for (size_t i = static_cast<size_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += 4 * threads) {
    uint4 values[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) values[k] = __ldcg(from + i + k * threads);
#pragma unroll
    for (int k = 0; k < 4; ++k) to[i + k * threads] = values[k];
  }
}

/// Counts the clocks of a multiprocessor in this many nanoseconds.
__global__ void clockKernel(unsigned long long nanoseconds, unsigned long long* result) {
  const unsigned long long begun = deviceNanoseconds();
  const long long clock = clock64();
  unsigned long long now = begun;
  while (now - begun < nanoseconds) now = deviceNanoseconds();
  result[0] = static_cast<unsigned long long>(clock64() - clock);
  result[1] = now - begun;
}

/// Two buffers, at most a sixteenth of the free memory and 512 MB: far more than a second-level cache.
struct CopyBuffers {
  DeviceBuffer<uint4> from, to;
  int blocks = 0;
  size_t count = 0;

  void open(int multiprocessors) {
    size_t free = 0, total = 0;
    require(cudaStatus(cudaMemGetInfo(&free, &total), "memory"));
    blocks = 4 * multiprocessors;
    const size_t round = static_cast<size_t>(4) * blocks * 256;
    count = std::min<size_t>(free / 16, size_t{1} << 29) / sizeof(uint4) / round * round;
    if (count == 0) fail("too little device memory for the copies during the timings");
    require(from.allocate(count));
    require(to.allocate(count));
    require(cudaStatus(cudaMemset(from.get(), 1, from.bytes()), "copy"));
    require(cudaStatus(cudaDeviceSynchronize(), "copy"));
  }
  void copyOnce(cudaStream_t stream) const {
    copyKernel<<<blocks, 256, 0, stream>>>(from.get(), to.get(), count);
    require(cudaStatus(cudaGetLastError(), "copyKernel"));
  }
};

/// A stream in its own context. While it runs nothing may be allocated or freed: the driver would wait for it.
class DramStream {
 public:
  DramStream(CUcontext context, int multiprocessors) : context_(context) {
    require(cudaStatus(cudaHostAlloc(reinterpret_cast<void**>(&started_), sizeof(int), cudaHostAllocMapped), "stream"));
    within([&] {
      buffers_.open(multiprocessors);
      require(control_.allocate(1));
      require(cudaStatus(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "stream"));
    });
  }
  ~DramStream() {
    cudaStreamDestroy(stream_);
    cudaFreeHost(started_);
  }
  /// Starts the stream, and returns when it runs.
  void begin() {
    *started_ = 0;
    within([&] {
      require(cudaStatus(cudaMemset(control_.get(), 0, control_.bytes()), "stream"));
      require(cudaStatus(cudaDeviceSynchronize(), "stream"));
      streamKernel<<<buffers_.blocks, 256, 0, stream_>>>(buffers_.from.get(), buffers_.to.get(), buffers_.count,
                                                         control_.get(), started_, kMaxNanoseconds);
      require(cudaStatus(cudaGetLastError(), "streamKernel"));
    });
    const auto asked = std::chrono::steady_clock::now();
    while (*const_cast<volatile int*>(started_) == 0) {
      if (std::chrono::steady_clock::now() - asked > std::chrono::seconds(1))
        fail("the stream during the timings does not start");
    }
    begun_ = std::chrono::steady_clock::now();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));  // by now the stream fills the cache
  }
  /// Stops it by a kernel on `timed`, a stream of the timed side. Returns gigabytes a second, read and written.
  double end(cudaStream_t timed) {
    stopKernel<<<1, 1, 0, timed>>>(control_.get());
    require(cudaStatus(cudaStreamSynchronize(timed), "stopKernel"));
    StreamControl control = {};
    double seconds = 0;
    within([&] {
      require(cudaStatus(cudaStreamSynchronize(stream_), "stream"));
      seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun_).count();
      require(cudaStatus(cudaMemcpy(&control, control_.get(), sizeof control, cudaMemcpyDeviceToHost), "stream"));
    });
    // The timed work then ran in part without the stream, or waited for its end.
    if (control.ranOut != 0) fail("the stream during the timings ended before they did");
    return 1e-9 * static_cast<double>(control.bytes) / seconds;
  }

 private:
  DramStream(const DramStream&) = delete;
  DramStream& operator=(const DramStream&) = delete;
  template <class Work>
  void within(Work work) {
    CUcontext before;
    require(cuCtxGetCurrent(&before), "context");
    require(cuCtxSetCurrent(context_), "context");
    work();
    require(cuCtxSetCurrent(before), "context");
  }

  static constexpr unsigned long long kMaxNanoseconds = 10000000000ull;
  CUcontext context_;
  CopyBuffers buffers_;
  DeviceBuffer<StreamControl> control_;
  int* started_ = nullptr;  ///< mapped memory of the host, written once
  cudaStream_t stream_ = nullptr;
  std::chrono::steady_clock::time_point begun_;
};

}  // namespace depthwatt
