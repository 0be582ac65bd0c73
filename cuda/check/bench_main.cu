// SPDX-License-Identifier: Apache-2.0
// Times matching and the stages around it on the device: bench_main OUT.json COMMIT [--model] [--sweep] [--unchecked]
// [sms...]. Matching: from a grey pair in device memory to disparity in device memory, census to median, as one graph;
// compares the results of two sizes with the reference, also inside each partition. Then the data of the model of
// boards (bench_model.h; --model: only that), refinement stage by stage (bench_refine.h), and the noise filter
// (bench_denoise.h). --sweep: every number of lanes per line; --unchecked: no references. Part of check.sh. bench_main
// --once W H D PATHS [ROWLANES COLUMNLANES] runs one frame without a graph, for a profiler.
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "../output/rvl/rvl_gpu.h"
#include "bench_denoise.h"
#include "bench_frame.h"
#include "bench_model.h"
#include "bench_refine.h"
#include "bench_report.h"

using namespace depthwatt;

namespace {

/// @param got if given: the result of the first replay
Timing timeMatching(const Size& size, int paths, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right,
                    const gpu::SgmTuning& tuning, std::vector<int16_t>* got) {
  Frame frame(size, paths, left, right, tuning);
  require(cudaStatus(cudaMemset(frame.filtered.get(), 0x55, frame.filtered.bytes()), "poison"));
  require(cudaStatus(cudaDeviceSynchronize(), "poison"));
  return timeGraph(
      frame.stream, [&] { frame.match(); },
      [&] {
        if (got == nullptr) return;
        got->resize(frame.pixels);
        require(cudaStatus(
            cudaMemcpy(got->data(), frame.filtered.get(), frame.filtered.bytes(), cudaMemcpyDeviceToHost), "copy"));
      });
}

/// A size with a number of paths, its result in each partition, and the expected one.
struct Run {
  Size size;
  int paths;
  std::vector<uint8_t> left, right;
  std::vector<std::vector<int16_t>> results;
  std::future<std::vector<int16_t>> expected;

  Run(const Size& s, int p, bool unchecked) : size(s), paths(p) {
    texturedPair(size, left, right);
    if (unchecked || (size.width != 640 && size.width != 1242)) return;
    expected = std::async(std::launch::async,
                          [this] { return expectedDisparity(size, sizeParameters(size, paths), left, right); });
  }
  void check() {
    if (!expected.valid()) return;
    const std::vector<int16_t> reference = expected.get();
    for (const std::vector<int16_t>& got : results) {
      for (size_t i = 0; i < got.size(); ++i) {
        if (got[i] == reference[i]) continue;
        fail("graph replay of " + std::to_string(size.width) + " wide, " + size.settings() + ", " +
             std::to_string(paths) + " paths differs from the reference at x " + std::to_string(i % size.width) +
             ", y " + std::to_string(i / size.width) + ": " + std::to_string(reference[i]) + ", got " +
             std::to_string(got[i]));
      }
    }
    std::printf("%d wide, %s, %d paths: %zu results equal the reference\n", size.width, size.settings(), paths,
                results.size());
  }
};

void timeSizes(Report& report, const std::vector<int>& partitions, bool sweep, bool unchecked) {
  std::vector<Size> sizes = {{640, 480, 128}, {1242, 375, 128}, {1280, 720, 128}, {1920, 1080, 128}, {1920, 1080, 256}};
  for (size_t i = 0, papers = sizes.size(); i < papers; ++i) {
    sizes.push_back(sizes[i]);
    sizes.back().defaults = true;
  }
  // The definition is slow, so it runs while the device is timed.
  std::vector<std::unique_ptr<Run>> runs;
  for (const Size& size : sizes) {
    for (const int paths : {4, 8}) {
      if (size.num != 256 || paths != 8) runs.emplace_back(new Run(size, paths, unchecked));
    }
  }
  std::printf("%-16s %-8s %5s %5s %10s %10s %8s\n", "size", "settings", "paths", "SMs", "median ms", "least ms",
              "GDE/s");
  for (const int sms : partitions) {
    if (sms != 0) enterPartition(sms);
    for (const std::unique_ptr<Run>& run : runs) {
      const Size& size = run->size;
      if (sms != 0 && size.width > 1280) continue;
      gpu::SgmTuning tuning;
      tuning.multiprocessors = sms;
      const bool checked = run->expected.valid();
      if (checked) run->results.emplace_back();
      const Timing t =
          timeMatching(size, run->paths, run->left, run->right, tuning, checked ? &run->results.back() : nullptr);
      const double giga = 1e-6 * size.width * size.height * size.num / t.median;
      char name[32];
      std::snprintf(name, sizeof name, "%dx%dx%d", size.width, size.height, size.num);
      std::printf("%-16s %-8s %5d %5d %10.4f %10.4f %8.1f\n", name, size.settings(), run->paths,
                  report.multiprocessors(sms), t.median, t.least, giga);
      std::fflush(stdout);
      report.row(
          "\"what\": \"sgm, census to median, graph replay\", \"settings\": \"%s\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, "
          "\"paths\": %d, \"multiprocessors\": %d, \"medianMs\": %.4f, \"minMs\": %.4f, "
          "\"gigaDisparitiesPerSecond\": %.1f, \"checkedAgainstReference\": %s",
          size.settings(), size.width, size.height, size.num, run->paths, report.multiprocessors(sms), t.median,
          t.least, giga, checked ? "true" : "false");
      if (!sweep) continue;
      for (tuning.rowLanes = 8; tuning.rowLanes <= 32; tuning.rowLanes *= 4) {
        for (tuning.columnLanes = 8; tuning.columnLanes <= 32; tuning.columnLanes *= 4) {
          const Timing other = timeMatching(size, run->paths, run->left, run->right, tuning, nullptr);
          std::printf(" %d/%d: %.4f", tuning.rowLanes, tuning.columnLanes, other.median);
        }
      }
      std::printf("\n");
    }
  }
  if (partitions.size() > 1) enterWhole();
  for (const std::unique_ptr<Run>& run : runs) run->check();
}

/// Times the stages around matching at one size, 4 paths: stages are added one by one, and the differences are their
/// costs.
struct Extra {
  const char* what;
  Timing timing;
};

std::vector<Extra> timeAround(const Size& size) {
  std::vector<uint8_t> left, right;
  texturedPair(size, left, right);
  Frame frame(size, 4, left, right, gpu::SgmTuning());
  const auto nothing = [] {};
  uint8_t* images = nullptr;
  uint8_t* results = nullptr;
  const size_t inBytes = frame.grey[0].bytes(), outBytes = frame.filtered.bytes();
  require(cudaStatus(cudaMallocHost(reinterpret_cast<void**>(&images), 2 * inBytes), "pinned"));
  require(cudaStatus(cudaMallocHost(reinterpret_cast<void**>(&results), outBytes), "pinned"));
  std::copy(left.begin(), left.end(), images);
  std::copy(right.begin(), right.end(), images + inBytes);
  const auto fetch = [&] {
    for (int side = 0; side < 2; ++side) {
      require(cudaStatus(cudaMemcpyAsync(frame.grey[side].get(), images + side * inBytes, inBytes,
                                         cudaMemcpyHostToDevice, frame.stream),
                         "copy"));
    }
  };
  std::vector<Extra> rows;
  rows.push_back({"matching", timeGraph(frame.stream, [&] { frame.match(); }, nothing)});
  rows.push_back({"matching, pinned copies of two grey images in and the disparity out",
                  timeGraph(
                      frame.stream,
                      [&] {
                        fetch();
                        frame.match();
                        require(cudaStatus(cudaMemcpyAsync(results, frame.filtered.get(), outBytes,
                                                           cudaMemcpyDeviceToHost, frame.stream),
                                           "copy"));
                      },
                      nothing)});
  rows.push_back({"two YUYV images to millimetres", timeGraph(
                                                        frame.stream,
                                                        [&] {
                                                          frame.convert();
                                                          frame.match();
                                                          frame.depth();
                                                        },
                                                        nothing)});
  rows.push_back({"matching, speckle removal", timeGraph(
                                                   frame.stream,
                                                   [&] {
                                                     frame.match();
                                                     frame.speckle();
                                                   },
                                                   nothing)});
  cudaFreeHost(images);
  cudaFreeHost(results);
  return rows;
}

void timeRvl(Report& report) {
  for (const Size& size : {Size{640, 480, 0}, Size{1280, 720, 0}, Size{1920, 1080, 0}}) {
    const std::vector<int16_t> picture = disparityPicture(size);
    gpu::RvlScratch scratch;
    DeviceBuffer<int16_t> in;
    DeviceBuffer<uint32_t> words, bytes;
    require(scratch.open(picture.size()));
    require(in.allocate(picture.size()));
    require(words.allocate(gpu::rvlWords(picture.size())));
    require(bytes.allocate(1));
    require(cudaStatus(cudaMemcpy(in.get(), picture.data(), in.bytes(), cudaMemcpyHostToDevice), "copy"));
    cudaStream_t stream = nullptr;
    require(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
    uint32_t length = 0;
    const Timing t = timeGraph(
        stream, [&] { require(gpu::rvl(in.get(), true, picture.size(), scratch, words.get(), bytes.get(), stream)); },
        [&] { require(cudaStatus(cudaMemcpy(&length, bytes.get(), sizeof length, cudaMemcpyDeviceToHost), "copy")); });
    cudaStreamDestroy(stream);
    std::printf("rvl %dx%d, %u bytes %10.4f %10.4f\n", size.width, size.height, length, t.median, t.least);
    report.row(
        "\"what\": \"rvl of a disparity, graph replay\", \"width\": %d, \"height\": %d, \"encodedBytes\": %u, "
        "\"multiprocessors\": %d, \"medianMs\": %.4f, \"minMs\": %.4f",
        size.width, size.height, length, report.multiprocessors(0), t.median, t.least);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 6 && std::string(argv[1]) == "--once") {
    const Size size = {std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])};
    std::vector<uint8_t> left, right;
    texturedPair(size, left, right);
    gpu::SgmTuning tuning;
    if (argc > 7) tuning.rowLanes = std::atoi(argv[6]), tuning.columnLanes = std::atoi(argv[7]);
    Frame frame(size, std::atoi(argv[5]), left, right, tuning);
    frame.match();
    frame.speckle();
    require(cudaStatus(cudaStreamSynchronize(frame.stream), "frame"));
    return 0;
  }
  if (argc < 3) fail("usage: bench_main OUT.json COMMIT [--model] [--sweep] [--unchecked] [sms...]");
  // Set before the first driver call: nothing may be loaded while a stream runs during timings, and no stream may share
  // its queue.
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  std::vector<int> partitions = {0};
  bool modelOnly = false, sweep = false, unchecked = false;
  for (int i = 3; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--model") modelOnly = true;
    else if (argument == "--sweep") sweep = true;
    else if (argument == "--unchecked") unchecked = true;
    else partitions.push_back(std::atoi(argv[i]));
  }
  Report report(argv[1], argv[2]);
  if (!modelOnly) {
    timeSizes(report, partitions, sweep, unchecked);
    timeRvl(report);
    timeRefinement(report, partitions);
    timeNoiseFilter(report, partitions);
    const Size size = {640, 480, 128};
    for (const Extra& row : timeAround(size)) {
      std::printf("%-70s %10.4f %10.4f\n", row.what, row.timing.median, row.timing.least);
      report.row(
          "\"what\": \"%s, graph replay\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, \"paths\": 4, "
          "\"multiprocessors\": %d, \"medianMs\": %.4f, \"minMs\": %.4f",
          row.what, size.width, size.height, size.num, report.multiprocessors(0), row.timing.median, row.timing.least);
    }
  }
  modelRows(report, partitions);
  return 0;
}
