// SPDX-License-Identifier: Apache-2.0
// Times matching on the device: bench_main OUT.json COMMIT [--sweep] [sms...] (--sweep: every
// number of lanes a line). Grey pair in device memory in, disparity in device memory
// out, census to median, as one graph. A first replay is compared with the reference before anything is timed, inside each
// partition too. Part of check.sh. bench_main --once W H D PATHS runs one frame without a graph, for a profiler.
#include <cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "../match/select/select.h"
#include "../refine/left_right/left_right.h"
#include "../refine/median/median.h"
#include "device_buffer.h"
#include "kernels.h"

using namespace depthwatt;

namespace {

struct Size {
  int width, height, num;
};

[[noreturn]] void fail(const std::string& what) {
  std::printf("FAILED: %s\n", what.c_str());
  std::exit(1);
}

void require(const Status& status) {
  if (!status.ok()) fail(status.message);
}

void require(CUresult result, const char* what) {
  if (result != CUDA_SUCCESS) {
    const char* text = "";
    cuGetErrorString(result, &text);
    fail(std::string(what) + ": " + text);
  }
}

/// Texture moved by a disparity that changes with y, and noise: no two patches alike, every disparity used.
void texturedPair(const Size& size, std::vector<uint8_t>& left, std::vector<uint8_t>& right) {
  std::mt19937 engine(7);
  left.resize(static_cast<size_t>(size.width) * size.height);
  right.resize(left.size());
  for (uint8_t& value : left) value = static_cast<uint8_t>(engine() >> 24);
  for (int y = 0; y < size.height; ++y) {
    const int shift = (y / 8 * 5) % (size.num - 2);
    for (int x = 0; x < size.width; ++x) {
      const int from = x + shift;
      right[static_cast<size_t>(y) * size.width + x] =
          from < size.width ? left[static_cast<size_t>(y) * size.width + from] : static_cast<uint8_t>(engine() >> 24);
    }
  }
}

std::vector<int16_t> expectedDisparity(const Size& size, const SgmParameters& p, const std::vector<uint8_t>& left,
                                       const std::vector<uint8_t>& right) {
  const int w = size.width, h = size.height;
  const size_t pixels = left.size();
  std::vector<uint32_t> censusLeft(pixels), censusRight(pixels);
  censusReference<uint8_t>(packedView(left.data(), w, h), packedView(censusLeft.data(), w, h));
  censusReference<uint8_t>(packedView(right.data(), w, h), packedView(censusRight.data(), w, h));
  std::vector<uint16_t> sums(pixels * size.num);
  std::vector<int16_t> q4(pixels), whole(pixels), rightWinner(pixels), filtered(pixels);
  std::vector<uint8_t> confidence(pixels);
  SgmImages images;
  images.censusLeft = packedView<const uint32_t>(censusLeft.data(), w, h);
  images.censusRight = packedView<const uint32_t>(censusRight.data(), w, h);
  images.greyLeft = packedView(left.data(), w, h);
  sgmSumsReference(p, images, sums.data());
  selectReference(p, sums.data(),
                  {packedView(q4.data(), w, h), packedView(whole.data(), w, h), packedView(rightWinner.data(), w, h),
                   packedView(confidence.data(), w, h)});
  leftRightReference({packedView<const int16_t>(whole.data(), w, h), packedView<const int16_t>(rightWinner.data(), w, h),
                      packedView(q4.data(), w, h), packedView(confidence.data(), w, h)});
  medianReference(packedView<const int16_t>(q4.data(), w, h), packedView(filtered.data(), w, h));
  return filtered;
}

/// Milliseconds: median and smallest of the replays.
struct Timing {
  double median, least;
  bool checked;
};

Timing timeMatching(const Size& size, int paths, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right,
                    const std::vector<int16_t>* expected, const gpu::SgmTuning& tuning, bool once = false) {
  const size_t pixels = left.size();
  SgmParameters p;
  p.numDisparities = size.num, p.paths = paths, p.p1 = 10, p.p2 = 60, p.uniqueness = 5;
  DeviceBuffer<uint8_t> dLeft, dRight, dConfidence;
  DeviceBuffer<uint32_t> dCensusLeft, dCensusRight;
  DeviceBuffer<int16_t> dQ4, dWhole, dFiltered;
  for (DeviceBuffer<uint8_t>* b : {&dLeft, &dRight, &dConfidence}) require(b->allocate(pixels));
  for (DeviceBuffer<uint32_t>* b : {&dCensusLeft, &dCensusRight}) require(b->allocate(pixels));
  for (DeviceBuffer<int16_t>* b : {&dQ4, &dWhole, &dFiltered}) require(b->allocate(pixels));
  require(cudaStatus(cudaMemcpy(dLeft.get(), left.data(), pixels, cudaMemcpyHostToDevice), "copy"));
  require(cudaStatus(cudaMemcpy(dRight.get(), right.data(), pixels, cudaMemcpyHostToDevice), "copy"));
  gpu::SgmWorkspace sgm;
  require(sgm.open(p, size.width, size.height, tuning));
  cudaStream_t stream;
  require(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
  const auto enqueue = [&] {
    require(gpu::census(dLeft.get(), dRight.get(), dCensusLeft.get(), dCensusRight.get(), size.width, size.height, stream));
    require(sgm.compute(dCensusLeft.get(), dCensusRight.get(), dLeft.get(), true, dQ4.get(), dWhole.get(), nullptr,
                        dConfidence.get(), stream));
    require(gpu::median(dQ4.get(), dFiltered.get(), size.width, size.height, stream));
  };
  enqueue();
  require(cudaStatus(cudaStreamSynchronize(stream), "first run"));
  if (once) return {0, 0, false};
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require(cudaStatus(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture"));
  enqueue();
  require(cudaStatus(cudaStreamEndCapture(stream, &graph), "capture"));
  require(cudaStatus(cudaGraphInstantiate(&executable, graph, nullptr, nullptr, 0), "graph"));
  require(cudaStatus(cudaMemset(dFiltered.get(), 0x55, dFiltered.bytes()), "poison"));
  require(cudaStatus(cudaDeviceSynchronize(), "poison"));
  require(cudaStatus(cudaGraphLaunch(executable, stream), "replay"));
  require(cudaStatus(cudaStreamSynchronize(stream), "replay"));
  if (expected != nullptr) {
    std::vector<int16_t> got(pixels);
    require(cudaStatus(cudaMemcpy(got.data(), dFiltered.get(), dFiltered.bytes(), cudaMemcpyDeviceToHost), "copy"));
    for (size_t i = 0; i < pixels; ++i) {
      if (got[i] != (*expected)[i]) {
        fail("graph replay differs from the reference at x " + std::to_string(i % size.width) + ", y " +
             std::to_string(i / size.width));
      }
    }
  }
  cudaEvent_t begin, end;
  require(cudaStatus(cudaEventCreate(&begin), "event"));
  require(cudaStatus(cudaEventCreate(&end), "event"));
  std::vector<double> times;
  for (int i = 0; i < 220; ++i) {
    require(cudaStatus(cudaEventRecord(begin, stream), "event"));
    require(cudaStatus(cudaGraphLaunch(executable, stream), "replay"));
    require(cudaStatus(cudaEventRecord(end, stream), "event"));
    require(cudaStatus(cudaEventSynchronize(end), "replay"));
    float milliseconds = 0;
    require(cudaStatus(cudaEventElapsedTime(&milliseconds, begin, end), "event"));
    if (i >= 20) times.push_back(milliseconds);
  }
  std::sort(times.begin(), times.end());
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  cudaGraphExecDestroy(executable);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(stream);
  return {times[times.size() / 2], times.front(), expected != nullptr};
}

/// Makes the calling thread work on `sms` multiprocessors alone; what is opened from now on belongs to that partition.
void enterPartition(int sms) {
  CUdevice device;
  CUdevResource all, part, rest;
  CUdevResourceDesc description;
  CUgreenCtx green;
  CUcontext context;
  unsigned groups = 1;
  require(cuDeviceGet(&device, 0), "device");
  require(cuDeviceGetDevResource(device, &all, CU_DEV_RESOURCE_TYPE_SM), "multiprocessors");
  require(cuDevSmResourceSplitByCount(&part, &groups, &all, &rest, 0, static_cast<unsigned>(sms)), "split");
  require(cuDevResourceGenerateDesc(&description, &part, 1), "partition");
  require(cuGreenCtxCreate(&green, description, device, CU_GREEN_CTX_DEFAULT_STREAM), "green context");
  require(cuCtxFromGreenCtx(&context, green), "green context");
  require(cuCtxSetCurrent(context), "green context");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 6 && std::string(argv[1]) == "--once") {
    const Size size = {std::atoi(argv[2]), std::atoi(argv[3]), std::atoi(argv[4])};
    std::vector<uint8_t> left, right;
    texturedPair(size, left, right);
    timeMatching(size, std::atoi(argv[5]), left, right, nullptr, gpu::SgmTuning(), true);
    return 0;
  }
  if (argc < 3) fail("usage: bench_main OUT.json COMMIT [sms...]");
  cudaDeviceProp properties;
  require(cudaStatus(cudaGetDeviceProperties(&properties, 0), "device"));
  int runtime = 0, driver = 0;
  cudaRuntimeGetVersion(&runtime);
  cudaDriverGetVersion(&driver);
  std::vector<int> partitions = {0};
  bool sweep = false;
  for (int i = 3; i < argc; ++i) {
    if (std::string(argv[i]) == "--sweep") sweep = true;
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
        SgmParameters p;
        p.numDisparities = size.num, p.paths = paths, p.p1 = 10, p.p2 = 60, p.uniqueness = 5;
        const bool check = size.width == 640 || size.width == 1242;
        std::vector<int16_t>& expected = references[{size.width, paths}];
        if (check && expected.empty()) expected = expectedDisparity(size, p, left, right);
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
        for (tuning.rowLanes = 8; tuning.rowLanes <= 32; tuning.rowLanes *= 2) {
          for (tuning.columnLanes = 8; tuning.columnLanes <= 32; tuning.columnLanes *= 2) {
            const Timing other = timeMatching(size, paths, left, right, nullptr, tuning);
            std::printf("    lanes %2d rows, %2d others: %.4f\n", tuning.rowLanes, tuning.columnLanes, other.median);
          }
        }
      }
    }
  }
  std::fprintf(out, "\n ]}\n");
  std::fclose(out);
  return 0;
}
