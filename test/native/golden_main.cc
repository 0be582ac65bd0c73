// SPDX-License-Identifier: Apache-2.0
// Computes census to checked disparity without Node and prints one hash per case, so that a foreign CPU's form can be
// tested alone.
//   golden ISA            one line per case: name, hash; test/golden/sgm.json has the expected ones
//   golden ISA time W H NUM PATHS THREADS FRAMES     times one matcher: minimum and median milliseconds
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <vector>

#include "cuda/match/cost/census/census.h"
#include "cuda/match/cost/gradient_census/gradient_census.h"
#include "cuda/match/sgm/sgm.h"
#include "cuda/prepare/half/half.h"
#include "cuda/refine/left_right/left_right.h"
#include "cuda/refine/median/median.h"
#include "cuda/refine/upscale/upscale.h"
#include "cuda/simd/kernels.h"

using namespace depthwatt;

namespace {

/// The generator of test/doubles/stages.ts.
struct Random {
  uint32_t state;
  explicit Random(uint32_t seed) : state((seed ^ 0x9e3779b9u) != 0 ? seed ^ 0x9e3779b9u : 1) {}
  uint32_t whole(uint32_t low, uint32_t high) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return low + state % (high - low + 1);
  }
};

struct Case {
  const char* name;
  int32_t width, height, num, min, paths, p1, p2, adaptive, uniqueness, threads;
  bool half = false;  ///< gradient census, matched at half resolution and upscaled
};

// test/golden/sgm.test.ts has the same list.
constexpr Case kCases[] = {
    {"usual-4", 173, 61, 128, 0, 4, 10, 60, 0, 10, 1},        {"usual-8", 173, 61, 128, 0, 8, 10, 60, 0, 10, 2},
    {"adaptive-4", 160, 45, 128, 3, 4, 7, 90, 16, 5, 2},      {"adaptive-8", 160, 45, 128, 0, 8, 5, 63, 40, 0, 1},
    {"two-bytes", 150, 38, 128, 0, 8, 9, 120, 0, 15, 3},      {"sixteen-bits", 97, 33, 96, 5, 8, 30, 700, 8, 10, 2},
    {"two-paths", 131, 29, 64, 0, 2, 10, 60, 0, 10, 1},       {"uneven", 211, 27, 75, 1, 8, 11, 50, 0, 20, 2},
    {"many", 300, 14, 512, 0, 4, 10, 60, 0, 10, 1},           {"narrow-image", 19, 50, 256, 0, 8, 10, 60, 0, 0, 2},
    {"ends-of-range", 140, 40, 16, 0, 8, 3, 60, 0, 10, 2},    {"half-4", 173, 61, 128, 0, 4, 12, 40, 4, 8, 2, true},
    {"half-8-odd", 160, 46, 75, 3, 8, 12, 40, 0, 8, 1, true},
};

struct Pair {
  std::vector<uint8_t> left, right;
};

/// Makes a noisy right image, and a left one that shows it in tiles of different disparity.
Pair randomPair(int32_t width, int32_t height, int32_t min, int32_t num, uint32_t seed) {
  Random random(seed);
  const auto pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
  Pair pair{std::vector<uint8_t>(pixels), std::vector<uint8_t>(pixels)};
  for (uint8_t& pixel : pair.right) pixel = static_cast<uint8_t>(random.whole(0, 255));
  for (int32_t y = 0; y < height; ++y) {
    for (int32_t x = 0; x < width; ++x) {
      const int32_t d = min + ((x >> 5) * 7 + (y >> 4) * 13) % num;
      const auto noise = static_cast<int32_t>(random.whole(0, 15)) - 8;
      const int32_t seen = x >= d ? pair.right[static_cast<size_t>(y * width + x - d)] : 128;
      pair.left[static_cast<size_t>(y * width + x)] = static_cast<uint8_t>(std::clamp(seen + noise, 0, 255));
    }
  }
  return pair;
}

uint32_t hashBytes(uint32_t hash, const void* data, size_t bytes) {
  const auto* p = static_cast<const uint8_t*>(data);
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ p[i]) * 16777619u;
  return hash;
}

struct Matcher {
  const bool half;
  const int32_t fullWidth, fullHeight;
  const int32_t width, height;  ///< size of the matched images
  std::vector<uint8_t> halves[2];
  std::vector<uint32_t> censusLeft, censusRight;
  std::vector<int16_t> q4, whole, right, smooth, upscaled;
  std::vector<uint8_t> confidence;
  Pair pair;
  Workers workers;
  std::unique_ptr<Sgm> sgm;

  Matcher(const Case& c, InstructionSet set)
      : half(c.half), fullWidth(c.width), fullHeight(c.height), width(c.half ? halfSide(c.width) : c.width),
        height(c.half ? halfSide(c.height) : c.height), pair(randomPair(c.width, c.height, c.min, c.num, 7)),
        workers(c.threads) {
    const auto pixels = static_cast<size_t>(width) * static_cast<size_t>(height);
    for (auto& image : halves) image.resize(half ? pixels : 0);
    upscaled.resize(half ? pair.left.size() : 0);
    for (auto* census : {&censusLeft, &censusRight}) census->resize(pixels);
    for (auto* disparity : {&q4, &whole, &right, &smooth}) disparity->resize(pixels);
    confidence.resize(pixels);
    SgmParameters p;
    p.minDisparity = half ? halfSide(c.min) : c.min;
    p.numDisparities = half ? halfSide(c.min + c.num) - halfSide(c.min) : c.num;
    p.paths = c.paths;
    p.p1 = c.p1;
    p.p2 = c.p2;
    p.adaptiveP2 = c.adaptive;
    p.uniqueness = c.uniqueness;
    Sgm* opened = nullptr;
    const Status status = Sgm::open(p, width, height, set, workers, &opened);
    if (!status.ok()) std::fprintf(stderr, "%s\n", status.message);
    sgm.reset(opened);
  }

  void run(InstructionSet set) {
    const auto view = [&](auto* data) { return packedView(data, width, height); };
    const auto full = [&](auto* data) { return packedView(data, fullWidth, fullHeight); };
    const auto fullLeft = full(static_cast<const uint8_t*>(pair.left.data()));
    const auto fullRight = full(static_cast<const uint8_t*>(pair.right.data()));
    if (half) {
      workers.rows(height, [&](int32_t first, int32_t end) {
        kernelsFor<HalfKernels>(set).half(fullLeft, view(halves[0].data()), first, end);
        kernelsFor<HalfKernels>(set).half(fullRight, view(halves[1].data()), first, end);
      });
    }
    const auto left = half ? view(static_cast<const uint8_t*>(halves[0].data())) : fullLeft;
    const auto other = half ? view(static_cast<const uint8_t*>(halves[1].data())) : fullRight;
    workers.rows(height, [&](int32_t first, int32_t end) {
      const auto census =
          half ? kernelsFor<GradientCensusKernels>(set).gradientCensus : kernelsFor<CensusKernels>(set).census8;
      census(left, view(censusLeft.data()), first, end);
      census(other, view(censusRight.data()), first, end);
    });
    sgm->compute({view(static_cast<const uint32_t*>(censusLeft.data())),
                  view(static_cast<const uint32_t*>(censusRight.data())),
                  left,
                  {},
                  {}},
                 {view(q4.data()), view(whole.data()), view(right.data()), view(confidence.data())});
    const auto asConst = [&](std::vector<int16_t>& v) { return view(static_cast<const int16_t*>(v.data())); };
    workers.rows(height, [&](int32_t first, int32_t end) {
      kernelsFor<LeftRightKernels>(set).leftRight(
          {asConst(whole), asConst(right), view(q4.data()), view(confidence.data())}, first, end);
    });
    workers.rows(height, [&](int32_t first, int32_t end) {
      kernelsFor<MedianKernels>(set).median(asConst(q4), view(smooth.data()), first, end);
    });
    if (!half) return;
    workers.rows(fullHeight, [&](int32_t first, int32_t end) {
      kernelsFor<UpscaleKernels>(set).upscale(kUpscaleThresholdQ4, fullLeft, asConst(smooth), full(upscaled.data()),
                                              first, end);
    });
  }

  uint32_t hash() const {
    uint32_t h = 2166136261u;
    for (const auto* image : {&whole, &right, &q4, &smooth, &upscaled})
      h = hashBytes(h, image->data(), image->size() * 2);
    return hashBytes(h, confidence.data(), confidence.size());
  }
};

double milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

}  // namespace

int main(int count, char** arguments) {
  InstructionSet set = InstructionSet::kScalar;
  const Status status = chooseInstructionSet(count > 1 ? arguments[1] : "", &set);
  if (!status.ok()) {
    std::fprintf(stderr, "%s\n", status.message);
    return 1;
  }
  std::printf("isa %s\n", instructionSetName(set));
  if (count < 9) {
    for (const Case& c : kCases) {
      Matcher matcher(c, set);
      if (matcher.sgm == nullptr) return 1;
      matcher.run(set);
      std::printf("%s %08x\n", c.name, matcher.hash());
    }
    return 0;
  }
  const auto number = [&](int i) { return static_cast<int32_t>(std::atoi(arguments[i])); };
  Matcher matcher({"time", number(3), number(4), number(5), 0, number(6), 10, 60, 0, 10, number(7), false}, set);
  if (matcher.sgm == nullptr) return 1;
  std::vector<double> times;
  for (int32_t i = 0; i < number(8); ++i) {
    const double before = milliseconds();
    matcher.run(set);
    times.push_back(milliseconds() - before);
  }
  std::sort(times.begin(), times.end());
  std::printf("minimum %.3f ms, median %.3f ms, hash %08x\n", times.front(), times[times.size() / 2], matcher.hash());
  return 0;
}
