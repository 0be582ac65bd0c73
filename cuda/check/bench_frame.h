// SPDX-License-Identifier: Apache-2.0
// Shared by the timing programs: a textured pair, its expected disparity, every buffer of a frame on the device,
// replays of a graph.
#pragma once

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "../device/device_buffer.h"
#include "../match/cost/census/census_gpu.h"
#include "../match/cost/two_gradient_census/two_gradient_census_gpu.h"
#include "../match/select/select.h"
#include "../match/sgm/sgm_workspace.h"
#include "../output/depth/depth_gpu.h"
#include "../rectify/rectify_gpu.h"
#include "../refine/left_right/left_right.h"
#include "../refine/median/median_gpu.h"
#include "../refine/speckle/speckle_gpu.h"
#include "program.h"

namespace depthwatt {

struct Size {
  int width, height, num;
  bool defaults = false;  ///< the default settings; else the paper's: census, one P2
  const char* settings() const { return defaults ? "defaults" : "paper"; }
};

inline void require(const Status& status) {
  if (!status.ok()) fail(status.message);
}

/// Makes texture shifted by a disparity that changes with y, and noise: no two patches are alike, and every disparity
/// occurs.
inline void texturedPair(const Size& size, std::vector<uint8_t>& left, std::vector<uint8_t>& right) {
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

inline std::vector<int16_t> expectedDisparity(const Size& size, const SgmParameters& p,
                                              const std::vector<uint8_t>& left, const std::vector<uint8_t>& right) {
  const int w = size.width, h = size.height;
  const size_t pixels = left.size();
  std::vector<uint32_t> censusLeft(pixels), censusRight(pixels);
  const auto randomWords = [&](const std::vector<uint8_t>& image, std::vector<uint32_t>& words) {
    const ImageView<uint32_t> to = packedView(words.data(), w, h);
    if (size.defaults) twoGradientCensusReference(packedView(image.data(), w, h), to);
    else censusReference<uint8_t>(packedView(image.data(), w, h), to);
  };
  randomWords(left, censusLeft);
  randomWords(right, censusRight);
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
  leftRightReference({packedView<const int16_t>(whole.data(), w, h),
                      packedView<const int16_t>(rightWinner.data(), w, h), packedView(q4.data(), w, h),
                      packedView(confidence.data(), w, h)});
  medianReference(packedView<const int16_t>(q4.data(), w, h), packedView(filtered.data(), w, h));
  return filtered;
}

/// Milliseconds: median and smallest of the replays.
struct Timing {
  double median, least;
};

/// Captures what enqueue() queues as a graph, and replays it.
class Replays {
 public:
  template <class Enqueue>
  Replays(cudaStream_t stream, Enqueue enqueue) : stream_(stream) {
    require(cudaStatus(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture"));
    enqueue();
    require(cudaStatus(cudaStreamEndCapture(stream, &graph_), "capture"));
    require(cudaStatus(cudaGraphInstantiate(&executable_, graph_, nullptr, nullptr, 0), "graph"));
    require(cudaStatus(cudaEventCreate(&begin_), "event"));
    require(cudaStatus(cudaEventCreate(&end_), "event"));
  }
  ~Replays() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void once() {
    require(cudaStatus(cudaGraphLaunch(executable_, stream_), "replay"));
    require(cudaStatus(cudaStreamSynchronize(stream_), "replay"));
  }
  /// Times this many replays after a tenth as many.
  Timing time(int replays) {
    std::vector<double> times;
    for (int i = -replays / 10; i < replays; ++i) {
      require(cudaStatus(cudaEventRecord(begin_, stream_), "event"));
      require(cudaStatus(cudaGraphLaunch(executable_, stream_), "replay"));
      require(cudaStatus(cudaEventRecord(end_, stream_), "event"));
      require(cudaStatus(cudaEventSynchronize(end_), "replay"));
      float milliseconds = 0;
      require(cudaStatus(cudaEventElapsedTime(&milliseconds, begin_, end_), "event"));
      if (i >= 0) times.push_back(milliseconds);
    }
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times.front()};
  }

 private:
  Replays(const Replays&) = delete;
  Replays& operator=(const Replays&) = delete;
  cudaStream_t stream_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

/// Captures what enqueue() queues, replays it once, lets check() verify the results, then times 200 replays after 20.
template <class Enqueue, class Check>
Timing timeGraph(cudaStream_t stream, Enqueue enqueue, Check check) {
  Replays replays(stream, enqueue);
  replays.once();
  check();
  return replays.time(200);
}

inline SgmParameters sizeParameters(const Size& size, int paths) {
  SgmParameters p;
  p.numDisparities = size.num, p.paths = paths, p.p1 = 10;
  // The defaults are those of cuda/match/sgm/sgm.cpu.cc.
  if (size.defaults) p.p2 = 24, p.adaptiveP2 = 2, p.uniqueness = 0, p.outsideCost = 6;
  else p.p2 = 60, p.uniqueness = 5;
  return p;
}

/// Every buffer of a frame on the device, and the stages that use them.
struct Frame {
  Size size;
  size_t pixels;
  DeviceBuffer<uint8_t> grey[2], raw[2], confidence;
  DeviceBuffer<uint32_t> census[2];
  DeviceBuffer<int16_t> q4, whole, filtered;
  DeviceBuffer<int32_t> scratch;
  DeviceBuffer<uint16_t> millimetres;
  gpu::SgmWorkspace sgm;
  cudaStream_t stream = nullptr;

  Frame(const Size& s, int paths, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right,
        const gpu::SgmTuning& tuning)
      : size(s), pixels(left.size()) {
    const std::vector<uint8_t>* sides[2] = {&left, &right};
    for (int side = 0; side < 2; ++side) {
      std::vector<uint8_t> yuyv(2 * pixels, 128);
      for (size_t i = 0; i < pixels; ++i) yuyv[2 * i] = (*sides[side])[i];
      require(grey[side].allocate(pixels));
      require(raw[side].allocate(2 * pixels));
      require(census[side].allocate(pixels));
      require(cudaStatus(cudaMemcpy(grey[side].get(), sides[side]->data(), pixels, cudaMemcpyHostToDevice), "copy"));
      require(cudaStatus(cudaMemcpy(raw[side].get(), yuyv.data(), 2 * pixels, cudaMemcpyHostToDevice), "copy"));
    }
    require(confidence.allocate(pixels));
    for (DeviceBuffer<int16_t>* b : {&q4, &whole, &filtered}) require(b->allocate(pixels));
    require(scratch.allocate(2 * pixels));
    require(millimetres.allocate(pixels));
    require(sgm.open(sizeParameters(size, paths), size.width, size.height, tuning));
    require(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
  }
  ~Frame() { cudaStreamDestroy(stream); }

  void convert() {
    for (int side = 0; side < 2; ++side) {
      RectifySource source;
      source.data = raw[side].get(), source.width = size.width, source.height = size.height;
      source.strideBytes = static_cast<size_t>(2) * size.width, source.format = PixelFormat::kYuyv;
      require(gpu::rectify(source, nullptr, grey[side].get(), size.width, size.height, stream));
    }
  }
  void match() {
    matchOnly();
    require(gpu::median(q4.get(), filtered.get(), size.width, size.height, stream));
  }
  /// Matches without the median.
  void matchOnly() {
    const auto words = size.defaults ? gpu::twoGradientCensus : gpu::census;
    require(words(grey[0].get(), grey[1].get(), census[0].get(), census[1].get(), size.width, size.height, stream));
    require(sgm.compute(census[0].get(), census[1].get(), grey[0].get(), true, q4.get(), whole.get(), nullptr,
                        confidence.get(), stream));
  }
  void depth() {
    DepthGeometry geometry;
    geometry.focalPixels = 400, geometry.baselineMetres = 0.12;
    require(gpu::depthMillimetres(geometry, filtered.get(), millimetres.get(), size.width, size.height, stream));
  }
  void speckle() {
    SpeckleParameters parameters;
    parameters.minPixels = 60, parameters.rangeQ4 = 16;
    require(gpu::speckle(parameters, filtered.get(), confidence.get(), scratch.get(), size.width, size.height, stream));
  }
};

}  // namespace depthwatt
