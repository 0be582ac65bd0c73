// SPDX-License-Identifier: Apache-2.0
// Times semi-global matching over its own settings: bench_sgm OUT.json COMMIT [sms...]. Part of check.sh. From the census
// of a grey pair to the median, 640x480, as one graph, on the whole card and in each partition.
//   every P2 from 1 to 127 with 2, 4 and 8 paths; fails if a P2 takes over 15 % more or less time than the next smaller one
//   31-bit and 62-bit census, 64 to 512 disparities, the settings of Hernandez-Juarez et al. and with left-right check
//   kernels that compute costs and walks together, and separately, the same for the selection; 8 and 32 lanes per line
//   joules per frame, by the card's own counter
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../match/cost/wide_census/wide_census_gpu.h"
#include "bench_energy.h"
#include "bench_frame.h"
#include "bench_partition.h"
#include "bench_report.h"

using namespace depthwatt;

namespace {

constexpr int kWidth = 640, kHeight = 480, kLargestP2 = 127;
constexpr double kLargestStep = 1.15;

/// One combination of settings.
struct Setup {
  int paths = 4, p2 = 86, num = 128, words = 1;
  bool checked =
      false;  ///< sub-pixel disparities, uniqueness and the left-right check; else whole pixels, as in the paper
  gpu::SgmTuning tuning;
};

class Pair {
 public:
  Pair() {
    texturedPair({kWidth, kHeight, 128}, left_, right_);
    const std::vector<uint8_t>* sides[2] = {&left_, &right_};
    for (int side = 0; side < 2; ++side) {
      require(grey[side].allocate(left_.size()));
      require(census[side].allocate(left_.size()));
      require(more[side].allocate(left_.size()));
      require(
          cudaStatus(cudaMemcpy(grey[side].get(), sides[side]->data(), left_.size(), cudaMemcpyHostToDevice), "copy"));
    }
    require(confidence.allocate(left_.size()));
    for (DeviceBuffer<int16_t>* b : {&q4, &whole, &filtered}) require(b->allocate(left_.size()));
    require(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
  }
  ~Pair() { cudaStreamDestroy(stream); }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  DeviceBuffer<uint8_t> grey[2], confidence;
  DeviceBuffer<uint32_t> census[2], more[2];
  DeviceBuffer<int16_t> q4, whole, filtered;
  cudaStream_t stream = nullptr;

 private:
  std::vector<uint8_t> left_, right_;
};

/// A matcher and the graph of its frame.
class Graph {
 public:
  Graph(Pair& pair, const Setup& setup) {
    SgmParameters p;
    p.numDisparities = setup.num, p.paths = setup.paths, p.p1 = std::min(7, setup.p2), p.p2 = setup.p2;
    p.words = setup.words, p.subpixel = setup.checked, p.uniqueness = setup.checked ? 5 : 0;
    require(sgm_.open(p, kWidth, kHeight, setup.tuning));
    replays_.reset(new Replays(pair.stream, [&] {
      if (setup.words == 2) {
        require(gpu::wideCensus(pair.grey[0].get(), pair.grey[1].get(), pair.census[0].get(), pair.more[0].get(),
                                pair.census[1].get(), pair.more[1].get(), kWidth, kHeight, pair.stream));
      } else {
        require(gpu::census(pair.grey[0].get(), pair.grey[1].get(), pair.census[0].get(), pair.census[1].get(), kWidth,
                            kHeight, pair.stream));
      }
      require(sgm_.compute(pair.census[0].get(), pair.census[1].get(), pair.grey[0].get(), setup.checked, pair.q4.get(),
                           pair.whole.get(), nullptr, pair.confidence.get(), pair.stream, pair.more[0].get(),
                           pair.more[1].get()));
      require(gpu::median(pair.q4.get(), pair.filtered.get(), kWidth, kHeight, pair.stream));
    }));
    replays_->once();
  }
  Replays& replays() { return *replays_; }
  size_t bytes() const { return sgm_.bytes(); }

 private:
  gpu::SgmWorkspace sgm_;
  std::unique_ptr<Replays> replays_;
};

class Bench {
 public:
  Bench(Report& report, int sms) : report_(report), sms_(sms) {}

  /// Returns the median in milliseconds, and writes a row if `what` says of what.
  double time(Setup setup, int replays, const char* what) {
    setup.tuning.multiprocessors = sms_;
    Graph graph(pair_, setup);
    const Timing t = graph.replays().time(replays);
    if (what == nullptr) return t.median;
    report_.row(
        "\"what\": \"sgm, %s\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, \"paths\": %d, \"p2\": %d, "
        "\"censusBits\": %d, \"checked\": %s, \"multiprocessors\": %d, "
        "\"medianMs\": %.4f, \"minMs\": %.4f, \"workspaceBytes\": %zu",
        what, kWidth, kHeight, setup.num, setup.paths, setup.p2, 31 * setup.words, setup.checked ? "true" : "false",
        report_.multiprocessors(sms_), t.median, t.least, graph.bytes());
    return t.median;
  }
  /// Returns whether no P2 takes over 15 % more or less time than the one before.
  bool sweep(int paths) {
    Setup setup;
    setup.paths = paths;
    double before = 0, worst = 1;
    int at = 0;
    std::string medians;
    for (setup.p2 = 1; setup.p2 <= kLargestP2; ++setup.p2) {
      double now = time(setup, 40, nullptr);
      if (before > 0 && step(now, before) > worst) now = std::min(now, time(setup, 200, nullptr));
      if (before > 0 && step(now, before) > worst) worst = step(now, before), at = setup.p2;
      char text[16];
      std::snprintf(text, sizeof text, "%s%.4f", medians.empty() ? "" : ", ", now);
      medians += text;
      before = now;
    }
    report_.row(
        "\"what\": \"sgm, every P2 from 1 on\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, \"paths\": %d, "
        "\"multiprocessors\": %d, \"largestStep\": %.3f, \"largestStepAtP2\": %d, \"medianMs\": [%s]",
        kWidth, kHeight, setup.num, paths, report_.multiprocessors(sms_), worst, at, medians.c_str());
    std::printf("%d paths, %3d multiprocessors: largest step %.3f, at P2 %d\n", paths, report_.multiprocessors(sms_),
                worst, at);
    std::fflush(stdout);
    return worst <= kLargestStep;
  }
  void forms() {
    struct Form {
      const char* name;
      gpu::SgmTuning tuning;
    };
    Form all[] = {{"as chosen", {}}, {"without the last kernel", {}}, {"costs apart", {}}, {"8 lanes", {}},
                  {"32 lanes", {}},  {"selection apart", {}}};
    all[1].tuning.stages = 3;
    all[2].tuning.costsApart = true;
    all[3].tuning.columnLanes = 8, all[4].tuning.columnLanes = 32;
    all[5].tuning.separateSelection = true;
    for (const int num : {64, 128, 256, 512}) {
      for (const int words : {1, 2}) {
        for (const bool checked : {false, true}) {
          for (const int paths : {2, 4, 8}) {
            for (const int p2 : {60, 100}) {
              std::printf("%3d multiprocessors, %d disparities, %d bits, %-7s, %d paths, P2 %3d:",
                          report_.multiprocessors(sms_), num, 31 * words, checked ? "checked" : "whole", paths, p2);
              for (const Form& form : all) {
                if (form.tuning.costsApart && paths != 4) continue;
                if (num == 512 && &form != all) continue;  // it has one form
                Setup setup;
                setup.num = num, setup.words = words, setup.checked = checked, setup.paths = paths, setup.p2 = p2;
                setup.tuning = form.tuning;
                std::printf(" %s %.4f", form.name, time(setup, 40, form.name));
              }
              std::printf("\n");
              std::fflush(stdout);
            }
          }
        }
      }
    }
  }
  void energy() {
    const Energy counter;
    if (!counter.available()) return;
    using Clock = std::chrono::steady_clock;
    for (const int paths : {2, 4, 8}) {
      Setup setup;
      setup.paths = paths, setup.tuning.multiprocessors = sms_;
      Graph graph(pair_, setup);
      const auto run = [&](double seconds) {
        int frames = 0;
        for (const auto begin = Clock::now(); Clock::now() - begin < std::chrono::duration<double>(seconds);) {
          graph.replays().time(100);
          frames += 110;  // with those before the timed ones
        }
        return frames;
      };
      run(0.5);
      const double before = counter.joules();
      const auto begin = Clock::now();
      const int frames = run(2);
      const double joules = counter.joules() - before;
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      report_.row(
          "\"what\": \"sgm, energy of the whole card\", \"width\": %d, \"height\": %d, \"numDisparities\": 128, \"paths\": %d, "
          "\"p2\": %d, \"multiprocessors\": %d, \"frames\": %d, \"seconds\": %.3f, \"joules\": %.3f, "
          "\"joulesPerFrame\": %.6f, \"watts\": %.2f",
          kWidth, kHeight, paths, setup.p2, report_.multiprocessors(sms_), frames, seconds, joules, joules / frames,
          joules / seconds);
      std::printf("%3d multiprocessors, %d paths: %.3f mJ a frame, %.1f W\n", report_.multiprocessors(sms_), paths,
                  1e3 * joules / frames, joules / seconds);
      std::fflush(stdout);
    }
  }

 private:
  static double step(double a, double b) { return std::max(a, b) / std::min(a, b); }

  Report& report_;
  int sms_;
  Pair pair_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: bench_sgm OUT.json COMMIT [sms...]");
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
  std::vector<int> partitions = {0};
  for (int i = 3; i < argc; ++i) partitions.push_back(std::atoi(argv[i]));
  bool even = true;
  {  // the file is complete when the report ends
    Report report(argv[1], argv[2]);
    for (const int sms : partitions) {
      if (sms != 0) enterPartition(sms);
      Bench bench(report, sms);
      for (const int paths : {2, 4, 8}) even = bench.sweep(paths) && even;
      bench.forms();
      bench.energy();
    }
  }
  if (!even) fail("a P2 takes over 15 % more or less time than the one before");
  return 0;
}
