// SPDX-License-Identifier: Apache-2.0
// Times the refinement stages as graphs: each stage alone, then all of them in order.
#pragma once

#include <algorithm>

#include "../refine/ambiguity/ambiguity_gpu.h"
#include "../refine/boundary/boundary_gpu.h"
#include "../refine/confidence/confidence_gpu.h"
#include "../refine/fill/fill_gpu.h"
#include "../refine/median/median_gpu.h"
#include "../refine/repair/repair_gpu.h"
#include "../refine/speckle/speckle_gpu.h"
#include "../refine/window_confidence/window_confidence_gpu.h"
#include "bench_frame.h"
#include "bench_partition.h"
#include "bench_report.h"

namespace depthwatt {

/// Makes slopes with noise of one step, steps at objects' edges, and a tenth of holes, as disparity maps have them.
inline std::vector<int16_t> disparityPicture(const Size& size) {
  std::mt19937 engine(11);
  std::vector<int16_t> picture(static_cast<size_t>(size.width) * size.height);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const int object = x / 61 * 7 + y / 47 * 13, hole = (x / 9 * 31 + y / 7 * 17) % 10;
      const int value = 160 + object * 37 % 1500 + x / 8 + static_cast<int>(engine() >> 31);
      picture[static_cast<size_t>(y) * size.width + x] = static_cast<int16_t>(hole == 0 ? kInvalidDisparity : value);
    }
  }
  return picture;
}

/// Makes a grey image whose objects end a pixel next to those of disparityPicture, with noise, so that boundaries can
/// move.
inline std::vector<uint8_t> greyPicture(const Size& size) {
  std::mt19937 engine(13);
  std::vector<uint8_t> picture(static_cast<size_t>(size.width) * size.height);
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x) {
      const int object = (x + 1) / 61 * 7 + (y + 1) / 47 * 13;
      picture[static_cast<size_t>(y) * size.width + x] =
          static_cast<uint8_t>(40 + object * 29 % 180 + static_cast<int>(engine() >> 29));
    }
  }
  return picture;
}

/// The images between the stages, and a stream. Open it on the thread that uses it, in a partition or on the whole
/// card.
struct Refinement {
  Size size;
  DeviceBuffer<uint8_t> grey, certainty, limit, sure, repairedSure;
  DeviceBuffer<int16_t> kept, matched, repaired, filled, edged, filtered;
  DeviceBuffer<int32_t> speckleScratch, fillScratch;
  DeviceBuffer<uint64_t> blockSums;
  cudaStream_t stream = nullptr;

  explicit Refinement(const Size& s) : size(s) {
    const std::vector<int16_t> disparities = disparityPicture(size);
    const std::vector<uint8_t> greys = greyPicture(size);
    const size_t pixels = disparities.size();
    for (DeviceBuffer<uint8_t>* b : {&grey, &certainty, &sure, &repairedSure}) require(b->allocate(pixels));
    const size_t blocks = static_cast<size_t>(blockColumnCount(size.width)) * blockRowCount(size.height);
    require(limit.allocate(blocks));
    require(blockSums.allocate(blocks));
    for (DeviceBuffer<int16_t>* b : {&kept, &matched, &repaired, &filled, &edged, &filtered})
      require(b->allocate(pixels));
    require(speckleScratch.allocate(2 * pixels));
    require(fillScratch.allocate(pixels + size.height));
    require(cudaStatus(cudaMemcpy(grey.get(), greys.data(), pixels, cudaMemcpyHostToDevice), "copy"));
    require(cudaStatus(cudaMemcpy(kept.get(), disparities.data(), kept.bytes(), cudaMemcpyHostToDevice), "copy"));
    require(cudaStatus(cudaMemset(certainty.get(), 128, pixels), "certainty"));
    require(cudaStatus(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream"));
  }
  ~Refinement() { cudaStreamDestroy(stream); }

  void restore() {
    require(
        cudaStatus(cudaMemcpyAsync(matched.get(), kept.get(), kept.bytes(), cudaMemcpyDeviceToDevice, stream), "copy"));
  }
  void speckle() {
    SpeckleParameters p;
    p.minPixels = 60, p.rangeQ4 = 16;
    require(gpu::speckle(p, matched.get(), certainty.get(), speckleScratch.get(), size.width, size.height, stream));
  }
  void ambiguity() {
    require(gpu::ambiguity(grey.get(), grey.get(), matched.get(), blockSums.get(), limit.get(), size.width, size.height,
                           stream));
  }
  void confidence() {
    require(gpu::confidence(grey.get(), matched.get(), certainty.get(), false, limit.get(), sure.get(), size.width,
                            size.height, stream));
  }
  void measure(ConfidenceMeasure which) {
    require(gpu::windowConfidence(which, grey.get(), grey.get(), matched.get(), certainty.get(), false, sure.get(),
                                  size.width, size.height, stream));
  }
  /// Runs all three passes.
  void repair() {
    require(
        gpu::repair(matched.get(), sure.get(), repaired.get(), repairedSure.get(), size.width, size.height, stream));
  }
  void fill() {
    FillParameters p;
    p.method = FillMethod::kBackground;
    require(gpu::fill(p, grey.get(), matched.get(), filled.get(), sure.get(), fillScratch.get(), size.width,
                      size.height, stream));
  }
  void boundary() { require(gpu::boundary(grey.get(), filled.get(), edged.get(), size.width, size.height, stream)); }
  void median() { require(gpu::median(edged.get(), filtered.get(), size.width, size.height, stream)); }
};

/// Times graphs of single stages, each with its launch, and a graph of all of them with one launch.
inline void timeRefinement(Report& report, const std::vector<int>& partitions) {
  for (const int sms : partitions) {
    if (sms != 0) enterPartition(sms);
    for (const Size& size : {Size{640, 480, 0}, Size{1280, 720, 0}, Size{1920, 1080, 0}}) {
      Refinement r(size);
      // Each stage reads the previous one's result.
      r.restore(), r.speckle(), r.ambiguity(), r.confidence(), r.fill(), r.boundary(), r.median();
      require(cudaStatus(cudaStreamSynchronize(r.stream), "refinement"));
      const auto row = [&](const char* what, const Timing& t) {
        std::printf("refinement, %dx%d, %d multiprocessors, %-40s %10.4f %10.4f\n", size.width, size.height,
                    report.multiprocessors(sms), what, t.median, t.least);
        report.row(
            "\"what\": \"refinement: %s, graph replay\", \"width\": %d, \"height\": %d, \"multiprocessors\": %d, "
            "\"medianMs\": %.4f, \"minMs\": %.4f",
            what, size.width, size.height, report.multiprocessors(sms), t.median, t.least);
      };
      const auto nothing = [] {};
      row("ambiguity", timeGraph(r.stream, [&] { r.ambiguity(); }, nothing));
      row("confidence", timeGraph(r.stream, [&] { r.confidence(); }, nothing));
      row("feature density", timeGraph(r.stream, [&] { r.measure(ConfidenceMeasure::kFeatureDensity); }, nothing));
      row("product of the three measures",
          timeGraph(r.stream, [&] { r.measure(ConfidenceMeasure::kProduct); }, nothing));
      row("copy, confidence, repair", timeGraph(r.stream, [&] { r.restore(), r.confidence(), r.repair(); }, nothing));
      r.restore(), r.speckle(), r.confidence();
      row("fill", timeGraph(r.stream, [&] { r.fill(); }, nothing));
      row("boundary", timeGraph(r.stream, [&] { r.boundary(); }, nothing));
      row("median", timeGraph(r.stream, [&] { r.median(); }, nothing));
      row("copy of a disparity", timeGraph(r.stream, [&] { r.restore(); }, nothing));
      row("copy, speckle", timeGraph(r.stream, [&] { r.restore(), r.speckle(); }, nothing));
      row("copy, speckle to median", timeGraph(
                                         r.stream,
                                         [&] {
                                           r.restore(), r.speckle(), r.ambiguity(), r.confidence(), r.fill();
                                           r.boundary(), r.median();
                                         },
                                         nothing));
    }
  }
  if (partitions.size() > 1) enterWhole();
}

}  // namespace depthwatt
