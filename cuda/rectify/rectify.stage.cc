// SPDX-License-Identifier: Apache-2.0
// Rectification as a stage: its settings and CPU adapter for both images of a pair.
#include <algorithm>

#include "../simd/kernels.h"
#include "../stage.h"
#include "rectify.h"

namespace depthwatt {
namespace {

constexpr Setting kSettings[] = {
    fraction(
        "rectify.verticalOffset", 4, false, -4 * 16, 4 * 16, 0, "rows",
        "Vertical offset between the images, in rows, to correct. auto: estimated from the images, as a line over the "
        "columns if a camera is rotated.")
        .orAuto()
        .restart(),
    wholeNumber("rectify.blackLevel", 0, 255, 0, "grey levels",
                "Subtracts a raw sensor's value of black from grey and each colour. 255 is white: 64 of 1023 is 16.")
        .restart(),
};

class RectifyOnCpu final : public CpuStage {
 public:
  RectifyOnCpu(const StageTask& task, const CpuContext& cpu)
      : p_(task.frame), window_(task.window), kernels_(kernelsFor<RectifyKernels>(cpu.instructionSet)),
        workers_(cpu.workers) {}

  Status run(const StageImages& images) override {
    const int32_t black = p_.at("rectify.blackLevel");
    const RectifySource left{images.captured[0], p_.inputWidth, p_.inputHeight,
                             p_.leftStrideBytes, p_.leftFormat, black};
    const RectifySource right{images.captured[1],  p_.inputWidth,  p_.inputHeight,
                              p_.rightStrideBytes, p_.rightFormat, black};
    const int32_t *leftMap = sideMap(0, p_.leftMap), *rightMap = sideMap(1, p_.rightMap);
    const ImageView<uint8_t>&leftGrey = images.whole.grey[0], &rightGrey = images.whole.grey[1];
    // A right image that is no result, and colours that only the matcher reads, are computed only in the window's rows.
    const auto inWindow = [&](int32_t first, int32_t end) {
      const int32_t from = std::min(std::max(first, window_.y), end);
      return std::pair{from, std::max(from, std::min(end, window_.y + window_.height))};
    };
    const auto leftRows = [&](const int32_t* map, int32_t first, int32_t end) {
      if (!computesRgb(p_, 0)) return kernels_.rectify(left, map, leftGrey, first, end);
      const bool everywhere = p_.leftRgb || needsPointColours(p_);
      const auto [from, to] = everywhere ? std::pair{first, end} : inWindow(first, end);
      kernels_.rectify(left, map, leftGrey, first, from);
      withColours(left, map, leftGrey, images.whole.rgb[0], from, to);
      kernels_.rectify(left, map, leftGrey, to, end);
    };
    workers_.rows(p_.height, [&](int32_t first, int32_t end) {
      const int32_t capturedFrom = std::min(std::max(first, capturedFrom_), end),
                    capturedEnd = std::min(std::max(first, capturedEnd_), end);
      leftRows(leftMap, first, capturedFrom);
      leftRows(nullptr, capturedFrom, capturedEnd);
      leftRows(leftMap, capturedEnd, end);
      const auto [from, to] = inWindow(first, end);
      if (computesRgb(p_, 1)) withColours(right, rightMap, rightGrey, images.whole.rgb[1], from, to);
      else kernels_.rectify(right, rightMap, rightGrey, from, to);
      if (!p_.rightGrey) return;
      kernels_.rectify(right, rightMap, rightGrey, first, from);
      kernels_.rectify(right, rightMap, rightGrey, to, end);
    });
    return {};
  }

  void adapt(const Adaptation&, const int32_t* leftMap, const int32_t* rightMap) override {
    movedMaps_[0] = leftMap;
    movedMaps_[1] = rightMap;
    // The left map of captured images repeats a few outer rows. The other rows need no map, and reading by one takes
    // twenty times as long.
    capturedFrom_ = capturedEnd_ = 0;
    if (leftMap == nullptr || !p_.leftMap.empty()) return;
    const auto asCaptured = [&](int32_t y) {
      const int32_t* row = leftMap + 2 * static_cast<size_t>(p_.width) * y;
      for (int32_t x = 0; x < p_.width; ++x) {
        if (row[2 * x] != 32 * x || row[2 * x + 1] != 32 * y) return false;
      }
      return true;
    };
    while (capturedFrom_ < p_.height && !asCaptured(capturedFrom_)) ++capturedFrom_;
    capturedEnd_ = capturedFrom_;
    while (capturedEnd_ < p_.height && asCaptured(capturedEnd_)) ++capturedEnd_;
  }

 private:
  const int32_t* sideMap(int side, const std::vector<int32_t>& opened) const {
    return movedMaps_[side] != nullptr ? movedMaps_[side] : opened.empty() ? nullptr : opened.data();
  }

  /// Computes grey and colours. Without colours from the camera, red = green = blue = grey.
  void withColours(const RectifySource& source, const int32_t* map, ImageView<uint8_t> grey, ImageView<Rgb8> out,
                   int32_t first, int32_t end) const {
    if (hasColours(source.format)) return kernels_.rectifyRgb(source, map, out, grey, first, end);
    kernels_.rectify(source, map, grey, first, end);
    for (int32_t y = first; y < end; ++y) {
      for (int32_t x = 0; x < out.width; ++x) out.row(y)[x] = {grey.row(y)[x], grey.row(y)[x], grey.row(y)[x]};
    }
  }

  const EngineParameters& p_;
  const Region window_;
  const RectifyKernels& kernels_;
  Workers& workers_;
  const int32_t* movedMaps_[2] = {};            ///< replace those given at open
  int32_t capturedFrom_ = 0, capturedEnd_ = 0;  ///< rows that the moved left map does not change
};

}  // namespace

const StageFacts& rectifyFacts() {
  static const StageFacts facts = [] {
    StageFacts f;
    f.name = "rectify";
    f.has(kSettings);
    f.leaves = Scale::kWhole;
    return f;
  }();
  return facts;
}

Status openRectifyOnCpu(const StageTask& task, const CpuContext& cpu, std::unique_ptr<CpuStage>* opened) {
  *opened = std::make_unique<RectifyOnCpu>(task, cpu);
  return {};
}

}  // namespace depthwatt
