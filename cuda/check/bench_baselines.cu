// SPDX-License-Identifier: Apache-2.0
// Times the forms that the papers start from (baselines/) next to the engine's kernels: bench_baselines OUT.json COMMIT [sms...].
// From grey images in device memory to whole disparities there, as one graph; every form's result is compared with the
// reference. `depthwatt reproduce --kernels OUT.json` prints the papers' speed-up tables with it. Part of check.sh.
#include <future>

#include "../match/exponential/exponential_workspace.h"
#include "../match/hsv/hsv.h"
#include "../match/pyramid/pyramid_workspace.h"
#include "bench_frame.h"
#include "bench_partition.h"
#include "bench_report.h"
#include "twins_baselines.h"

using namespace depthwatt;
using gpu::baseline::BlockSize;
using gpu::baseline::ExponentialBaseline;
using gpu::baseline::ExponentialForm;
using gpu::baseline::PyramidBaseline;
using gpu::baseline::PyramidForm;
using gpu::baseline::SgmBaseline;
using gpu::baseline::SgmForm;

namespace {

constexpr Size kSgmSize = {640, 480, 128};
constexpr int kTeddyWidth = 450, kTeddyHeight = 375;
const BlockSize kPaperBlock;
const BlockSize kBlocks[] = {{32, 4}, {32, 8}, {64, 2}, {64, 4}, {128, 1}, {128, 2}, {256, 1}, {256, 2}};

/// Preset sgm-2016.
SgmParameters paperParameters(int paths) {
  SgmParameters p;
  p.numDisparities = kSgmSize.num, p.paths = paths, p.p1 = 7, p.p2 = 86;
  p.subpixel = false, p.uniqueness = 0;
  return p;
}

struct Pair {
  std::vector<uint8_t> left, right;
  DeviceBuffer<uint8_t> dLeft, dRight;
  DeviceBuffer<int16_t> whole;

  explicit Pair(const Size& size) { texturedPair(size, left, right); }
  /// Copies the images to the device of the current context.
  void upload() {
    for (auto* one : {&dLeft, &dRight}) require(one->allocate(left.size()));
    require(whole.allocate(left.size()));
    require(cudaStatus(cudaMemcpy(dLeft.get(), left.data(), left.size(), cudaMemcpyHostToDevice), "copy"));
    require(cudaStatus(cudaMemcpy(dRight.get(), right.data(), right.size(), cudaMemcpyHostToDevice), "copy"));
  }
  void expect(const std::vector<int16_t>& expected, const std::string& what) const {
    std::vector<int16_t> got(expected.size());
    require(cudaStatus(cudaMemcpy(got.data(), whole.get(), whole.bytes(), cudaMemcpyDeviceToHost), "copy"));
    if (got != expected) fail(what + " differs from the reference");
  }
};

struct Stream {
  cudaStream_t handle = nullptr;
  Stream() { require(cudaStatus(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), "stream")); }
  ~Stream() { cudaStreamDestroy(handle); }
};

/// Times a graph for about 60 ms, at least 5 replays; check() runs after the first.
template <class Enqueue, class Check>
Timing timed(const Stream& stream, Enqueue enqueue, Check check) {
  Replays replays(stream.handle, enqueue);
  replays.once();
  check();
  const double once = replays.time(1).median;
  return replays.time(std::max(5, std::min(200, static_cast<int>(60 / once))));
}

void writeRow(Report& report, const char* matcher, const std::string& what, const Size& size, int paths, int sms,
              const Timing& t) {
  std::printf("%-5s %-40s %d paths %4d %10.4f\n", matcher, what.c_str(), paths, report.multiprocessors(sms), t.median);
  std::fflush(stdout);
  report.row(
      "\"what\": \"%s\", \"matcher\": \"%s\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, \"paths\": %d, "
      "\"multiprocessors\": %d, \"medianMs\": %.4f, \"minMs\": %.4f, \"checkedAgainstReference\": true",
      what.c_str(), matcher, size.width, size.height, size.num, paths, report.multiprocessors(sms), t.median, t.least);
}

void timeSgm(Report& report, int paths, int sms, Pair& pair, const std::vector<int16_t>& expected) {
  const SgmParameters p = paperParameters(paths);
  pair.upload();
  for (const SgmForm form : gpu::baseline::kSgmForms) {
    SgmBaseline baseline;
    const Stream stream;
    require(baseline.open(form, p, kSgmSize.width, kSgmSize.height));
    const std::string name = gpu::baseline::sgmFormName(form);
    const Timing t = timed(
        stream,
        [&] { require(baseline.compute(pair.dLeft.get(), pair.dRight.get(), pair.whole.get(), stream.handle)); },
        [&] { pair.expect(expected, name); });
    writeRow(report, "sgm", name, kSgmSize, paths, sms, t);
  }
  DeviceBuffer<uint32_t> census[2];
  DeviceBuffer<int16_t> q4;
  DeviceBuffer<uint8_t> confidence;
  for (auto& words : census) require(words.allocate(pair.left.size()));
  require(q4.allocate(pair.left.size()));
  require(confidence.allocate(pair.left.size()));
  gpu::SgmTuning tuning;
  tuning.multiprocessors = sms;
  gpu::SgmWorkspace sgm;
  require(sgm.open(p, kSgmSize.width, kSgmSize.height, tuning));
  const Stream stream;
  const Timing t = timed(
      stream,
      [&] {
        require(gpu::census(pair.dLeft.get(), pair.dRight.get(), census[0].get(), census[1].get(), kSgmSize.width,
                            kSgmSize.height, stream.handle));
        require(sgm.compute(census[0].get(), census[1].get(), pair.dLeft.get(), false, q4.get(), pair.whole.get(),
                            nullptr, confidence.get(), stream.handle));
      },
      [&] { pair.expect(expected, "the engine"); });
  writeRow(report, "sgm", "the engine's kernels", kSgmSize, paths, sms, t);
}

void timeExponential(Report& report, int sms, Pair& pair, const std::vector<Rgb8>& rgb,
                     const std::vector<int16_t>& expected) {
  ExponentialParameters p;  // preset esaw-9
  p.numDisparities = 60;
  const Size size = {kTeddyWidth, kTeddyHeight, p.numDisparities};
  pair.upload();
  DeviceBuffer<Rgb8> colours;
  require(colours.allocate(rgb.size()));
  require(cudaStatus(cudaMemcpy(colours.get(), rgb.data(), colours.bytes(), cudaMemcpyHostToDevice), "copy"));
  const Stream stream;
  const auto time = [&](ExponentialForm form, const BlockSize& block) {
    ExponentialBaseline baseline;
    require(baseline.open(form, block, p, size.width, size.height));
    return timed(
        stream,
        [&] {
          require(
              baseline.compute(pair.dLeft.get(), pair.dRight.get(), colours.get(), pair.whole.get(), stream.handle));
        },
        [&] { pair.expect(expected, gpu::baseline::exponentialFormName(form)); });
  };
  for (const ExponentialForm form : gpu::baseline::kExponentialForms) {
    writeRow(report, "esaw", gpu::baseline::exponentialFormName(form), size, 0, sms, time(form, kPaperBlock));
  }
  BlockSize best;
  Timing least = {1e9, 1e9};
  for (const BlockSize& block : kBlocks) {
    const Timing t = time(ExponentialForm::kCoalesced, block);
    if (t.median < least.median) least = t, best = block;
  }
  writeRow(report, "esaw", "ESAW tune block size", size, 0, sms, least);
  std::printf("block of %d x %d\n", best.width, best.height);
  ExponentialBaseline baseline;
  require(baseline.open(ExponentialForm::kCoalesced, best, p, size.width, size.height));
  require(baseline.compute(pair.dLeft.get(), pair.dRight.get(), colours.get(), pair.whole.get(), stream.handle));
  for (const bool alongX : {true, false}) {
    // Many passes in a row, so that the start of a graph does not count.
    constexpr int kPasses = 20;
    const auto passes = [&](int count) {
      return timed(
          stream,
          [&] {
            for (int i = 0; i < count; ++i) require(baseline.onePass(alongX, colours.get(), stream.handle));
          },
          [] {});
    };
    const Timing many = passes(kPasses + 1), one = passes(1);
    const Timing each = {(many.median - one.median) / kPasses, (many.least - one.least) / kPasses};
    writeRow(report, "esaw", alongX ? "aggr_H" : "aggr_V", size, 0, sms, each);
  }
  gpu::ExponentialWorkspace engine;
  DeviceBuffer<int16_t> q4;
  DeviceBuffer<uint8_t> confidence;
  require(q4.allocate(pair.left.size()));
  require(confidence.allocate(pair.left.size()));
  require(engine.open(p, size.width, size.height));
  const Timing t = timed(
      stream,
      [&] {
        require(engine.compute(pair.dLeft.get(), pair.dRight.get(), colours.get(),
                               {q4.get(), pair.whole.get(), nullptr, confidence.get()}, stream.handle));
      },
      [&] { pair.expect(expected, "the engine"); });
  writeRow(report, "esaw", "the engine's kernels", size, 0, sms, t);
}

constexpr int kPyramidSides[] = {3, 5, 7};

/// Presets pyramid-3, -5 and -7 on the size and range of cones.
PyramidParameters pyramidParameters(int side) {
  PyramidParameters p;
  p.numDisparities = 60, p.windowWidth = p.windowHeight = side, p.levels = 3, p.peakRatio = 18, p.subpixel = false;
  return p;
}

/// A colour pair in the units of preset pyramid-7.
struct HsvPair {
  std::vector<HsvPixel> left, right;

  HsvPair(const Pair& pair, int width, int height) : left(pair.left.size()), right(pair.left.size()) {
    const HsvWeights weights = {20, 30, 50};
    const auto convert = [&](const std::vector<uint8_t>& grey, std::vector<HsvPixel>& out) {
      const std::vector<Rgb8> rgb = coloured(grey);
      hsvReference(weights, packedView(rgb.data(), width, height), packedView(out.data(), width, height));
    };
    convert(pair.left, left);
    convert(pair.right, right);
  }
  static std::vector<Rgb8> coloured(const std::vector<uint8_t>& image) {
    std::vector<Rgb8> rgb;
    for (const uint8_t grey : image)
      rgb.push_back({grey, static_cast<uint8_t>(grey / 2 + 40), static_cast<uint8_t>(255 - grey)});
    return rgb;
  }
};

std::vector<int16_t> pyramidWinners(int side, const HsvPair& pair, int width, int height) {
  std::vector<int16_t> q4(pair.left.size()), whole(pair.left.size());
  std::vector<uint8_t> confidence(pair.left.size());
  pyramidReference(pyramidParameters(side),
                   {packedView(pair.left.data(), width, height), packedView(pair.right.data(), width, height)},
                   {packedView(q4.data(), width, height),
                    packedView(whole.data(), width, height),
                    {},
                    packedView(confidence.data(), width, height)});
  return whole;
}

void timePyramid(Report& report, int sms, Pair& pair, const HsvPair& hsv, const std::vector<int16_t>* expected) {
  const Size size = {kTeddyWidth, kTeddyHeight, 60};
  pair.upload();
  DeviceBuffer<HsvPixel> left, right;
  DeviceBuffer<int16_t> q4;
  DeviceBuffer<uint8_t> confidence;
  upload(left, hsv.left);
  upload(right, hsv.right);
  require(q4.allocate(hsv.left.size()));
  require(confidence.allocate(hsv.left.size()));
  const Stream stream;
  for (int i = 0; i < 3; ++i) {
    const PyramidParameters p = pyramidParameters(kPyramidSides[i]);
    const std::string window = ", " + std::to_string(kPyramidSides[i]) + "x" + std::to_string(kPyramidSides[i]);
    for (const PyramidForm form : gpu::baseline::kPyramidForms) {
      PyramidBaseline baseline;
      require(baseline.open(form, p, size.width, size.height));
      const std::string name = gpu::baseline::pyramidFormName(form) + window;
      const Timing t = timed(
          stream, [&] { require(baseline.compute(left.get(), right.get(), pair.whole.get(), stream.handle)); },
          [&] { pair.expect(expected[i], name); });
      writeRow(report, "pyramid", name, size, 0, sms, t);
    }
    gpu::PyramidWorkspace engine;
    require(engine.open(p, size.width, size.height));
    const Timing t = timed(
        stream,
        [&] {
          require(engine.compute(left.get(), right.get(), {q4.get(), pair.whole.get(), nullptr, confidence.get()},
                                 stream.handle));
        },
        [&] { pair.expect(expected[i], "the engine"); });
    writeRow(report, "pyramid", "the engine's kernels" + window, size, 0, sms, t);
  }
  const Size large = {1600, 1200, 60};
  PyramidBaseline scaling;
  require(scaling.open(PyramidForm::kOriginal, pyramidParameters(7), large.width, large.height));
  const std::vector<HsvPixel> pixels(static_cast<size_t>(large.width) * large.height);
  upload(left, pixels);
  const Timing t = timed(stream, [&] { require(scaling.scaleDown(left.get(), 0, 1, stream.handle)); }, [] {});
  writeRow(report, "pyramid", "scaling down", large, 0, sms, t);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: bench_baselines OUT.json COMMIT [sms...]");
  std::vector<int> partitions = {0};
  for (int i = 3; i < argc; ++i) partitions.push_back(std::atoi(argv[i]));
  Report report(argv[1], argv[2]);
  const int allPaths[] = {2, 4, 8};
  const Pair sgmPair(kSgmSize);
  std::future<std::vector<int16_t>> winners[3];
  for (int i = 0; i < 3; ++i) {
    winners[i] = std::async(std::launch::async, [&, i] {
      return baselineWinners(paperParameters(allPaths[i]), sgmPair.left, sgmPair.right, kSgmSize.width,
                             kSgmSize.height);
    });
  }
  const Pair teddy({kTeddyWidth, kTeddyHeight, 60});
  const std::vector<Rgb8> rgb = HsvPair::coloured(teddy.left);
  const HsvPair hsv(teddy, kTeddyWidth, kTeddyHeight);
  std::future<std::vector<int16_t>> pyramids[3];
  for (int i = 0; i < 3; ++i) {
    pyramids[i] = std::async(std::launch::async,
                             [&, i] { return pyramidWinners(kPyramidSides[i], hsv, kTeddyWidth, kTeddyHeight); });
  }
  ExponentialParameters p;
  p.numDisparities = 60;
  std::vector<int16_t> q4(teddy.left.size()), whole(teddy.left.size());
  std::vector<uint8_t> confidence(teddy.left.size());
  exponentialReference(p,
                       {packedView(teddy.left.data(), kTeddyWidth, kTeddyHeight),
                        packedView(teddy.right.data(), kTeddyWidth, kTeddyHeight),
                        packedView<const Rgb8>(rgb.data(), kTeddyWidth, kTeddyHeight)},
                       {packedView(q4.data(), kTeddyWidth, kTeddyHeight),
                        packedView(whole.data(), kTeddyWidth, kTeddyHeight),
                        {},
                        packedView(confidence.data(), kTeddyWidth, kTeddyHeight)});
  std::vector<int16_t> expected[3];
  std::vector<int16_t> expectedPyramids[3];
  for (int i = 0; i < 3; ++i) expected[i] = winners[i].get(), expectedPyramids[i] = pyramids[i].get();
  for (const int sms : partitions) {
    if (sms != 0) enterPartition(sms);
    for (int i = 0; i < 3; ++i) {
      Pair pair(kSgmSize);
      timeSgm(report, allPaths[i], sms, pair, expected[i]);
    }
    Pair pair({kTeddyWidth, kTeddyHeight, 60});
    timeExponential(report, sms, pair, rgb, whole);
    timePyramid(report, sms, pair, hsv, expectedPyramids);
    if (partitions.size() > 1) enterWhole();
  }
  return 0;
}
