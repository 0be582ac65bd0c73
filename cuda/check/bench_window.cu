// SPDX-License-Identifier: Apache-2.0
// Times window SAD, pyramid SAD and points: bench_window OUT.json COMMIT [sms...]. From weighted colours of a pair in
// device memory to disparity in device memory, as one graph; only the left view unless a row says otherwise. Compares
// the results with the reference, also inside each partition. Part of check.sh.
#include "../match/pyramid/pyramid_workspace.h"
#include "../match/sad/sad_workspace.h"
#include "../output/points/points_gpu.h"
#include "bench_frame.h"
#include "bench_partition.h"
#include "bench_report.h"

using namespace depthwatt;

namespace {

const Size kSize = {640, 480, 128};

/// How sad is split; the first is chosen for the device.
struct SadForm {
  const char* name;
  bool wantsRight;
  gpu::SadTuning tuning;
};
const SadForm kSadForms[] = {{"sad 9x9", false, {}},
                             {"sad 9x9, both views", true, {}},
                             {"sad 9x9, bands of 11", false, {11}},
                             {"sad 9x9, bands of 22", false, {22}},
                             {"sad 9x9, costs computed twice", false, {0, 0, false, 0}},
                             {"sad 9x9, sums stored", false, {0, 0, true}}};

/// Converts grey to colours: the values of the channels do not affect the time.
std::vector<HsvPixel> coloured(const std::vector<uint8_t>& grey) {
  std::vector<HsvPixel> pixels;
  for (const uint8_t value : grey) {
    HsvPixel pixel = {};
    pixel.hueAcross = static_cast<uint8_t>(value * 7), pixel.hueDown = static_cast<uint8_t>(value * 13);
    pixel.saturationLow = value / 3, pixel.saturationHigh = value / 5;
    pixel.valueLow = value, pixel.valueHigh = value / 2;
    pixels.push_back(pixel);
  }
  return pixels;
}

/// All device memory of a colour matcher.
struct ColourFrame {
  DeviceBuffer<HsvPixel> image[2];
  DeviceBuffer<int16_t> q4, whole, rightWhole;
  DeviceBuffer<uint8_t> confidence;
  cudaStream_t stream = nullptr;

  ColourFrame(const std::vector<HsvPixel>& left, const std::vector<HsvPixel>& right) {
    const std::vector<HsvPixel>* images[2] = {&left, &right};
    for (int i = 0; i < 2; ++i) {
      require(image[i].allocate(left.size()));
      require(
          cudaStatus(cudaMemcpy(image[i].get(), images[i]->data(), image[i].bytes(), cudaMemcpyHostToDevice), "copy"));
    }
    require(q4.allocate(left.size()));
    require(whole.allocate(left.size()));
    require(rightWhole.allocate(left.size()));
    require(confidence.allocate(left.size()));
    require(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
  }
  ~ColourFrame() { cudaStreamDestroy(stream); }
};

struct Expected {
  std::vector<int16_t> q4, whole;
  std::vector<uint8_t> confidence;
  explicit Expected(size_t pixels) : q4(pixels), whole(pixels), confidence(pixels) {}
};

template <class Result, class Images, class Parameters, class Reference>
Expected expectedResult(const Parameters& parameters, const std::vector<HsvPixel>& left,
                        const std::vector<HsvPixel>& right, Reference reference) {
  Expected e(left.size());
  const auto view = [](auto& values) { return packedView(values.data(), kSize.width, kSize.height); };
  Images images;
  images.left = packedView<const HsvPixel>(left.data(), kSize.width, kSize.height);
  images.right = packedView<const HsvPixel>(right.data(), kSize.width, kSize.height);
  Result result;
  result.disparityQ4 = view(e.q4), result.disparity = view(e.whole), result.confidence = view(e.confidence);
  reference(parameters, images, result);
  return e;
}

template <class DeviceResult, class Workspace>
void timeMatcher(Report& report, const char* name, Workspace& workspace, ColourFrame& frame, const Expected& expected,
                 int sms, bool wantsRight = false) {
  const Timing t = timeGraph(
      frame.stream,
      [&] {
        const DeviceResult result = {frame.q4.get(), frame.whole.get(), wantsRight ? frame.rightWhole.get() : nullptr,
                                     frame.confidence.get()};
        require(workspace.compute(frame.image[0].get(), frame.image[1].get(), result, frame.stream));
      },
      [&] {
        std::vector<int16_t> got(expected.q4.size());
        require(cudaStatus(cudaMemcpy(got.data(), frame.q4.get(), frame.q4.bytes(), cudaMemcpyDeviceToHost), "copy"));
        if (got != expected.q4) fail(std::string(name) + " differs from the reference");
      });
  const int multiprocessors = report.multiprocessors(sms);
  const double giga = 1e-6 * kSize.width * kSize.height * kSize.num / t.median;
  std::printf("%-30s %dx%dx%d %4d %10.4f %10.4f %9.1f %7.1f\n", name, kSize.width, kSize.height, kSize.num,
              multiprocessors, t.median, t.least, giga, 1e-6 * workspace.bytes());
  std::fflush(stdout);
  report.row(
      "\"what\": \"%s, graph replay\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, \"multiprocessors\": %d, "
      "\"medianMs\": %.4f, \"minMs\": %.4f, \"workspaceBytes\": %zu, \"checkedAgainstReference\": true",
      name, kSize.width, kSize.height, kSize.num, multiprocessors, t.median, t.least, workspace.bytes());
}

/// Times points of a ramp with holes.
void timePoints(Report& report, const char* name, PointElement element, bool colours, int sms) {
  const size_t pixels = static_cast<size_t>(kSize.width) * kSize.height;
  PointsParameters p;
  p.focalPixels = 400, p.baselineMetres = 0.12, p.cx = 319.5, p.cy = 239.5;
  p.frame = PointFrame::kRobot, p.element = element, p.colours = colours;
  std::vector<int16_t> disparity(pixels);
  std::vector<uint8_t> grey(pixels);
  std::vector<Rgb8> rgb(pixels);
  for (size_t i = 0; i < pixels; ++i) {
    disparity[i] = i % 7 == 0 ? kInvalidDisparity : static_cast<int16_t>(i % 2048 + 16);
    grey[i] = static_cast<uint8_t>(i), rgb[i] = {grey[i], static_cast<uint8_t>(i / 3), static_cast<uint8_t>(i / 640)};
  }
  std::vector<uint8_t> expected(pixels * pointBytes(p));
  pointsReference(p,
                  {packedView<const int16_t>(disparity.data(), kSize.width, kSize.height),
                   packedView<const uint8_t>(grey.data(), kSize.width, kSize.height),
                   packedView<const Rgb8>(rgb.data(), kSize.width, kSize.height)},
                  expected.data());
  DeviceBuffer<int16_t> dDisparity;
  DeviceBuffer<uint8_t> dGrey, dPoints;
  DeviceBuffer<Rgb8> dRgb;
  const auto copy = [](auto& to, const auto& from) {
    require(to.allocate(from.size()));
    require(cudaStatus(cudaMemcpy(to.get(), from.data(), to.bytes(), cudaMemcpyHostToDevice), "copy"));
  };
  copy(dDisparity, disparity);
  copy(dGrey, grey);
  copy(dRgb, rgb);
  require(dPoints.allocate(expected.size()));
  gpu::PointsWorkspace points;
  require(points.open(p, kSize.width, kSize.height));
  cudaStream_t stream = nullptr;
  require(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
  const Timing t = timeGraph(
      stream, [&] { require(points.compute(dDisparity.get(), dGrey.get(), dRgb.get(), dPoints.get(), stream)); },
      [&] {
        std::vector<uint8_t> got(expected.size());
        require(cudaStatus(cudaMemcpy(got.data(), dPoints.get(), dPoints.bytes(), cudaMemcpyDeviceToHost), "copy"));
        if (got != expected) fail(std::string(name) + " differs from the reference");
      });
  cudaStreamDestroy(stream);
  const int multiprocessors = report.multiprocessors(sms);
  std::printf("%-30s %dx%d     %4d %10.4f %10.4f\n", name, kSize.width, kSize.height, multiprocessors, t.median,
              t.least);
  std::fflush(stdout);
  report.row(
      "\"what\": \"%s, graph replay\", \"width\": %d, \"height\": %d, \"multiprocessors\": %d, \"medianMs\": %.4f, "
      "\"minMs\": %.4f, \"checkedAgainstReference\": true",
      name, kSize.width, kSize.height, multiprocessors, t.median, t.least);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) fail("usage: bench_window OUT.json COMMIT [sms...]");
  std::vector<int> partitions = {0};
  for (int i = 3; i < argc; ++i) partitions.push_back(std::atoi(argv[i]));
  Report report(argv[1], argv[2]);
  std::printf("%-30s %-11s %4s %10s %10s %9s %7s\n", "window", "size", "SMs", "median ms", "least ms", "GDE/s", "MB");
  std::vector<uint8_t> grey[2];
  texturedPair(kSize, grey[0], grey[1]);
  const std::vector<HsvPixel> left = coloured(grey[0]), right = coloured(grey[1]);
  SadParameters sad;
  sad.numDisparities = kSize.num, sad.windowWidth = sad.windowHeight = 9;
  PyramidParameters pyramid;
  pyramid.numDisparities = kSize.num;
  const Expected sadExpected = expectedResult<SadResult, SadImages>(sad, left, right, sadReference);
  const Expected pyramidExpected = expectedResult<PyramidResult, PyramidImages>(pyramid, left, right, pyramidReference);
  for (const int sms : partitions) {
    if (sms != 0) enterPartition(sms);
    {
      ColourFrame frame(left, right);
      for (const SadForm& form : kSadForms) {
        gpu::SadWorkspace sadOnGpu;
        require(sadOnGpu.open(sad, kSize.width, kSize.height, form.wantsRight, form.tuning));
        timeMatcher<gpu::SadDeviceResult>(report, form.name, sadOnGpu, frame, sadExpected, sms, form.wantsRight);
      }
      gpu::PyramidWorkspace pyramidOnGpu;
      require(pyramidOnGpu.open(pyramid, kSize.width, kSize.height));
      timeMatcher<gpu::PyramidDeviceResult>(report, "pyramid 7x7", pyramidOnGpu, frame, pyramidExpected, sms);
    }
    timePoints(report, "points, float32", PointElement::kF32, false, sms);
    timePoints(report, "points, float32, colours", PointElement::kF32, true, sms);
    timePoints(report, "points, int16", PointElement::kI16, false, sms);
    timePoints(report, "points, int16, colours", PointElement::kI16, true, sms);
    if (partitions.size() > 1) enterWhole();
  }
  return 0;
}
