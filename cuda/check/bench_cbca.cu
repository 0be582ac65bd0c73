// SPDX-License-Identifier: Apache-2.0
// Times the matcher cbca: bench_cbca OUT.json COMMIT [--sweep] [--unchecked] [sms...]. From a grey pair in device
// memory to disparity in device memory, as one graph: halving (half resolution), features and arms, aggregation for
// both images, ground control points, median, bilateral estimation, upscaling (half resolution). --sweep: other splits
// into threads. Compares each graph's results with the references, also inside each partition. Part of check.sh.
// bench_cbca --once half|full [groups] runs one frame without a graph, for a profiler.
#include <cstring>
#include <future>
#include <memory>

#include "../match/cbca/cbca_workspace.h"
#include "../prepare/half/half_gpu.h"
#include "../refine/upscale/upscale_gpu.h"
#include "bench_frame.h"
#include "bench_partition.h"
#include "bench_report.h"

using namespace depthwatt;

namespace {

struct Job {
  const char* name;
  Size size;  ///< of the images and of the search in their pixels
  bool half;
  int armX, armY, similarity;
};

/// The engine's parameters at both resolutions, and the paper's.
const Job kJobs[] = {{"half", {1436, 992, 145}, true, 3, 3, 30},
                     {"full", {640, 480, 128}, false, 9, 9, 13},
                     {"half, the paper's arms", {1436, 992, 145}, true, 21, 31, 13},
                     {"full, the paper's arms", {640, 480, 128}, false, 41, 61, 13}};

CrossParameters jobParameters(const Job& job) {
  CrossParameters p;
  p.numDisparities = job.half ? halfSide(job.size.num) : job.size.num;
  p.armX = job.armX, p.armY = job.armY, p.similarity = job.similarity;
  return p;
}

/// Makes regions of one grey with faint texture, shifted by a disparity that changes with y: arms of all lengths.
void regionPair(const Size& size, std::vector<uint8_t>& left, std::vector<uint8_t>& right) {
  std::mt19937 engine(11);
  left.resize(static_cast<size_t>(size.width) * size.height);
  right.resize(left.size());
  std::vector<uint8_t> greys(1 << 16);
  for (uint8_t& grey : greys) grey = static_cast<uint8_t>(engine() >> 24);
  for (int y = 0; y < size.height; ++y) {
    uint8_t* row = left.data() + static_cast<size_t>(y) * size.width;
    uint8_t* other = right.data() + static_cast<size_t>(y) * size.width;
    for (int x = 0; x < size.width; ++x) {
      const int region = (y / 24 * 97 + (x + y / 3) / 19) & 0xffff;
      row[x] = static_cast<uint8_t>(greys[region] * 15 / 16 + static_cast<int>(engine() >> 28));
    }
    const int shift = (y / 24 * 7) % (size.num - 2);
    for (int x = 0; x < size.width; ++x)
      other[x] = x + shift < size.width ? row[x + shift] : static_cast<uint8_t>(engine() >> 24);
  }
}

/// One job: every buffer on the device, and the stages that use them.
struct CbcaFrame {
  const Job job;
  int matchedWidth, matchedHeight;
  DeviceBuffer<uint8_t> grey[2], half[2], confidence, doubledConfidence;
  DeviceBuffer<int16_t> matched, doubled;
  gpu::CbcaWorkspace cbca;
  cudaStream_t stream = nullptr;

  CbcaFrame(const Job& j, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right,
            const CrossTuning& tuning)
      : job(j), matchedWidth(j.half ? halfSide(j.size.width) : j.size.width),
        matchedHeight(j.half ? halfSide(j.size.height) : j.size.height) {
    const std::vector<uint8_t>* sides[2] = {&left, &right};
    const size_t pixels = static_cast<size_t>(matchedWidth) * matchedHeight;
    for (int side = 0; side < 2; ++side) {
      require(grey[side].allocate(left.size()));
      require(
          cudaStatus(cudaMemcpy(grey[side].get(), sides[side]->data(), left.size(), cudaMemcpyHostToDevice), "copy"));
      require(half[side].allocate(pixels));
    }
    require(confidence.allocate(pixels));
    require(matched.allocate(pixels));
    require(doubled.allocate(left.size()));
    require(doubledConfidence.allocate(left.size()));
    require(cbca.open(jobParameters(job), 16 * kCbcaThreshold, matchedWidth, matchedHeight, tuning));
    require(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
    require(cudaStatus(cudaMemset(result().get(), 0x55, result().bytes()), "poison"));
    require(cudaStatus(cudaDeviceSynchronize(), "poison"));
  }
  ~CbcaFrame() { cudaStreamDestroy(stream); }

  void match() {
    if (job.half) {
      require(gpu::half(grey[0].get(), grey[1].get(), half[0].get(), half[1].get(), job.size.width, job.size.height,
                        stream));
    }
    const uint8_t* images[2] = {job.half ? half[0].get() : grey[0].get(), job.half ? half[1].get() : grey[1].get()};
    require(cbca.compute(images[0], images[1], matched.get(), confidence.get(), stream));
    if (!job.half) return;
    require(gpu::upscale(kUpscaleThresholdQ4, grey[0].get(), matched.get(), confidence.get(), doubled.get(),
                         doubledConfidence.get(), job.size.width, job.size.height, stream));
  }
  DeviceBuffer<int16_t>& result() { return job.half ? doubled : matched; }
};

std::vector<int16_t> expectedMap(const Job& job, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right) {
  const int w = job.size.width, h = job.size.height, mw = job.half ? halfSide(w) : w, mh = job.half ? halfSide(h) : h;
  const size_t pixels = static_cast<size_t>(mw) * mh;
  std::vector<uint8_t> halves[2] = {std::vector<uint8_t>(pixels), std::vector<uint8_t>(pixels)}, confidence(pixels);
  if (job.half) {
    halfReference(packedView(left.data(), w, h), packedView(halves[0].data(), mw, mh));
    halfReference(packedView(right.data(), w, h), packedView(halves[1].data(), mw, mh));
  }
  std::vector<int16_t> matched(pixels), doubled(left.size());
  cbcaReference(jobParameters(job), 16 * kCbcaThreshold, packedView((job.half ? halves[0] : left).data(), mw, mh),
                packedView((job.half ? halves[1] : right).data(), mw, mh), packedView(matched.data(), mw, mh),
                packedView(confidence.data(), mw, mh));
  if (!job.half) return matched;
  upscaleReference(kUpscaleThresholdQ4, packedView(left.data(), w, h),
                   packedView<const int16_t>(matched.data(), mw, mh), packedView(doubled.data(), w, h));
  return doubled;
}

Timing timeJob(const Job& job, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right,
               const CrossTuning& tuning, std::vector<int16_t>* got, size_t* bytes = nullptr) {
  CbcaFrame frame(job, left, right, tuning);
  if (bytes != nullptr) *bytes = frame.cbca.bytes();
  return timeGraph(
      frame.stream, [&] { frame.match(); },
      [&] {
        if (got == nullptr) return;
        got->resize(frame.result().bytes() / sizeof(int16_t));
        require(cudaStatus(
            cudaMemcpy(got->data(), frame.result().get(), frame.result().bytes(), cudaMemcpyDeviceToHost), "copy"));
      });
}

struct Run {
  const Job& job;
  const char* image;
  std::vector<uint8_t> left, right;
  std::vector<std::vector<int16_t>> results;
  std::future<std::vector<int16_t>> expected;

  Run(const Job& j, const char* i, bool checked) : job(j), image(i) {
    if (image[0] == 'r') regionPair(job.size, left, right);
    else texturedPair(job.size, left, right);
    if (checked) expected = std::async(std::launch::async, [this] { return expectedMap(job, left, right); });
  }
  void check() {
    const std::vector<int16_t> reference = expected.get();
    for (const std::vector<int16_t>& got : results) {
      for (size_t i = 0; i < got.size(); ++i) {
        if (got[i] == reference[i]) continue;
        fail(std::string("cbca ") + job.name + ", " + image + ": differs from the reference at x " +
             std::to_string(i % job.size.width) + ", y " + std::to_string(i / job.size.width) + ": " +
             std::to_string(reference[i]) + ", got " + std::to_string(got[i]));
      }
    }
    std::printf("cbca %s, %s: %zu results equal the reference\n", job.name, image, results.size());
  }
};

void sweep(const Job& job, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right, int sms) {
  const auto print = [&](const char* what, const CrossTuning& tuning) {
    std::printf("  %s groups %d segments %d %d threads %d %d sums %d: %.4f\n", what, tuning.groups, tuning.rowSegments,
                tuning.columnSegments, tuning.rowThreads, tuning.columnThreads, tuning.sums,
                timeJob(job, left, right, tuning, nullptr).median);
    std::fflush(stdout);
  };
  const CrossTuning chosen = [&] {
    CrossTuning tuning;
    tuning.multiprocessors = sms;
    return tuning;
  }();
  CrossTuning tuning = chosen;
  for (tuning.groups = 2; tuning.groups <= 16; tuning.groups += tuning.groups < 4 ? 1 : 2) print("groups", tuning);
  tuning = chosen;
  for (tuning.rowSegments = 1; tuning.rowSegments <= 16; tuning.rowSegments += tuning.rowSegments < 8 ? 1 : 4)
    print("rows", tuning);
  tuning = chosen;
  for (tuning.columnSegments = 1; tuning.columnSegments <= 16;
       tuning.columnSegments += tuning.columnSegments < 8 ? 1 : 4) {
    print("columns", tuning);
  }
  tuning = chosen;
  for (tuning.rowThreads = 32; tuning.rowThreads <= 128; tuning.rowThreads *= 2) print("threads", tuning);
  tuning = chosen;
  for (tuning.columnThreads = 32; tuning.columnThreads <= 128; tuning.columnThreads += 32) print("threads", tuning);
  tuning = chosen;
  for (tuning.sums = 0; tuning.sums <= 2; ++tuning.sums) print("sums", tuning);
  tuning = chosen;
  for (tuning.streams = 1; tuning.streams <= 2; ++tuning.streams)
    print(tuning.streams == 1 ? "one stream" : "two streams", tuning);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc >= 3 && std::strcmp(argv[1], "--once") == 0) {
    const Job& job = kJobs[std::strcmp(argv[2], "half") == 0 ? 0 : 1];
    std::vector<uint8_t> left, right;
    regionPair(job.size, left, right);
    CrossTuning tuning;
    if (argc > 3) tuning.groups = std::atoi(argv[3]);
    CbcaFrame frame(job, left, right, tuning);
    frame.match();
    require(cudaStatus(cudaStreamSynchronize(frame.stream), "frame"));
    return 0;
  }
  if (argc < 3) fail("usage: bench_cbca OUT.json COMMIT [--sweep] [--unchecked] [sms...]");
  std::vector<int> partitions = {0};
  bool sweeps = false, checked = true;
  for (int i = 3; i < argc; ++i) {
    if (std::string(argv[i]) == "--sweep") sweeps = true;
    else if (std::string(argv[i]) == "--unchecked") checked = false;
    else partitions.push_back(std::atoi(argv[i]));
  }
  Report report(argv[1], argv[2]);
  std::printf("%-24s %-16s %5s %6s %10s %10s %9s %7s\n", "cbca", "size", "image", "SMs", "median ms", "least ms",
              "GDE/s", "MB");
  // The definition is slow, so it runs while the device is timed.
  std::vector<std::unique_ptr<Run>> runs;
  for (const Job& job : kJobs) {
    for (const char* image : {"regions", "noise"}) runs.emplace_back(new Run(job, image, checked));
  }
  for (const std::unique_ptr<Run>& run : runs) {
    const Job& job = run->job;
    for (const int sms : partitions) {
      if (sms != 0) enterPartition(sms);
      CrossTuning tuning;
      tuning.multiprocessors = sms;
      run->results.emplace_back();
      size_t bytes = 0;
      const Timing t = timeJob(job, run->left, run->right, tuning, &run->results.back(), &bytes);
      const int multiprocessors = report.multiprocessors(sms);
      const double giga = 1e-6 * job.size.width * job.size.height * job.size.num / t.median;
      char size[32];
      std::snprintf(size, sizeof size, "%dx%dx%d", job.size.width, job.size.height, job.size.num);
      std::printf("%-24s %-16s %7s %4d %10.4f %10.4f %9.1f %7.1f\n", job.name, size, run->image, multiprocessors,
                  t.median, t.least, giga, 1e-6 * bytes);
      std::fflush(stdout);
      report.row(
          "\"what\": \"cbca %s, graph replay\", \"image\": \"%s\", \"width\": %d, \"height\": %d, "
          "\"numDisparities\": %d, \"armX\": %d, \"armY\": %d, \"similarity\": %d, \"multiprocessors\": %d, "
          "\"medianMs\": %.4f, \"minMs\": %.4f, \"gigaDisparitiesPerSecond\": %.1f, \"workspaceBytes\": %zu, "
          "\"checkedAgainstReference\": %s",
          job.name, run->image, job.size.width, job.size.height, job.size.num, job.armX, job.armY, job.similarity,
          multiprocessors, t.median, t.least, giga, bytes, checked ? "true" : "false");
      if (sweeps && job.armX <= 9 && run->image[0] == 'r' && (sms == 0 || sms == 16))
        sweep(job, run->left, run->right, sms);
    }
    if (partitions.size() > 1) enterWhole();
  }
  for (const std::unique_ptr<Run>& run : runs) {
    if (checked) run->check();
  }
  return 0;
}
