// SPDX-License-Identifier: Apache-2.0
// Times the full and the coarse-to-fine search of sgm in the same run: bench_search OUT.json COMMIT [sms...]. Part of
// check.sh. From a grey pair in device memory to the median, default settings, as one graph, on the whole card, in each
// partition, and there during a memory stream; the kernels of each level; net joules per frame, by the card's own counter.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <memory>
#include <thread>

#include "../match/sgm/guided_workspace.h"
#include "bench_energy.h"
#include "bench_frame.h"
#include "bench_partition.h"
#include "bench_report.h"
#include "bench_stream.h"
#include "twins_sgm.h"

using namespace depthwatt;

namespace {

using Clock = std::chrono::steady_clock;

/// Makes a pair with a slanted ground, boxes in front of it, and noise, so that neighbouring tiles choose different blocks.
void scenePair(const Size& size, std::vector<uint8_t>& left, std::vector<uint8_t>& right) {
  std::mt19937 engine(11);
  const int w = size.width, h = size.height;
  left.resize(static_cast<size_t>(w) * h), right.resize(left.size());
  for (uint8_t& value : left) value = static_cast<uint8_t>(engine() >> 24);
  for (uint8_t& value : right) value = static_cast<uint8_t>(engine() >> 24);
  struct Box {
    int x, y, width, height;
  } boxes[12];
  for (Box& box : boxes) {
    box = {static_cast<int>(engine() % w), static_cast<int>(engine() % h),
           static_cast<int>(w / 14 + engine() % (w / 10)), static_cast<int>(h / 12 + engine() % (h / 7))};
  }
  for (int y = 0; y < h; ++y) {
    for (int x = 0; x < w; ++x) {
      double d = size.num * (0.12 + 0.25 * y / h + 0.04 * std::sin(x * 9.0 / w));
      for (int i = 0; i < 12; ++i) {
        const Box& box = boxes[i];
        if (x >= box.x && x < box.x + box.width && y >= box.y && y < box.y + box.height)
          d = std::max(d, size.num * (0.35 + 0.05 * i) + 0.02 * (x - box.x));
      }
      const int to = x - std::min(static_cast<int>(d), size.num - 2);
      if (to >= 0 && engine() % 16 != 0) right[static_cast<size_t>(y) * w + to] = left[static_cast<size_t>(y) * w + x];
    }
  }
}

/// Both searches of one size, and the images that they share.
class Searches {
 public:
  Searches(const Size& size, int sms) : size_(size), frame_(nullptr) {
    std::vector<uint8_t> left, right;
    scenePair(size, left, right);
    gpu::SgmTuning tuning;
    tuning.multiprocessors = sms;
    frame_.reset(new Frame(size, 4, left, right, tuning));
    static const MatcherFacts facts = sgmKeys();
    MatchTask task;
    task.width = size.width, task.height = size.height;
    task.search.minDisparity = 0, task.search.numDisparities = size.num;
    task.leftRight = true;
    task.matcher.facts = &facts;
    task.matcher.values = {0, 4, 10, 24, 2,
                           0, 6, 0,  1,  1};  // the defaults of cuda/match/sgm/sgm.cpu.cc, but the search
    require(gpu::openSgmOnGpu(task, &matcher_));
    full_.reset(new Replays(frame_->stream, [&] { frame_->match(); }));
    coarseToFine_.reset(new Replays(frame_->stream, [&] {
      require(matcher_->compute({frame_->grey[0].get(), frame_->grey[1].get(), nullptr, nullptr},
                                {frame_->q4.get(), frame_->confidence.get()}, frame_->stream));
      require(gpu::median(frame_->q4.get(), frame_->filtered.get(), size_.width, size_.height, frame_->stream));
    }));
  }
  Replays& full() { return *full_; }
  Replays& coarseToFine() { return *coarseToFine_; }
  size_t fullBytes() const { return frame_->sgm.bytes() + frame_->census[0].bytes() * 2 + frame_->whole.bytes(); }
  size_t coarseToFineBytes() const { return matcher_->bytes(); }
  Frame& frame() { return *frame_; }

 private:
  Size size_;
  std::unique_ptr<Frame> frame_;
  std::unique_ptr<gpu::Matcher> matcher_;
  std::unique_ptr<Replays> full_, coarseToFine_;
};

void timeKernels(Report& report, const Size& size, int sms, Frame& frame) {
  static const char* const kNames[gpu::kGuidedKernels] = {"blocks", "costs", "lines", "selection"};
  gpu::GuidedWorkspace search;
  require(search.open(sizeParameters(size, 4), size.width, size.height));
  // The words of the full size serve every level: only their number matters for time.
  const gpu::GuidedImages images = {frame.census[0].get(), frame.census[1].get(), nullptr, nullptr,
                                    frame.grey[0].get()};
  const gpu::GuidedResult result = {true, frame.q4.get(), frame.whole.get(), frame.confidence.get()};
  for (int level = search.levels() - 1; level >= 0; --level) {
    require(search.compute(level, images, result, frame.stream));
    // A level between the others replaces the votes that it needs.
    if (level != 0 && level != search.levels() - 1) continue;
    double before = 0;
    for (int kernels = level == search.levels() - 1 ? 2 : 1; kernels <= gpu::kGuidedKernels; ++kernels) {
      Replays replays(frame.stream, [&] { require(search.compute(level, images, result, frame.stream, kernels)); });
      const double median = replays.time(100).median;
      report.row(
          "\"what\": \"coarse-to-fine search, level %d, up to its %s\", \"width\": %d, \"height\": %d, "
          "\"numDisparities\": %d, \"multiprocessors\": %d, \"medianMs\": %.4f",
          level, kNames[kernels - 1], size.width, size.height, size.num, report.multiprocessors(sms), median);
      std::printf("    level %d %-10s %.4f (+%.4f)\n", level, kNames[kernels - 1], median, median - before);
      before = median;
    }
  }
}

void timeSearches(Report& report, const Size& size, int sms, bool kernels) {
  Searches searches(size, sms);
  const Timing full = searches.full().time(200), coarse = searches.coarseToFine().time(200);
  const auto row = [&](const char* search, const Timing& t, size_t bytes) {
    report.row(
        "\"what\": \"sgm, %s search\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, \"paths\": 4, "
        "\"multiprocessors\": %d, \"medianMs\": %.4f, \"minMs\": %.4f, \"workspaceBytes\": %zu",
        search, size.width, size.height, size.num, report.multiprocessors(sms), t.median, t.least, bytes);
  };
  row("full", full, searches.fullBytes());
  row("coarse-to-fine", coarse, searches.coarseToFineBytes());
  std::printf("%4d x %4d x %3d, %3d multiprocessors: full %.4f, coarse-to-fine %.4f ms, ratio %.3f, MB %.1f %.1f\n",
              size.width, size.height, size.num, report.multiprocessors(sms), full.median, coarse.median,
              coarse.median / full.median, searches.fullBytes() / 1e6, searches.coarseToFineBytes() / 1e6);
  if (kernels) timeKernels(report, size, sms, searches.frame());
  std::fflush(stdout);
}

/// Times both searches while the other multiprocessors copy memory continuously.
void timeBesideStream(Report& report, const Size& size, int sms, DramStream& background) {
  Searches searches(size, sms);
  CopyBuffers buffers;
  buffers.open(sms);
  DeviceBuffer<StreamControl> unused;
  require(unused.allocate(1));
  const cudaStream_t stream = searches.frame().stream;
  Replays copy(stream, [&] { buffers.copyOnce(stream); });
  // Everything is loaded before the stream runs, because loading waits for it.
  stopKernel<<<1, 1, 0, stream>>>(unused.get());
  searches.full().once();
  searches.coarseToFine().once();
  copy.once();
  background.begin();
  const Timing full = searches.full().time(50), coarse = searches.coarseToFine().time(50), copied = copy.time(10);
  const double streamed = background.end(stream),
               rate = 2e-6 * static_cast<double>(buffers.from.bytes()) / copied.median;
  const auto row = [&](const char* search, const Timing& t) {
    report.row(
        "\"what\": \"sgm, %s search, during a memory stream\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, "
        "\"paths\": 4, \"multiprocessors\": %d, \"streamGigabytesPerSecond\": %.0f, \"copyGigabytesPerSecond\": %.0f, "
        "\"medianMs\": %.4f, \"minMs\": %.4f",
        search, size.width, size.height, size.num, sms, streamed, rate, t.median, t.least);
  };
  row("full", full);
  row("coarse-to-fine", coarse);
  std::printf(
      "%4d x %4d x %3d, %3d multiprocessors during a stream of %.0f GB/s, copy %.0f GB/s: full %.4f, "
      "coarse-to-fine %.4f ms, ratio %.3f\n",
      size.width, size.height, size.num, sms, streamed, rate, full.median, coarse.median, coarse.median / full.median);
  std::fflush(stdout);
}

/// Net energy: less what the idle card takes in the same time.
void timeEnergy(Report& report, const Size& size) {
  const Energy counter;
  if (!counter.available()) return;
  Searches searches(size, 0);
  const auto measure = [&](const std::function<int()>& work) {
    const double before = counter.joules();
    const auto begin = Clock::now();
    const int frames = work();
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    return std::vector<double>{counter.joules() - before, seconds, static_cast<double>(frames)};
  };
  const auto idle = [&] {
    std::this_thread::sleep_for(std::chrono::seconds(1));
    return measure([] {
      std::this_thread::sleep_for(std::chrono::seconds(2));
      return 1;
    });
  };
  const auto run = [&](Replays& replays) {
    int frames = 0;
    for (const auto begin = Clock::now(); Clock::now() - begin < std::chrono::duration<double>(2);) {
      replays.time(100);
      frames += 110;
    }
    return frames;
  };
  for (int round = 0; round < 2; ++round) {
    for (const bool coarse : {false, true}) {
      const std::vector<double> rest = idle();
      Replays& replays = coarse ? searches.coarseToFine() : searches.full();
      run(replays);
      const std::vector<double> busy = measure([&] { return run(replays); });
      const double idleWatts = rest[0] / rest[1], net = (busy[0] - idleWatts * busy[1]) / busy[2];
      report.row(
          "\"what\": \"sgm, %s search, energy of the whole card\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, "
          "\"frames\": %.0f, \"seconds\": %.3f, \"joules\": %.3f, \"idleWatts\": %.2f, \"netJoulesPerFrame\": %.6f, "
          "\"joulesPerFrame\": %.6f",
          coarse ? "coarse-to-fine" : "full", size.width, size.height, size.num, busy[2], busy[1], busy[0], idleWatts,
          net, busy[0] / busy[2]);
      std::printf("%s search: %.3f mJ net a frame, %.3f mJ in all, idle %.1f W\n", coarse ? "coarse-to-fine" : "full",
                  1e3 * net, 1e3 * busy[0] / busy[2], idleWatts);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: bench_search OUT.json COMMIT [sms...]");
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  const Size sizes[] = {{640, 480, 128, true},
                        {1280, 720, 128, true},
                        {1280, 720, 256, true},
                        {1920, 1080, 128, true},
                        {1920, 1080, 256, true}};
  Report report(argv[1], argv[2]);
  for (const Size& size : sizes) timeSearches(report, size, 0, true);
  timeEnergy(report, sizes[4]);
  for (int i = 3; i < argc; ++i) {
    const int sms = std::atoi(argv[i]);
    CUcontext others;
    enterPartition(sms, &others);
    for (const Size& size : sizes) timeSearches(report, size, sms, true);
    DramStream stream(others, report.multiprocessors(0) - sms);
    for (const Size& size : sizes) timeBesideStream(report, size, sms, stream);
  }
  return 0;
}
