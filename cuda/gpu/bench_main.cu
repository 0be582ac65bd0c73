// SPDX-License-Identifier: Apache-2.0
// Times matching and what stands around it on the device: bench_main OUT.json COMMIT [--sweep] [--unchecked] [sms...]
// Matching: grey pair in device memory in, disparity in device memory out, census to median, as one graph. Before two sizes are
// timed, a first replay is compared with the reference, inside each partition too. --sweep: every number of lanes a line;
// --unchecked: no references, which take most of the time. Part of check.sh.
// bench_main --once W H D PATHS [ROWLANES COLUMNLANES] runs one frame without a graph, for a profiler.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bench_frame.h"
#include "bench_model.h"

using namespace depthwatt;

namespace {

Timing timeMatching(const Size& size, int paths, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right,
                    const std::vector<int16_t>* expected, const gpu::SgmTuning& tuning) {
  Frame frame(size, paths, left, right, tuning);
  require(cudaStatus(cudaMemset(frame.filtered.get(), 0x55, frame.filtered.bytes()), "poison"));
  require(cudaStatus(cudaDeviceSynchronize(), "poison"));
  Timing timing = timeGraph(
      frame.stream, [&] { frame.match(); },
      [&] {
        if (expected == nullptr) return;
        std::vector<int16_t> got(frame.pixels);
        require(cudaStatus(cudaMemcpy(got.data(), frame.filtered.get(), frame.filtered.bytes(), cudaMemcpyDeviceToHost), "copy"));
        for (size_t i = 0; i < got.size(); ++i) {
          if (got[i] == (*expected)[i]) continue;
          fail("graph replay differs from the reference at x " + std::to_string(i % size.width) + ", y " +
               std::to_string(i / size.width) + ": " + std::to_string((*expected)[i]) + ", got " + std::to_string(got[i]));
        }
      });
  timing.checked = expected != nullptr;
  return timing;
}

/// What stands around matching at one size, 4 paths: stages added one after the other, so that differences are their costs.
struct Extra {
  const char* what;
  Timing timing;
};

std::vector<Extra> timeAround(const Size& size, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right) {
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
    for (int eye = 0; eye < 2; ++eye) {
      require(cudaStatus(cudaMemcpyAsync(frame.grey[eye].get(), images + eye * inBytes, inBytes, cudaMemcpyHostToDevice,
                                         frame.stream), "copy"));
    }
  };
  std::vector<Extra> rows;
  rows.push_back({"matching", timeGraph(frame.stream, [&] { frame.match(); }, nothing)});
  rows.push_back({"matching, pinned copies of two grey images in and the disparity out", timeGraph(frame.stream, [&] {
                    fetch();
                    frame.match();
                    require(cudaStatus(cudaMemcpyAsync(results, frame.filtered.get(), outBytes, cudaMemcpyDeviceToHost,
                                                       frame.stream), "copy"));
                  }, nothing)});
  rows.push_back({"two YUYV images to millimetres", timeGraph(frame.stream, [&] {
                    frame.convert();
                    frame.match();
                    frame.depth();
                  }, nothing)});
  rows.push_back({"matching, speckle removal", timeGraph(frame.stream, [&] {
                    frame.match();
                    frame.speckle();
                  }, nothing)});
  cudaFreeHost(images);
  cudaFreeHost(results);
  return rows;
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
  if (argc < 3) fail("usage: bench_main OUT.json COMMIT [sms...]");
  cudaDeviceProp properties;
  require(cudaStatus(cudaGetDeviceProperties(&properties, 0), "device"));
  int runtime = 0, driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  std::vector<int> partitions = {0};
  bool sweep = false, unchecked = false;
  for (int i = 3; i < argc; ++i) {
    if (std::string(argv[i]) == "--sweep") sweep = true;
    else if (std::string(argv[i]) == "--unchecked") unchecked = true;
    else partitions.push_back(std::atoi(argv[i]));
  }
  std::map<std::pair<int, int>, std::vector<int16_t>> references;  // by width and paths

  std::FILE* out = std::fopen(argv[1], "w");
  if (out == nullptr) fail(std::string("cannot write ") + argv[1]);
  char date[32];
  const std::time_t now = std::time(nullptr);
  std::strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", std::gmtime(&now));
  std::fprintf(out,
               "{\"machine\": \"%s\", \"commit\": \"%s\", \"date\": \"%s\", \"toolchain\": \"CUDA runtime %d, driver %d\", "
               "\"powerMode\": \"default\", \"clocks\": \"not locked\", \"load\": \"nothing else on the card\",\n \"rows\": [\n",
               properties.name, argv[2], date, runtime, driver);
  const Size sizes[] = {{640, 480, 128}, {1242, 375, 128}, {1280, 720, 128}, {1920, 1080, 128}, {1920, 1080, 256}};
  std::printf("%-16s %5s %5s %10s %10s %8s\n", "size", "paths", "SMs", "median ms", "least ms", "GDE/s");
  bool first = true;
  for (const int sms : partitions) {
    if (sms != 0) enterPartition(sms);
    for (const Size& size : sizes) {
      if (sms != 0 && size.width > 1280) continue;
      std::vector<uint8_t> left, right;
      texturedPair(size, left, right);
      for (const int paths : {4, 8}) {
        if (size.num == 256 && paths == 8) continue;
        const bool check = !unchecked && (size.width == 640 || size.width == 1242);
        std::vector<int16_t>& expected = references[{size.width, paths}];
        if (check && expected.empty()) expected = expectedDisparity(size, parametersOf(size, paths), left, right);
        gpu::SgmTuning tuning;
        tuning.multiprocessors = sms;
        const Timing t = timeMatching(size, paths, left, right, check ? &expected : nullptr, tuning);
        const double giga = 1e-6 * size.width * size.height * size.num / t.median;
        char name[32];
        std::snprintf(name, sizeof name, "%dx%dx%d", size.width, size.height, size.num);
        std::printf("%-16s %5d %5d %10.4f %10.4f %8.1f\n", name, paths, sms == 0 ? properties.multiProcessorCount : sms,
                    t.median, t.least, giga);
        std::fflush(stdout);
        std::fprintf(out,
                     "%s  {\"kind\": \"measured\", \"what\": \"sgm, census to median, graph replay\", \"width\": %d, \"height\": %d, "
                     "\"numDisparities\": %d, \"paths\": %d, \"multiprocessors\": %d, \"medianMs\": %.4f, \"minMs\": %.4f, "
                     "\"gigaDisparitiesPerSecond\": %.1f, \"checkedAgainstReference\": %s}",
                     first ? "" : ",\n", size.width, size.height, size.num, paths,
                     sms == 0 ? properties.multiProcessorCount : sms, t.median, t.least, giga,
                     t.checked ? "true" : "false");
        first = false;
        if (!sweep) continue;
        for (tuning.rowLanes = 8; tuning.rowLanes <= 32; tuning.rowLanes *= 4) {
          for (tuning.columnLanes = 8; tuning.columnLanes <= 32; tuning.columnLanes *= 4) {
            const Timing other = timeMatching(size, paths, left, right, nullptr, tuning);
            std::printf(" %d/%d: %.4f", tuning.rowLanes, tuning.columnLanes, other.median);
          }
        }
        std::printf("\n");
      }
    }
  }
  // What the model of other boards is fitted on: each kernel, in each partition, alone and beside a stream.
  const Size modelSizes[] = {{320, 240, 64}, {640, 480, 128}, {1242, 375, 128}, {1280, 720, 128}, {1920, 1080, 128}};
  static const char* const kKernels[] = {"census", "costs", "rows", "columns", "selection", "median"};
  for (const int sms : partitions) {
    CUcontext others = nullptr;
    if (sms != 0) enterPartition(sms, &others);
    else if (partitions.size() > 1) enterWhole();
    std::unique_ptr<DramStream> stream;
    if (sms != 0) stream.reset(new DramStream(others, properties.multiProcessorCount - sms));
    for (const Size& size : modelSizes) {
      std::vector<uint8_t> left, right;
      texturedPair(size, left, right);
      for (const int lanes : {32, 8}) {
        for (const bool streaming : {false, true}) {
          if (streaming && sms == 0) continue;
          double streamed = 0;
          const KernelTimes times = timeKernels(size, lanes, sms, left, right, streaming ? stream.get() : nullptr, &streamed);
          std::printf("%4dx%-4dx%-3d lanes %2d SMs %3d stream %5.0f GB/s:", size.width, size.height, size.num, lanes,
                      sms == 0 ? properties.multiProcessorCount : sms, streamed);
          for (int k = 0; k < 6; ++k) {
            std::printf(" %s %.4f", kKernels[k], times.ms[k]);
            std::fprintf(out,
                         ",\n  {\"kind\": \"measured\", \"what\": \"kernel %s\", \"width\": %d, \"height\": %d, "
                         "\"numDisparities\": %d, \"paths\": 4, \"lanes\": %d, \"multiprocessors\": %d, "
                         "\"streamGigabytesPerSecond\": %.0f, \"medianMs\": %.4f}",
                         kKernels[k], size.width, size.height, size.num, lanes,
                         sms == 0 ? properties.multiProcessorCount : sms, streamed, times.ms[k]);
          }
          std::printf("\n");
          std::fflush(stdout);
        }
      }
    }
  }
  if (partitions.size() > 1) enterWhole();
  std::vector<uint8_t> left, right;
  texturedPair(sizes[0], left, right);
  for (const Extra& row : timeAround(sizes[0], left, right)) {
    std::printf("%-70s %10.4f %10.4f\n", row.what, row.timing.median, row.timing.least);
    std::fprintf(out,
                 ",\n  {\"kind\": \"measured\", \"what\": \"%s, graph replay\", \"width\": %d, \"height\": %d, "
                 "\"numDisparities\": %d, \"paths\": 4, \"multiprocessors\": %d, \"medianMs\": %.4f, \"minMs\": %.4f}",
                 row.what, sizes[0].width, sizes[0].height, sizes[0].num, properties.multiProcessorCount, row.timing.median,
                 row.timing.least);
  }
  std::fprintf(out, "\n ]}\n");
  std::fclose(out);
  return 0;
}
