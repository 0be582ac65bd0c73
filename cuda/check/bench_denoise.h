// SPDX-License-Identifier: Apache-2.0
// Times the noise filter (prepare/denoise), alone and before matching, as graphs. At 640x480 it compares the result
// with the definition, also inside each partition.
#pragma once

#include <vector>

#include "../prepare/denoise/denoise_gpu.h"
#include "bench_frame.h"
#include "bench_partition.h"
#include "bench_report.h"

namespace depthwatt {

/// The range in grey values. Any other except 0 takes the same time.
constexpr int32_t kTimedRange = 8;

inline std::vector<uint8_t> expectedSmooth(const Size& size, const std::vector<uint8_t>& image) {
  std::vector<uint8_t> guide(image.size()), filtered(image.size());
  const ImageView<const uint8_t> in = packedView(image.data(), size.width, size.height);
  smoothReference(in, packedView(guide.data(), size.width, size.height));
  bilateralReference(in, packedView(guide.data(), size.width, size.height).asConst(), kTimedRange,
                     packedView(filtered.data(), size.width, size.height));
  return filtered;
}

/// A frame whose grey images are filtered. Open it on the thread that uses it.
struct FilteredFrame {
  Frame frame;
  DeviceBuffer<uint8_t> noisy[2];
  DeviceBuffer<int32_t> range;

  FilteredFrame(const Size& size, const std::vector<uint8_t>& left, const std::vector<uint8_t>& right,
                const gpu::SgmTuning& tuning)
      : frame(size, 4, left, right, tuning) {
    const std::vector<uint8_t>* sides[2] = {&left, &right};
    for (int side = 0; side < 2; ++side) {
      require(noisy[side].allocate(frame.pixels));
      require(
          cudaStatus(cudaMemcpy(noisy[side].get(), sides[side]->data(), frame.pixels, cudaMemcpyHostToDevice), "copy"));
    }
    require(range.allocate(1));
    setRange(kTimedRange);
  }
  void setRange(int32_t to) {
    require(cudaStatus(cudaMemcpy(range.get(), &to, sizeof to, cudaMemcpyHostToDevice), "range"));
    require(cudaStatus(cudaDeviceSynchronize(), "range"));
  }
  void filter() {
    require(gpu::smooth(range.get(), noisy[0].get(), noisy[1].get(), frame.grey[0].get(), frame.grey[1].get(),
                        frame.size.width, frame.size.height, frame.stream));
  }
  void expect(const std::vector<uint8_t> (&expected)[2]) {
    for (int side = 0; side < 2; ++side) {
      std::vector<uint8_t> got(frame.pixels);
      require(cudaStatus(cudaMemcpy(got.data(), frame.grey[side].get(), got.size(), cudaMemcpyDeviceToHost), "copy"));
      if (got != expected[side]) fail("the noise filter differs from the reference");
    }
  }
};

inline void timeNoiseFilter(Report& report, const std::vector<int>& partitions) {
  for (const Size& size : {Size{640, 480, 128, true}, Size{1280, 720, 128, true}, Size{1920, 1080, 128, true}}) {
    std::vector<uint8_t> left, right, expected[2];
    texturedPair(size, left, right);
    const bool whole = size.width == 640;
    if (whole) expected[0] = expectedSmooth(size, left), expected[1] = expectedSmooth(size, right);
    for (const int sms : partitions) {
      if (sms != 0) enterPartition(sms);
      else if (partitions.size() > 1) enterWhole();
      gpu::SgmTuning tuning;
      tuning.multiprocessors = sms;
      FilteredFrame f(size, left, right, tuning);
      const auto row = [&](const char* what, bool checked, const Timing& t) {
        std::printf("%dx%d, %d multiprocessors, %-40s %10.4f %10.4f\n", size.width, size.height,
                    report.multiprocessors(sms), what, t.median, t.least);
        report.row(
            "\"what\": \"%s, graph replay\", \"settings\": \"%s\", \"width\": %d, \"height\": %d, \"numDisparities\": %d, "
            "\"paths\": 4, \"multiprocessors\": %d, \"medianMs\": %.4f, \"minMs\": %.4f, \"checkedAgainstReference\": %s",
            what, size.settings(), size.width, size.height, size.num, report.multiprocessors(sms), t.median, t.least,
            checked ? "true" : "false");
      };
      const auto nothing = [] {};
      row("noise filter of a pair", whole,
          timeGraph(
              f.frame.stream, [&] { f.filter(); },
              [&] {
                if (whole) f.expect(expected);
              }));
      if (whole) {
        row("noise filter, matching", false, timeGraph(f.frame.stream, [&] { f.filter(), f.frame.match(); }, nothing));
        row("matching of a filtered pair", false, timeGraph(f.frame.stream, [&] { f.frame.match(); }, nothing));
      }
      f.setRange(0);
      row("noise filter of a pair, off", false, timeGraph(f.frame.stream, [&] { f.filter(); }, nothing));
    }
  }
  if (partitions.size() > 1) enterWhole();
}

}  // namespace depthwatt
