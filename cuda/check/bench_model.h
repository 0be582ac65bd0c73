// SPDX-License-Identifier: Apache-2.0
// Measures the data that fit and test the model of boards (bench/model/gpu-model.mjs): each kernel's time and whole
// frames, on the whole card and in partitions, with volumes that fit the second-level cache and volumes that do not,
// and during a stream.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../match/cost/census/census_gpu.h"
#include "../prepare/half/half_gpu.h"
#include "../refine/median/median_gpu.h"
#include "../refine/upscale/upscale_gpu.h"
#include "bench_report.h"
#include "bench_stream.h"

namespace depthwatt {

#ifdef DEPTHWATT_CELL_HALF2
constexpr const char* kCellName = "half2";
#else
constexpr const char* kCellName = "uint16";
#endif

constexpr Size kModelSizes[] = {{320, 240, 64}, {640, 480, 128}, {1242, 375, 128}, {1280, 720, 128}, {1920, 1080, 128}};
constexpr int kRepeated = 9;  ///< launches of a small kernel in a row

/// The part of the card that rows are timed on, and the stream that runs meanwhile.
struct Ground {
  int sms;
  DramStream* background;
};

/// Graphs that are made first and then timed together, because nothing may be allocated during a stream.
class TimedGraphs {
 public:
  void add(cudaStream_t stream, const std::function<void()>& enqueue) {
    replays_.emplace_back(new Replays(stream, enqueue));
    replays_.back()->once();
    stream_ = stream;
  }
  /// Returns the medians of all; streamed() is then the stream's rate.
  std::vector<double> time(const Ground& ground) {
    // Loaded before a stream runs, because loading waits for it.
    DeviceBuffer<unsigned long long> clock;
    DeviceBuffer<StreamControl> unused;
    require(clock.allocate(2));
    require(unused.allocate(1));
    clockKernel<<<1, 1, 0, stream_>>>(1000, clock.get());
    stopKernel<<<1, 1, 0, stream_>>>(unused.get());
    require(cudaStatus(cudaStreamSynchronize(stream_), "clockKernel"));
    if (ground.background != nullptr) ground.background->begin();
    std::vector<double> medians;
    for (const std::unique_ptr<Replays>& one : replays_) {
      const double once = one->time(5).median;
      medians.push_back(one->time(std::max(20, std::min(150, static_cast<int>(60 / once)))).median);
    }
    clockKernel<<<1, 1, 0, stream_>>>(200000, clock.get());
    require(cudaStatus(cudaStreamSynchronize(stream_), "clockKernel"));
    streamed_ = ground.background != nullptr ? ground.background->end(stream_) : 0;
    unsigned long long clocks[2];
    require(cudaStatus(cudaMemcpy(clocks, clock.get(), sizeof clocks, cudaMemcpyDeviceToHost), "clockKernel"));
    megahertz_ = 1e3 * static_cast<double>(clocks[0]) / static_cast<double>(clocks[1]);
    return medians;
  }
  double streamed() const { return streamed_; }
  double megahertz() const { return megahertz_; }

 private:
  std::vector<std::unique_ptr<Replays>> replays_;
  cudaStream_t stream_ = nullptr;
  double streamed_ = 0, megahertz_ = 0;
};

/// Writes one row, with the data that all graphs of a set share.
inline void modelRow(Report& report, const char* what, const Size& size, int lanes, const Ground& ground,
                     const TimedGraphs& graphs, double ms) {
  report.row(
      "\"what\": \"%s\", \"cells\": \"%s\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, \"paths\": 4, "
      "\"lanes\": %d, \"multiprocessors\": %d, \"streamGigabytesPerSecond\": %.0f, \"megahertz\": %.0f, \"medianMs\": %.4f",
      what, kCellName, size.width, size.height, size.num, lanes, report.multiprocessors(ground.sms), graphs.streamed(),
      graphs.megahertz(), ms);
  std::printf(" %s %.4f", what, ms);
}

/// Times matching's kernels in order, 4 paths: graphs that end after each, and their differences.
inline void timeKernels(Report& report, const Size& size, int lanes, const Ground& ground,
                        const std::vector<uint8_t>& left, const std::vector<uint8_t>& right) {
  static const char* const kKernels[] = {"kernel costs", "kernel rows", "kernel columns", "kernel selection"};
  std::unique_ptr<Frame> frames[5];
  TimedGraphs graphs;
  for (int stage = 0; stage <= 4; ++stage) {
    gpu::SgmTuning tuning;
    tuning.rowLanes = tuning.columnLanes = lanes, tuning.parallel = -1, tuning.multiprocessors = ground.sms;
    tuning.stages = stage, tuning.costsApart = true;
    frames[stage].reset(new Frame(size, 4, left, right, tuning));
    Frame& frame = *frames[stage];
    graphs.add(frame.stream, [&] { frame.matchOnly(); });
  }
  const std::vector<double> until = graphs.time(ground);
  for (int k = 0; k < 4; ++k) modelRow(report, kKernels[k], size, lanes, ground, graphs, until[k + 1] - until[k]);
}

/// Times per-pixel work, many times in a row for a steady time, and whole frames at full and half size.
inline void timeFrames(Report& report, const Size& size, const Ground& ground, const std::vector<uint8_t>& left,
                       const std::vector<uint8_t>& right) {
  gpu::SgmTuning tuning;
  tuning.multiprocessors = ground.sms;
  Frame frame(size, 4, left, right, tuning);
  const Size halfSize = {halfSide(size.width), halfSide(size.height), halfSide(size.num)};
  std::vector<uint8_t> halfLeft, halfRight;
  texturedPair(halfSize, halfLeft, halfRight);
  Frame half(halfSize, 4, halfLeft, halfRight, tuning);
  const auto halve = [&] {
    require(gpu::half(frame.grey[0].get(), frame.grey[1].get(), half.grey[0].get(), half.grey[1].get(), size.width,
                      size.height, frame.stream));
  };
  const auto upscale = [&] {
    require(gpu::upscale(kUpscaleThresholdQ4, frame.grey[0].get(), half.filtered.get(), half.confidence.get(),
                         frame.filtered.get(), frame.confidence.get(), size.width, size.height, frame.stream));
  };
  const std::pair<const char*, std::function<void()>> once[] = {
      {"kernel census",
       [&] {
         require(gpu::census(frame.grey[0].get(), frame.grey[1].get(), frame.census[0].get(), frame.census[1].get(),
                             size.width, size.height, frame.stream));
       }},
      {"kernel half", halve},
      {"kernel upscale", upscale},
      {"kernel median",
       [&] { require(gpu::median(frame.q4.get(), frame.filtered.get(), size.width, size.height, frame.stream)); }}};
  TimedGraphs graphs;
  for (const auto& one : once) {
    for (const int times : {1, kRepeated}) {
      graphs.add(frame.stream, [&] {
        for (int i = 0; i < times; ++i) one.second();
      });
    }
  }
  graphs.add(frame.stream, [&] { frame.match(); });
  const cudaStream_t halfStream = half.stream;
  half.stream = frame.stream;
  graphs.add(frame.stream, [&] {
    halve();
    half.match();
    upscale();
  });
  half.stream = halfStream;
  const std::vector<double> medians = graphs.time(ground);
  for (int k = 0; k < 4; ++k) {
    const double ms = (medians[2 * k + 1] - medians[2 * k]) / (kRepeated - 1);
    modelRow(report, once[k].first, size, 0, ground, graphs, ms);
    if (k == 0) modelRow(report, "graph of one kernel, beyond it", size, 0, ground, graphs, medians[0] - ms);
  }
  modelRow(report, "frame", size, 0, ground, graphs, medians[8]);
  modelRow(report, "frame at half resolution", size, 0, ground, graphs, medians[9]);
}

/// Measures what a large copy moves, read and written.
inline void timeCopy(Report& report, const Ground& ground) {
  CopyBuffers buffers;
  buffers.open(report.multiprocessors(ground.sms));
  cudaStream_t stream;
  require(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
  TimedGraphs graphs;
  graphs.add(stream, [&] { buffers.copyOnce(stream); });
  const double ms = graphs.time(ground)[0], rate = 2e-6 * static_cast<double>(buffers.from.bytes()) / ms;
  report.row(
      "\"what\": \"copy\", \"multiprocessors\": %d, \"streamGigabytesPerSecond\": %.0f, \"megahertz\": %.0f, "
      "\"bytes\": %zu, \"medianMs\": %.4f, \"gigabytesPerSecond\": %.0f",
      report.multiprocessors(ground.sms), graphs.streamed(), graphs.megahertz(), 2 * buffers.from.bytes(), ms, rate);
  std::printf("copy on %d multiprocessors during a stream of %.0f GB/s: %.0f GB/s at %.0f MHz\n",
              report.multiprocessors(ground.sms), graphs.streamed(), rate, graphs.megahertz());
  cudaStreamDestroy(stream);
}

/// @param partitions numbers of multiprocessors, 0 = all. Rows during a stream come last, so that a failure there loses
/// no others.
inline void modelRows(Report& report, const std::vector<int>& partitions) {
  for (const bool streaming : {false, true}) {
    for (const int sms : partitions) {
      if (streaming && sms == 0) continue;
      CUcontext others = nullptr;
      if (sms != 0) enterPartition(sms, &others);
      else if (partitions.size() > 1) enterWhole();
      std::unique_ptr<DramStream> stream;
      if (streaming) stream.reset(new DramStream(others, report.multiprocessors(0) - sms));
      const Ground ground = {sms, stream.get()};
      timeCopy(report, ground);
      for (const Size& size : kModelSizes) {
        std::vector<uint8_t> left, right;
        texturedPair(size, left, right);
        std::printf("%4dx%-4dx%-3d SMs %3d%s:", size.width, size.height, size.num, report.multiprocessors(sms),
                    streaming ? ", stream" : "");
        for (const int lanes : {32, 8}) {
          std::printf(" lanes %d:", lanes);
          timeKernels(report, size, lanes, ground, left, right);
        }
        timeFrames(report, size, ground, left, right);
        std::printf("\n");
        std::fflush(stdout);
      }
    }
  }
  if (partitions.size() > 1) enterWhole();
}

}  // namespace depthwatt
