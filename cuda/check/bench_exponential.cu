// SPDX-License-Identifier: Apache-2.0
// Times exponential-step aggregation and rectification in colours: bench_exponential OUT.json COMMIT [sms...]. From
// images in device memory to disparity or colours in device memory, as one graph. Compares the aggregation's results
// with the reference, also inside each partition. Part of check.sh.
#include "../match/exponential/exponential_workspace.h"
#include "../rectify/rectify_gpu.h"
#include "bench_frame.h"
#include "bench_partition.h"
#include "bench_report.h"

using namespace depthwatt;

namespace {

struct Preset {
  const char* name;
  ExponentialParameters parameters;
};

/// Table III of Yu et al. 2010 (decision 0040 for esmp's base), and the same with gradients in addition.
std::vector<Preset> presets() {
  ExponentialParameters esaw;
  esaw.numDisparities = 60;
  ExponentialParameters esaw5 = esaw;
  esaw5.steps = 5, esaw5.basePercent = 260;
  ExponentialParameters gradients = esaw;
  gradients.cost = 2340, gradients.gradientTruncation = 4, gradients.gradientCost = 9360;
  ExponentialParameters esmp = esaw;
  esmp.steps = 8, esmp.basePercent = 180, esmp.gammaColour = 18, esmp.gammaDistance = 29, esmp.truncation = 17;
  esmp.cost = 3000, esmp.slope = 20000, esmp.cap = 44250;
  return {{"esaw-9", esaw}, {"esaw-5", esaw5}, {"esmp-8", esmp}, {"esaw-9 with gradients", gradients}};
}

constexpr int kWidth = 450, kHeight = 375;

struct Pair {
  std::vector<uint8_t> left, right;
  std::vector<Rgb8> rgb;
};

Pair randomPair() {
  Pair pair;
  texturedPair({kWidth, kHeight, 60}, pair.left, pair.right);
  for (size_t i = 0; i < pair.left.size(); ++i) {
    const uint8_t grey = pair.left[i];
    pair.rgb.push_back({grey, static_cast<uint8_t>(grey / 2 + 40), static_cast<uint8_t>(255 - grey)});
  }
  return pair;
}

template <class T>
void copyTo(DeviceBuffer<T>& to, const std::vector<T>& from) {
  require(to.allocate(from.size()));
  require(cudaStatus(cudaMemcpy(to.get(), from.data(), to.bytes(), cudaMemcpyHostToDevice), "copy"));
}

struct Stream {
  cudaStream_t handle = nullptr;
  Stream() { require(cudaStatus(cudaStreamCreateWithFlags(&handle, cudaStreamNonBlocking), "stream")); }
  ~Stream() { cudaStreamDestroy(handle); }
};

void timeAggregation(Report& report, const Preset& preset, const Pair& pair, const std::vector<int16_t>& expected,
                     int sms) {
  DeviceBuffer<uint8_t> grey[2], confidence;
  DeviceBuffer<Rgb8> rgb;
  DeviceBuffer<int16_t> q4, whole;
  copyTo(grey[0], pair.left);
  copyTo(grey[1], pair.right);
  copyTo(rgb, pair.rgb);
  require(confidence.allocate(pair.left.size()));
  require(q4.allocate(pair.left.size()));
  require(whole.allocate(pair.left.size()));
  gpu::ExponentialWorkspace exponential;
  require(exponential.open(preset.parameters, kWidth, kHeight));
  Stream stream;
  const Timing t = timeGraph(
      stream.handle,
      [&] {
        require(exponential.compute(grey[0].get(), grey[1].get(), rgb.get(),
                                    {q4.get(), whole.get(), nullptr, confidence.get()}, stream.handle));
      },
      [&] {
        std::vector<int16_t> got(expected.size());
        require(cudaStatus(cudaMemcpy(got.data(), whole.get(), whole.bytes(), cudaMemcpyDeviceToHost), "copy"));
        if (got != expected) fail(std::string("exponential ") + preset.name + " differs from the reference");
      });
  const int multiprocessors = report.multiprocessors(sms);
  const double giga = 1e-6 * kWidth * kHeight * preset.parameters.numDisparities / t.median;
  std::printf("%-24s %dx%dx%d %4d %10.4f %10.4f %9.1f %7.1f\n", preset.name, kWidth, kHeight,
              preset.parameters.numDisparities, multiprocessors, t.median, t.least, giga, 1e-6 * exponential.bytes());
  std::fflush(stdout);
  report.row(
      "\"what\": \"%s, graph replay\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, \"multiprocessors\": %d, "
      "\"medianMs\": %.4f, \"minMs\": %.4f, \"gigaDisparitiesPerSecond\": %.1f, \"workspaceBytes\": %zu, "
      "\"checkedAgainstReference\": true",
      preset.name, kWidth, kHeight, preset.parameters.numDisparities, multiprocessors, t.median, t.least, giga,
      exponential.bytes());
}

/// Rectifies both images of a VGA pair through the map of a lens.
void timeColours(Report& report, const char* name, PixelFormat format, size_t pixelBytes, int sms) {
  constexpr int width = 640, height = 480;
  const size_t stride = pixelBytes * width;
  std::vector<uint8_t> bytes(2 * stride * height);  // NV12 has chroma after its luma
  std::mt19937 engine(3);
  for (uint8_t& value : bytes) value = static_cast<uint8_t>(engine() >> 24);
  std::vector<int32_t> map;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const double dx = x - 320, dy = y - 240, bend = 1 - 4e-7 * (dx * dx + dy * dy);
      map.push_back(static_cast<int32_t>(32 * (320 + dx * bend - 0.0175 * dy)));
      map.push_back(static_cast<int32_t>(32 * (240 + dy * bend + 0.0175 * dx)));
    }
  }
  DeviceBuffer<uint8_t> image;
  DeviceBuffer<int32_t> places;
  DeviceBuffer<Rgb8> out[2];
  copyTo(image, bytes);
  copyTo(places, map);
  for (DeviceBuffer<Rgb8>& one : out) require(one.allocate(static_cast<size_t>(width) * height));
  const RectifySource source = {image.get(), width, height, stride, format};
  Stream stream;
  const Timing t = timeGraph(
      stream.handle,
      [&] {
        for (DeviceBuffer<Rgb8>& one : out)
          require(gpu::rectifyRgb(source, places.get(), one.get(), width, height, stream.handle));
      },
      [] {});
  const int multiprocessors = report.multiprocessors(sms);
  std::printf("%-24s %dx%d pair %4d %10.4f %10.4f\n", name, width, height, multiprocessors, t.median, t.least);
  std::fflush(stdout);
  report.row(
      "\"what\": \"rectification in colours of a pair, %s, graph replay\", \"width\": %d, \"height\": %d, "
      "\"multiprocessors\": %d, \"medianMs\": %.4f, \"minMs\": %.4f",
      name, width, height, multiprocessors, t.median, t.least);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: bench_exponential OUT.json COMMIT [sms...]");
  std::vector<int> partitions = {0};
  for (int i = 3; i < argc; ++i) partitions.push_back(std::atoi(argv[i]));
  Report report(argv[1], argv[2]);
  std::printf("%-24s %-10s %5s %10s %10s %9s %7s\n", "exponential", "size", "SMs", "median ms", "least ms", "GDE/s",
              "MB");
  const Pair pair = randomPair();
  const std::vector<Preset> all = presets();
  std::vector<std::vector<int16_t>> expected;
  for (const Preset& preset : all) {
    std::vector<int16_t> q4(pair.left.size()), whole(pair.left.size());
    std::vector<uint8_t> confidence(pair.left.size());
    exponentialReference(preset.parameters,
                         {packedView(pair.left.data(), kWidth, kHeight), packedView(pair.right.data(), kWidth, kHeight),
                          packedView(pair.rgb.data(), kWidth, kHeight)},
                         {packedView(q4.data(), kWidth, kHeight),
                          packedView(whole.data(), kWidth, kHeight),
                          {},
                          packedView(confidence.data(), kWidth, kHeight)});
    expected.push_back(whole);
  }
  for (const int sms : partitions) {
    if (sms != 0) enterPartition(sms);
    for (size_t i = 0; i < all.size(); ++i) timeAggregation(report, all[i], pair, expected[i], sms);
    timeColours(report, "YUYV", PixelFormat::kYuyv, 2, sms);
    timeColours(report, "NV12", PixelFormat::kNv12, 1, sms);
    timeColours(report, "RGB8", PixelFormat::kRgb8, 3, sms);
    timeColours(report, "Bayer, 8 bits", PixelFormat::kBayerRggb8, 1, sms);
    timeColours(report, "Bayer, 12 bits", PixelFormat::kBayerRggb12, 2, sms);
    if (partitions.size() > 1) enterWhole();
  }
  return 0;
}
